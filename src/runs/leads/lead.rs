//! [`Lead`]: something that a result points to, and what became of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::base::ids::RunId;
use crate::model::follow::{Class, LeadReason};
use crate::modules::definition::ResultType;
use crate::modules::outcome::Outcome;
use crate::runs::record::ResultRef;

/// The member of the metadata of a result that a look-up has found: which lead led to it. Its value is a [`FoundBy`].
pub const FOUND_BY: &str = "found_by";

/// Names the lead that led to a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundBy {
    /// The run of the result that named the account.
    pub run_id: RunId,
    /// The number of that result.
    pub result_id: u32,
    /// The class of the lead.
    pub class: Class,
    /// The lead.
    pub lead_id: Uuid,
}

impl FoundBy {
    /// Reads the member of a result's metadata. Returns `None` if the search has found the result by itself.
    pub fn of(metadata: &Map<String, Value>) -> Option<Self> {
        metadata.get(FOUND_BY).and_then(|value| Self::deserialize(value).ok())
    }
}

/// The place where a lead stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
pub struct LeadSource {
    /// The run of the result.
    pub run_id: RunId,
    /// The number of the result in its run.
    #[schema(minimum = 1)]
    pub result_id: u32,
    /// The member of `metadata` that names the lead, or `value` if the result itself is the lead.
    #[schema(examples("website"))]
    pub field: String,
    /// The class of this mention.
    pub class: Class,
}

/// What became of a lead: `found` (the search has found it by itself), `looked_up` (its module was asked), `followed` (a
/// search was started for it), `pending` (it will be followed) or `not_followed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeadStatus {
    /// The search has a result about it.
    Found,
    /// The module of the account was asked, with the given outcome.
    LookedUp,
    /// A search was started for it.
    Followed,
    /// It will be followed as soon as its turn comes, unless a limit is reached before.
    Pending,
    /// It was not searched, for the given reason.
    NotFollowed,
}

/// Something that a result points to.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Lead {
    /// Identifies the lead in its search: the id of the entity.
    pub lead_id: Uuid,
    /// Kind of the lead: `account`, `username`, `email`, `domain` or `url`.
    #[serde(rename = "type")]
    #[schema(value_type = String, pattern = "^[a-z_]+$", examples("account"))]
    pub kind: ResultType,
    /// The username, address, domain or URL.
    #[schema(examples("octocat"))]
    pub value: String,
    /// Name of the platform of an account; null for other leads.
    #[schema(examples("GitHub"))]
    pub platform: Option<String>,
    /// Id of the module that can look up the account; null if there is none.
    #[schema(examples("github"))]
    pub module: Option<String>,
    /// The strongest class of its sources.
    pub class: Class,
    /// The highest confidence of the results that name it, from 0.0 to 1.0.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// The places where it is named, in the order of results.
    pub sources: Vec<LeadSource>,
    /// What became of it.
    pub status: LeadStatus,
    /// Why it was not followed; null for another status.
    pub reason: Option<LeadReason>,
    /// The outcome of the module that was asked; null if none was.
    pub outcome: Option<Outcome>,
    /// The run that has the result about it, or that searches for it; null if there is none.
    pub run_id: Option<RunId>,
    /// The number of the result about it in `run_id`; null if there is none.
    pub result_id: Option<u32>,
    /// The nearest result that names it, by the number of leads between the query of the family's root and the result.
    #[serde(skip)]
    pub nearest: (u8, ResultRef),
    /// Whether a search for it is started if its owner asks for one.
    #[serde(skip)]
    pub can_be_followed: bool,
}

impl Lead {
    /// Returns the number of leads between the query of the family's root and what this one leads to.
    pub fn level(&self) -> u8 {
        self.nearest.0.saturating_add(1)
    }
}
