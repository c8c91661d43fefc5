//! [`StartRequest`]: a search to be started, and its outcome.

use super::reader::Found;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::credits::Charge;
use crate::model::search::Search;
use crate::model::start::{Cause, Idempotency, Refused};
use crate::modules::catalog::ChoiceError;
use crate::modules::query::QueryError;

/// A search to be started.
#[derive(Debug, Clone)]
pub struct StartRequest {
    /// The account that is charged.
    pub account: AccountId,
    /// What is searched for.
    pub search: Search,
    /// What starts it.
    pub cause: Cause,
    /// The cost of the search.
    pub charge: Charge,
    /// The caller's `Idempotency-Key`, if there is one.
    pub idempotency: Option<Idempotency>,
    /// The origin of the request, for the audit.
    pub origin: Origin,
}

/// The result of a request.
pub enum StartResult {
    /// The search was charged. It is live in this process, or waits for a driver.
    Started(Found),
    /// The idempotency key was used before with the same body. Nothing was charged. Contains the run of that request.
    Repeated(RunId),
}

/// The reasons why a request is refused.
#[derive(Debug)]
pub enum StartError {
    /// The identifier is never searched: see [`Suppressed`](super::suppression::Suppressed). This is checked first.
    Suppressed,
    /// The query is not valid for this version.
    Query(QueryError),
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
