//! Batches: many searches in one request.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::base::clock::millis;
use crate::base::ids::{AccountId, BatchId, RunId};
use crate::base::storage::StorageError;
use crate::base::words::words;
use crate::model::refusal::Refusal;
use crate::model::search::Search;
use crate::model::start::{Idempotency, RowRef};
use crate::modules::query::SearchType;

/// The maximum number of searches in a batch.
pub const MAX_SEARCHES: usize = 1000;

/// The maximum number of characters in the name of a batch.
pub const MAX_NAME: usize = 100;

/// Returns the name that a caller gives a batch, or `None` if it is empty.
///
/// # Errors
/// Returns the refusal of a name that is not allowed.
pub fn batch_name(text: &str) -> Result<Option<String>, Refusal> {
    if text.chars().count() > MAX_NAME || text.chars().any(char::is_control) {
        let allowed = format!("a text of at most {MAX_NAME} characters without control characters");
        return Err(Refusal::invalid_request("name", format!("name must be {allowed}"), allowed));
    }
    Ok(Some(text.trim().to_owned()).filter(|name| !name.is_empty()))
}

/// A batch to be created. The store dates it.
#[derive(Debug, Clone)]
pub struct NewBatch {
    /// The id of the batch.
    pub id: BatchId,
    /// The account that is charged for its runs.
    pub account: AccountId,
    /// The name that the caller gave it.
    pub name: Option<String>,
    /// Whether its searches query the simulated web.
    pub simulated: bool,
    /// The searches with their places in the request, in this order.
    pub rows: Vec<(u32, Search)>,
    /// The caller's `Idempotency-Key`, if there is one.
    pub idempotency: Option<Idempotency>,
}

words! {
    /// The state of a batch: `running`, `waiting_for_credits`, `stopped` or `completed`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum BatchStatus {
        /// Searches are in progress, or wait for their turn.
        Running = "running",
        /// The account has not enough credits for the next search. The batch continues as soon as it has.
        WaitingForCredits = "waiting_for_credits",
        /// It was stopped. Searches that had begun go on.
        Stopped = "stopped",
        /// Every search has ended or was refused.
        Completed = "completed",
    }
}

/// The number of searches of a batch by state. A search whose run was deleted is in none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = BatchCounts)]
pub struct Counts {
    /// Searches that have not begun.
    pub pending: u32,
    /// Searches that are in progress.
    pub running: u32,
    /// Searches that are completed.
    pub completed: u32,
    /// Searches that failed. Their credits were refunded.
    pub failed: u32,
    /// Searches that were refused when their turn came. They were not charged.
    pub refused: u32,
    /// Searches that had not begun when the batch was stopped. They were not charged.
    pub skipped: u32,
}

/// A batch of searches.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Batch {
    /// Identifies the batch.
    #[serde(rename = "batch_id")]
    pub id: BatchId,
    /// The account that is charged for its runs.
    #[serde(skip)]
    pub account: AccountId,
    /// Name of the batch; null if it has none.
    pub name: Option<String>,
    /// State of the batch.
    pub status: BatchStatus,
    /// Number of its searches.
    pub total: u32,
    /// Number of its searches by state.
    pub counts: Counts,
    /// Estimated seconds until all searches have ended; null while no estimate is possible.
    // From the time that each ended search has taken on average. The batch must not wait for credits.
    pub eta_seconds: Option<u64>,
    /// Time at which the batch was accepted: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub created_at: Timestamp,
    /// Time at which it was stopped; null if it was not.
    #[serde(serialize_with = "millis")]
    pub stopped_at: Option<Timestamp>,
    /// Time at which the last of its searches had ended; null until then.
    #[serde(serialize_with = "millis")]
    pub ended_at: Option<Timestamp>,
    /// Present only if true: the results come from the simulated web and are not real.
    #[serde(rename = "sandbox", skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
}

words! {
    /// The reason why a search of a batch was refused when its turn came: `suppressed`, `invalid_choice`,
    /// `plan_required` or `unreadable`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum RowRefusal {
        /// The identifier is never searched.
        Suppressed = "suppressed",
        /// The choice of modules is not valid with the current catalogue.
        InvalidChoice = "invalid_choice",
        /// The account's plan no longer includes premium searches.
        PlanRequired = "plan_required",
        /// No browser was available for a premium search. Searches wait for one now.
        PremiumUnavailable = "premium_unavailable",
        /// The query is not valid for this version of the program.
        Unreadable = "unreadable",
    }
}

/// A search of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = BatchSearchState)]
pub struct BatchRow {
    /// Place of the search in the request, from 1.
    #[serde(rename = "row")]
    pub position: u32,
    /// Type of the query.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Query as the caller sent it.
    pub query: String,
    /// `pending`, `running`, `completed`, `failed`, `refused` or `skipped`.
    pub status: String,
    /// Reason why the search was refused; null if it was not.
    pub reason: Option<RowRefusal>,
    /// Run of the search; null if it was not started.
    #[serde(rename = "run_id")]
    pub run: Option<RunId>,
    /// Number of its results so far; null if it was not started.
    pub total_results: Option<u32>,
    /// The time at which the run was stopped, if it was.
    #[serde(skip)]
    pub stopped_at: Option<Timestamp>,
    /// The stored [`Search`].
    #[serde(skip)]
    pub search: Value,
}

/// The row whose turn has come.
#[derive(Debug, Clone)]
pub struct NextRow {
    /// The row.
    pub row: RowRef,
    /// The account that is charged.
    pub account: AccountId,
    /// What is searched, or why this version of the program cannot read it.
    pub search: Result<Search, StorageError>,
}
