//! Leads that are followed: the order to do so, what was followed, and accounts that were looked up.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::base::ids::RunId;
use crate::base::words::words;
use crate::modules::catalog::Choice;
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;
use crate::modules::reason::Reason;

/// The maximum number of accounts that are looked up in one run.
pub const MAX_LOOKUPS: usize = 100;

/// The maximum number of runs that leads start in one family.
pub const MAX_SEARCHES: u8 = 50;

/// The maximum number of leads between the root and a run.
pub const MAX_DEPTH: u8 = 3;

/// How the leads of a family are followed. As JSON, it is stored with each run of the family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowOrder {
    /// The maximum number of leads between the root and a run or a look-up: 1 to [`MAX_DEPTH`].
    pub depth: u8,
    /// The maximum number of runs that leads start: 0 to [`MAX_SEARCHES`].
    pub max_searches: u8,
    /// The weakest class of leads that are followed.
    pub links: Class,
    /// The choice of modules of the root. Runs for another type of query use the parts that apply to all types.
    #[serde(default)]
    pub choice: Choice,
}

impl FollowOrder {
    /// The number of runs that leads start unless the caller says otherwise.
    pub const DEFAULT_SEARCHES: u8 = 10;

    /// Returns the choice of modules of a run that a lead starts. Named modules and categories are those of one type.
    pub fn choice_for(&self, search_type: SearchType, of_root: SearchType) -> Choice {
        if search_type == of_root {
            return self.choice.clone();
        }
        Choice { modules: Vec::new(), categories: Vec::new(), ..self.choice.clone() }
    }
}

/// The place of a search in its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Membership {
    /// Present only if a lead has started the search: the first search of the family.
    #[serde(rename = "root_run_id")]
    #[schema(required = false)]
    pub root: RunId,
    /// Present only if a lead has started the search: the search whose lead it was.
    #[serde(rename = "parent_run_id")]
    #[schema(required = false)]
    pub parent: RunId,
    /// Present only if a lead has started the search: number of leads between the first search and this one.
    #[schema(required = false, minimum = 1)]
    pub depth: u8,
}

/// The place of a run that a lead is to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewMember {
    /// Its place in the family.
    pub place: Membership,
    /// The lead that it searches for.
    pub lead: Uuid,
    /// The class of the lead.
    pub class: Class,
    /// The maximum number of runs that leads start in the family.
    pub max_searches: u8,
    /// Whether its owner asked for it: a lead whose run was deleted is not followed by itself.
    pub is_on_request: bool,
}

/// An account that is looked up in the run whose result named it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookup {
    /// The lead.
    pub lead_id: Uuid,
    /// The class of the lead.
    pub class: Class,
    /// The module that looks the account up.
    pub module: String,
    /// The name of the platform.
    pub platform: String,
    /// The name, address or domain that the module is asked for.
    pub query: String,
    /// The result that named the account.
    pub result_id: u32,
    /// The outcome, if the look-up has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The reason of the outcome, where it needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// A lead for which a run was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedLead {
    /// The lead.
    pub lead: Uuid,
    /// The class that the lead had.
    pub class: Class,
    /// The run that was started. It may have been deleted since.
    pub run: RunId,
    /// The run whose lead it is.
    pub parent: RunId,
}

/// Why a lead was not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeadReason {
    /// The search was not asked to follow leads.
    NotRequested,
    /// Only verified leads are followed.
    NotVerified,
    /// It is further away than leads are followed.
    Depth,
    /// As many leads as allowed were followed.
    Limit,
    /// The account has no credits left in this cycle.
    InsufficientCredits,
    /// The search was stopped.
    Stopped,
    /// The search that was started for it was deleted.
    Deleted,
    /// The identifier is never searched.
    Suppressed,
    /// The search has asked its module for this name already, without finding it.
    AlreadyAsked,
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

impl LeadReason {
    /// Returns whether the lead cannot be followed on request either.
    pub fn is_final(self) -> bool {
        matches!(self, Self::MailProvider | Self::Shortener | Self::SharedHost | Self::Unsupported)
    }
}

/// The numbers of the leads of a family by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeadCounts {
    /// Leads that were looked up, or for which a run was started.
    pub followed: u32,
    /// Leads that were not followed. Those that the family has found by itself count in neither number.
    pub not_followed: u32,
}

/// How the following of leads has ended. As JSON, it is stored with the root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowEnd {
    /// The numbers of leads.
    pub leads: LeadCounts,
    /// Why no further lead was followed, although there were some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<LeadReason>,
}

words! {
    /// How sure it is that a link holds: `verified` (the platform itself has checked it, or both ends point at each
    /// other) or `stated` (the profile says so).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = LeadClass)]
    pub enum Class {
        /// The platform has checked the link, or both ends point at each other.
        Verified = "verified",
        /// The profile says so.
        Stated = "stated",
    }
}
