//! [`Lead`]: something that a result points to, and what became of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::base::ids::RunId;
use crate::modules::definition::ResultType;
use crate::runs::entity::identified::Entity;

/// How sure it is that a link holds: `verified` (the platform itself has checked it, or both ends point at each other)
/// or `stated` (the profile says so).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = LeadClass)]
pub enum Class {
    /// The platform has checked the link, or both ends point at each other.
    Verified,
    /// The profile says so.
    Stated,
}

impl Class {
    /// Returns `verified` or `stated`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Stated => "stated",
        }
    }
}

/// The place where a lead stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
pub struct LeadSource {
    /// The run of the result.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// The number of the result in its run.
    #[schema(minimum = 1, examples(3))]
    pub result_id: u32,
    /// The member of `metadata` that names the lead, or `value` if the result itself is the lead.
    #[schema(examples("website"))]
    pub field: String,
    /// The class of this mention.
    pub class: Class,
}

/// What became of a lead: `found` (a result of the search) or `not_followed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeadStatus {
    /// The search has a result about it.
    Found,
    /// It was not searched, for the given reason.
    NotFollowed,
}

/// Why a lead was not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeadReason {
    /// The search was not asked to follow leads.
    NotRequested,
    /// Results contradict each other about who this is, so only a person can decide.
    Conflict,
    /// Anybody can have a mailbox at this domain.
    MailProvider,
    /// The address redirects to another one.
    Shortener,
    /// The page is on a site where many people publish, and is no profile.
    SharedHost,
    /// No module searches for it.
    Unsupported,
}

/// Something that a result points to.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Lead {
    /// Identifies the lead in its search: the id of the entity.
    #[schema(examples("0b3c1c1e-7f0f-5b0e-8f5e-1d2c3b4a5968"))]
    pub lead_id: Uuid,
    /// Kind of the lead: `account`, `username`, `email`, `domain` or `url`.
    #[serde(rename = "type")]
    #[schema(value_type = String, pattern = "^[a-z_]+$", examples("account"))]
    pub kind: ResultType,
    /// The username, address, domain or URL.
    #[schema(examples("octocat"))]
    pub value: String,
    /// Name of the platform of an account; null for other leads.
    #[schema(required, examples("GitHub"))]
    pub platform: Option<String>,
    /// Id of the module that can look up the account; null if there is none.
    #[schema(required, examples("github"))]
    pub module: Option<String>,
    /// The strongest class of its sources.
    pub class: Class,
    /// The highest confidence of the results that name it, from 0.0 to 1.0.
    #[schema(minimum = 0, maximum = 1, examples(0.95))]
    pub confidence: f64,
    /// The places where it is named, in the order of results.
    pub sources: Vec<LeadSource>,
    /// What became of it.
    pub status: LeadStatus,
    /// Why it was not followed; null if it was found.
    #[schema(required)]
    pub reason: Option<LeadReason>,
    /// The number of the result about it; null if there is none.
    #[schema(required, examples(7))]
    pub result_id: Option<u32>,
}

impl Lead {
    /// Returns the entity that the lead names.
    pub fn entity(&self) -> Entity {
        Entity {
            id: self.lead_id,
            kind: self.kind,
            value: self.value.clone(),
            platform: self.platform.clone(),
        }
    }
}
