//! [`StartRequest`]: a search to be started, and its outcome.

use std::sync::Arc;

use super::live::LiveRun;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::credits::Charge;
use crate::model::follow::{FollowOrder, NewMember};
use crate::model::run::{RunOptions, RunSummary};
use crate::model::start::{Idempotency, Refused, RowRef, WatchStart};
use crate::modules::catalog::{Choice, ChoiceError};
use crate::modules::query::Query;

/// A search to be started.
#[derive(Debug, Clone)]
pub struct StartRequest {
    /// The account that is charged.
    pub account: AccountId,
    /// The query to search for.
    pub query: Query,
    /// Whether browser modules are used.
    pub premium: bool,
    /// The chosen modules.
    pub choice: Choice,
    /// How long its checks may take.
    pub options: RunOptions,
    /// The place of the run in a family, if a lead starts it.
    pub family: Option<NewMember>,
    /// The watch that starts the run, if one does.
    pub watch: Option<WatchStart>,
    /// The row of a batch, if a batch starts the run.
    pub batch: Option<RowRef>,
    /// The run whose modules without a conclusion are asked again, if that is what the run is for.
    pub retry_of: Option<RunId>,
    /// How leads are followed, if they are.
    pub follow: Option<Arc<FollowOrder>>,
    /// Why the caller searches, for the audit.
    pub purpose: Option<String>,
    /// The cost of the search.
    pub charge: Charge,
    /// The caller's `Idempotency-Key`, if there is one.
    pub idempotency: Option<Idempotency>,
    /// The origin of the request, for the audit.
    pub origin: Origin,
}

/// The result of a request.
pub enum StartResult {
    /// The search was charged and started.
    Started(Arc<LiveRun>),
    /// The search was charged, and waits for a driver.
    Queued(Box<RunSummary>),
    /// The idempotency key was used before with the same body. Nothing was charged. Contains the run of that request.
    Repeated(RunId),
}

/// The reasons why a request is refused.
#[derive(Debug)]
pub enum StartError {
    /// The identifier is never searched: see [`Suppressed`](super::suppression::Suppressed). This is checked first.
    Suppressed,
    /// The process shuts down.
    ShuttingDown,
    /// The choice of modules is not valid.
    Choice(ChoiceError),
    /// The search is a premium search, and no browser is available.
    NoBrowser,
    /// The store has refused it, or would refuse it because its queue is full. Nothing was charged.
    Refused(Refused),
    /// The store failed. Nothing was charged as far as is known.
    Storage(StorageError),
}
