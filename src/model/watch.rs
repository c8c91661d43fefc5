//! Watches: searches that are repeated, and the changes that they find.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::base::clock::millis;
use crate::base::ids::{AccountId, RunId, WatchChangeId, WatchId, WebhookId};
use crate::base::storage::StorageError;
use crate::base::words::words;
use crate::model::diff::Difference;
use crate::model::interval::Interval;
use crate::model::run::RunOptions;
use crate::model::search::Search;
use crate::model::start::Idempotency;
use crate::modules::catalog::Choice;
use crate::modules::query::SearchType;

/// The most watches of an account.
pub const MOST_WATCHES: usize = 1000;

/// A watch to be created. The store dates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWatch {
    /// The id of the watch.
    pub id: WatchId,
    /// The account that is charged for its runs.
    pub account: AccountId,
    /// The search that is repeated. It follows no leads.
    pub search: Search,
    /// Whether its runs query the simulated web.
    pub simulated: bool,
    /// The time between two runs.
    pub every: Interval,
    /// The kinds of changes that are reported to webhooks, sorted, each once. There is at least one.
    pub notify_on: Vec<ChangeKind>,
    /// The webhook that gets its events. If it is `None`, all webhooks that have subscribed to them get them.
    pub webhook: Option<WebhookId>,
    /// The key of the request, so that a repeated one gets the same watch.
    pub idempotency: Option<Idempotency>,
}

/// A watch: a search that is repeated.
// It follows no leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Watch {
    /// Identifies the watch.
    #[schema(value_type = uuid::Uuid)]
    pub id: WatchId,
    /// The account that is charged for its runs.
    #[serde(skip)]
    pub account: AccountId,
    /// Kind of identifier that is searched.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Query as the caller sent it.
    #[schema(examples("octocat"))]
    pub query: String,
    /// Whether modules that need a browser take part.
    pub premium: bool,
    /// How long its checks may take.
    #[serde(skip)]
    pub options: RunOptions,
    /// The chosen modules.
    #[serde(skip)]
    pub choice: Choice,
    /// Time between two runs.
    #[schema(value_type = String, pattern = "^[0-9]{1,5}[mhd]$", examples("1d"))]
    pub every: Interval,
    /// Kinds of changes that webhooks get.
    // Sorted, each once.
    #[schema(min_items = 1)]
    pub notify_on: Vec<ChangeKind>,
    /// Webhook that gets the events; null if all get them that have subscribed to `watch.changed`.
    #[serde(rename = "webhook_id")]
    #[schema(value_type = Option<uuid::Uuid>, required)]
    pub webhook: Option<WebhookId>,
    /// Whether runs are started.
    pub state: WatchState,
    /// Reason why no runs are started; null if the watch is active.
    #[serde(rename = "paused_reason")]
    #[schema(required)]
    pub paused: Option<PauseReason>,
    /// Time at which the next run is due: RFC 3339, UTC, milliseconds.
    // Or was due.
    #[serde(rename = "next_run_at", with = "millis")]
    pub next_at: Timestamp,
    /// The last run, which may have been deleted since; null if there was none.
    #[serde(rename = "last_run_id")]
    #[schema(value_type = Option<uuid::Uuid>, required)]
    pub last_run: Option<RunId>,
    /// Whether the last run has not ended, or has not been compared.
    #[serde(skip)]
    pub is_open: bool,
    /// Time at which the watch was created: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
}

impl Watch {
    /// Returns the search that is repeated.
    pub fn search(&self) -> Search {
        let Self { search_type, premium, options, .. } = *self;
        let (query, choice) = (self.query.clone(), self.choice.clone());
        Search { search_type, query, premium, options, choice, follow: None, purpose: None }
    }
}

/// What a watch has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WatchActivity {
    /// The number of changes that it has found and that are still stored.
    pub changes: u64,
    /// The time at which its last run was started, unless there was none or it was deleted.
    pub last_run_at: Option<Timestamp>,
}

words! {
    /// The state of a watch.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = WatchState)]
    pub enum WatchState {
        /// Runs are started.
        Active = "active",
        /// No runs are started.
        Paused = "paused",
    }
}

words! {
    /// The reason why a watch is paused.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = WatchPauseReason)]
    pub enum PauseReason {
        /// The owner has paused it.
        User = "user",
        /// The account had too few credits, or a plan without premium searches. The watch becomes active again when the
        /// account can pay for a run.
        Credits = "credits",
    }
}

/// The changes of a watch by its owner. `None` leaves a part as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchUpdate {
    /// The new time between two runs.
    pub every: Option<Interval>,
    /// The new kinds of changes that are reported.
    pub notify_on: Option<Vec<ChangeKind>>,
    /// The new webhook, or `Some(None)` for all webhooks that have subscribed.
    pub webhook: Option<Option<WebhookId>>,
    /// The new state. Making a watch active that is paused because of credits tries to start a run if one is due.
    pub state: Option<WatchState>,
    /// Whether the next run is due now.
    pub is_due: bool,
}

words! {
    /// The kind of a change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = WatchChangeKind)]
    pub enum ChangeKind {
        /// A result that was not there before.
        Added = "added",
        /// A result that is no longer there.
        Removed = "removed",
        /// A result whose data differs.
        Changed = "changed",
    }
}

/// A change that a watch has found.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = WatchChange)]
pub struct StoredChange {
    /// Identifies the change.
    // The ids are in the order of the changes.
    #[schema(value_type = uuid::Uuid)]
    pub id: WatchChangeId,
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Run with which the result was compared: the last one in which its module came to a conclusion. It may have been
    /// deleted since.
    #[serde(rename = "run_before_id")]
    #[schema(value_type = uuid::Uuid)]
    pub run_before: RunId,
    /// Run in which the change was found. It may have been deleted since.
    #[serde(rename = "run_after_id")]
    #[schema(value_type = uuid::Uuid)]
    pub run_after: RunId,
    /// Time at which the change was found: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// The result, with the data that differs.
    #[serde(rename = "result")]
    #[schema(value_type = Difference)]
    pub difference: Value,
}

/// The reasons why an operation on watches fails.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// No kind of change was given, or one that does not exist.
    #[error("invalid kinds of changes: {} are allowed", ChangeKind::ALL.map(ChangeKind::as_str).join(", "))]
    InvalidKinds,
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    Mismatch,
    /// The account has the most watches that are allowed.
    #[error("an account has at most {MOST_WATCHES} watches: delete one that is no longer used")]
    TooMany,
    /// The account was deleted just before.
    #[error("no such account")]
    UnknownAccount,
    /// The account has no such watch.
    #[error("unknown watch")]
    UnknownWatch,
    /// The account has no such webhook.
    #[error("unknown webhook")]
    UnknownWebhook,
    /// The stored query is not valid for this version.
    #[error("the query of the watch is no longer valid: delete the watch")]
    InvalidQuery,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A watch whose last run has ended, or was deleted, and was not compared yet.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedRun {
    /// The watch.
    pub watch: Watch,
    /// The run.
    pub run: RunId,
    /// The last conclusions before the run, as JSON. `None` if it is the watch's first run.
    pub baseline: Option<String>,
}

/// A change that a comparison has found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundChange {
    /// The kind.
    pub kind: ChangeKind,
    /// The run with which the result was compared. It may have been deleted since.
    pub run_before: RunId,
    /// The result, with the fields that differ.
    pub difference: Value,
}

/// What the comparison of a run has shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// The changes.
    pub changes: Vec<FoundChange>,
    /// The baseline of the next run as JSON, or `None` if it stays as it is.
    pub baseline: Option<String>,
}
