//! [`Records`]: the charges, usage and idempotency keys of an account, for an export of its data.

use jiff::Timestamp;

use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booking {
    /// The run that was charged or refunded.
    pub run: RunId,
    /// The kind of the line: `charge` or `refund`.
    pub kind: String,
    /// The start of the billing cycle that was charged.
    pub cycle_start: Timestamp,
    /// The number of credits.
    pub credits: u64,
    /// The time at which it was booked.
    pub at: Timestamp,
}

/// The credits used in one billing cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CycleUse {
    /// The start of the cycle.
    pub cycle_start: Timestamp,
    /// The number of credits that were used.
    pub used: u64,
}

/// An `Idempotency-Key` that has not expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotedRequest {
    /// The key as the caller sent it.
    pub key: String,
    /// The run that was started with it.
    pub run: RunId,
    /// The time at which it was recorded.
    pub at: Timestamp,
}

/// Storage from which the records of an account are read for an export. `store` is the only implementation: the trait
/// keeps SQL out of this layer.
pub trait Records: Send + Sync {
    /// Returns the ledger's lines of an account, the oldest first.
    fn bookings(&self, account: AccountId) -> Result<Vec<Booking>, StorageError>;

    /// Returns the usage of an account by cycle, the oldest first.
    fn cycle_uses(&self, account: AccountId) -> Result<Vec<CycleUse>, StorageError>;

    /// Returns the idempotency keys of an account, the oldest first.
    fn noted_requests(&self, account: AccountId) -> Result<Vec<NotedRequest>, StorageError>;
}
