//! The shapes of answers: section 2 of the contract, and the additive fields that the decisions name.

use jiff::Timestamp;
use serde::Serialize;

use crate::account::credits::Balance;
use crate::base::clock::millis;
use crate::base::ids::{AccountId, RunId};
use crate::modules::query::SearchType;
use crate::runs::run::{Coverage, ModuleReport, Progress, ResultRecord, RunError, RunSummary, Status};

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

/// A run without its results: a row of the list.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the contract's own names, section 2.1")]
pub struct RunHead<'a> {
    pub run_id: RunId,
    pub status: Status,
    #[serde(rename = "type")]
    pub search_type: SearchType,
    pub query: &'a str,
    pub total_results: u32,
    pub progress: Progress,
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    #[serde(with = "millis::option")]
    pub completed_at: Option<Timestamp>,
    pub premium: bool,
    pub coverage: Coverage,
    pub credits_charged: u64,
    pub error: Option<&'a RunError>,
    /// Only where it is true: the simulated web answered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sandbox: bool,
}

impl<'a> From<&'a RunSummary> for RunHead<'a> {
    fn from(run: &'a RunSummary) -> Self {
        Self {
            run_id: run.id,
            status: run.status,
            search_type: run.search_type,
            query: &run.query,
            total_results: run.total_results,
            progress: run.progress,
            created_at: run.created_at,
            completed_at: run.completed_at,
            premium: run.premium,
            coverage: run.coverage,
            credits_charged: run.credits_charged,
            error: run.error.as_ref(),
            sandbox: run.simulated,
        }
    }
}

/// A whole run (2.1).
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the contract's own names, section 2.1")]
pub struct RunBody<'a> {
    #[serde(flatten)]
    pub head: RunHead<'a>,
    pub results: Vec<&'a ResultRecord>,
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
