//! An order for a search, and what became of it.

use std::sync::Arc;

use super::journal::Idempotency;
use super::live::LiveRun;
use crate::account::audit::Origin;
use crate::account::credits::Charge;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::modules::catalog::{Choice, ChoiceError};
use crate::modules::query::Query;

/// A search to be started.
#[derive(Debug, Clone)]
pub struct Order {
    /// Who pays.
    pub account: AccountId,
    /// What is searched.
    pub query: Query,
    /// Whether browser modules take part.
    pub premium: bool,
    /// Which modules are asked.
    pub choice: Choice,
    /// What it costs.
    pub charge: Charge,
    /// The caller's `Idempotency-Key`.
    pub idempotency: Option<Idempotency>,
    /// Who asks.
    pub origin: Origin,
}

/// What became of an order.
pub enum Receipt {
    /// Charged and started.
    Started(Arc<LiveRun>),
    /// The idempotency key is known with the same body: that run, nothing charged.
    Repeated(RunId),
    /// The idempotency key is known with another body.
    Mismatch,
    /// The account was deleted a moment ago.
    UnknownAccount,
    /// Not enough credits.
    InsufficientCredits {
        /// Used in the cycle so far.
        used: u64,
    },
}

/// Why an order was not taken.
#[derive(Debug)]
pub enum OrderError {
    /// This is never searched: see [`Suppressed`](super::suppression::Suppressed). Nothing else was looked at.
    Suppressed,
    /// Too many runs wait, or the process shuts down.
    Overloaded,
    /// No modules can be chosen so.
    Choice(ChoiceError),
    /// A premium search, and no browser answers.
    NoBrowser,
    /// The store failed: nothing was charged, as far as it can tell.
    Storage(StorageError),
}
