//! The frames of a stream about leads that were followed.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::base::ids::RunId;
use crate::model::follow::{Class, FollowedLead, Lookup};
use crate::model::run::RunSummary;
use crate::modules::definition::ResultType;
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;
use crate::runs::event::{self, Frame};
use crate::runs::leads::lead::LeadStatus;

/// Data of a `lead` frame: a lead that was looked up or followed. Frames of this kind come before the `done` frame.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LeadEventData)]
pub struct LeadData<'a> {
    /// Identifies the lead: see `GET /v1/searches/{run_id}/leads`.
    #[schema(examples("0b3c1c1e-7f0f-5b0e-8f5e-1d2c3b4a5968"))]
    pub lead_id: Uuid,
    /// Kind of the lead: `account`, `username`, `email` or `domain`.
    #[serde(rename = "type")]
    #[schema(value_type = String, pattern = "^[a-z_]+$", examples("account"))]
    pub kind: ResultType,
    /// The username, address or domain.
    #[schema(examples("octocat"))]
    pub value: &'a str,
    /// Name of the platform of an account; null for other leads.
    #[schema(required, examples("GitHub"))]
    pub platform: Option<&'a str>,
    /// How sure the lead is.
    pub class: Class,
    /// `looked_up` or `followed`.
    pub status: LeadStatus,
    /// The outcome of the module that was asked; null if none was.
    #[schema(required)]
    pub outcome: Option<Outcome>,
    /// The run that was started for it; null if none was.
    #[schema(value_type = Option<Uuid>, required, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: Option<RunId>,
}

/// Data of a `child` frame: a run that a lead has started. Frames of this kind come before the `done` frame.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChildEventData)]
pub struct ChildData<'a> {
    /// Identifies the run.
    #[schema(value_type = Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// The run whose lead was followed.
    #[schema(value_type = Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub parent_run_id: RunId,
    /// Number of leads between the first run of the family and this one.
    #[schema(minimum = 1, examples(1))]
    pub depth: u8,
    /// The lead.
    #[schema(examples("0b3c1c1e-7f0f-5b0e-8f5e-1d2c3b4a5968"))]
    pub lead_id: Uuid,
    /// Type of the query.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Query of the run.
    #[schema(examples("octocat"))]
    pub query: &'a str,
}

/// Returns a frame for each lead of a run that was looked up or followed, and one for each run that was started.
pub fn frames(lookups: &[Lookup], children: &[(FollowedLead, RunSummary)]) -> Vec<Frame> {
    let looked_up = lookups.iter().map(|lookup| {
        event::lead_frame(&LeadData {
            lead_id: lookup.lead_id,
            kind: ResultType::Account,
            value: &lookup.query,
            platform: Some(&lookup.platform),
            class: lookup.class,
            status: LeadStatus::LookedUp,
            outcome: lookup.outcome,
            run_id: None,
        })
    });
    let followed = children.iter().flat_map(|(followed, run)| {
        let lead = event::lead_frame(&LeadData {
            lead_id: followed.lead,
            kind: kind_of(run.search_type),
            value: &run.query,
            platform: None,
            class: followed.class,
            status: LeadStatus::Followed,
            outcome: None,
            run_id: Some(run.id),
        });
        [lead, child_of(followed, run)]
    });
    looked_up.chain(followed).collect()
}

/// Returns the frame for a run that a lead has started.
pub fn child_of(followed: &FollowedLead, run: &RunSummary) -> Frame {
    event::child_frame(&ChildData {
        run_id: run.id,
        parent_run_id: followed.parent,
        depth: run.family.map_or(1, |place| place.depth),
        lead_id: followed.lead,
        search_type: run.search_type,
        query: &run.query,
    })
}

fn kind_of(search_type: SearchType) -> ResultType {
    match search_type {
        SearchType::Username => ResultType::Username,
        SearchType::Email => ResultType::Email,
        SearchType::Domain => ResultType::Domain,
    }
}
