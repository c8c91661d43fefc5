//! The shapes of answers: section 2 of the contract, and the additive fields that the decisions name.

use jiff::Timestamp;
use serde::Serialize;

use crate::account::credits::Balance;
use crate::base::clock::millis;
use crate::base::ids::{AccountId, RunId};
use crate::modules::query::SearchType;
pub use crate::report::body::{RunBody, RunHead};
use crate::runs::run::{Coverage, ModuleReport, ResultRecord, RunError, Status};

/// A count, or the word `unlimited`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Amount {
    /// A number of credits.
    Count(u64),
    /// `unlimited`.
    Word(&'static str),
}

impl From<Option<u64>> for Amount {
    fn from(amount: Option<u64>) -> Self {
        amount.map_or(Self::Word("unlimited"), Self::Count)
    }
}

/// Answer to a search that goes on.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the contract's own names, section 4.1")]
pub struct Accepted {
    pub run_id: RunId,
    pub status: Status,
}

/// Answer to a search that ended within the wait.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the contract's own names, section 4.1")]
pub struct Finished<'a> {
    pub run_id: RunId,
    pub status: Status,
    pub total_results: u32,
    pub results: Vec<&'a ResultRecord>,
    /// Additive: what could not be asked.
    pub coverage: Coverage,
    /// Only where the run failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a RunError>,
}

/// The list (4.4).
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the decisions' own names")]
pub struct SearchList<'a> {
    pub searches: Vec<RunHead<'a>>,
    pub count: usize,
    pub limit: usize,
    pub has_more: bool,
    pub next_cursor: Option<String>,
}

/// Module outcomes of a run (additive).
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the decisions' own names")]
pub struct RunModules {
    pub run_id: RunId,
    pub status: Status,
    pub count: usize,
    pub modules: Vec<ModuleReport>,
}

/// The credit balance (2.4).
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the contract's own names, section 2.4")]
pub struct Credits<'a> {
    pub tier: &'a str,
    pub credits_remaining: Amount,
    pub credits_used: u64,
    pub credits_allowed: Amount,
    #[serde(with = "millis")]
    pub period_start: Timestamp,
    #[serde(with = "millis")]
    pub period_end: Timestamp,
}

impl<'a> Credits<'a> {
    /// The balance of an account on the plan `tier`.
    pub fn new(tier: &'a str, balance: &Balance) -> Self {
        Self {
            tier,
            credits_remaining: balance.remaining().into(),
            credits_used: balance.used,
            credits_allowed: balance.allowed.into(),
            period_start: balance.cycle.start,
            period_end: balance.cycle.end,
        }
    }
}

/// The self-check (2.5).
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the contract's own names, section 2.5")]
pub struct Me<'a> {
    pub user_id: AccountId,
    pub tier: &'a str,
    pub api_access: bool,
    pub rate_limit_per_minute: u32,
    pub supports_streaming: bool,
    pub search_types: [SearchType; 3],
    pub credits: MeCredits,
}

/// The credits within [`Me`].
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the contract's own names, section 2.5")]
pub struct MeCredits {
    pub remaining: Amount,
    pub used: u64,
    pub allowed: Amount,
    #[serde(with = "millis")]
    pub period_end: Timestamp,
}

impl From<&Balance> for MeCredits {
    fn from(balance: &Balance) -> Self {
        Self {
            remaining: balance.remaining().into(),
            used: balance.used,
            allowed: balance.allowed.into(),
            period_end: balance.cycle.end,
        }
    }
}
