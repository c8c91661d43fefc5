//! [`Records`]: the charges, usage and idempotency keys of an account, in the form of an export of its data.

use jiff::Timestamp;
use serde::Serialize;

use crate::base::clock::millis;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Booking {
    /// The run that was charged or refunded.
    #[serde(rename = "run_id")]
    pub run: RunId,
    /// The kind of the line: `charge` or `refund`.
    pub kind: String,
    /// The number of credits.
    pub credits: u64,
    /// The start of the billing cycle that was charged.
    #[serde(with = "millis")]
    pub cycle_start: Timestamp,
    /// The time at which it was booked.
    #[serde(with = "millis")]
    pub at: Timestamp,
}

/// The credits used in one billing cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CycleUse {
    /// The start of the cycle.
    #[serde(with = "millis")]
    pub cycle_start: Timestamp,
    /// The number of credits that were used.
    #[serde(rename = "credits_used")]
    pub used: u64,
}

/// An `Idempotency-Key` that has not expired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotedRequest {
    /// The key as the caller sent it.
    pub key: String,
    /// The run that was started with it.
    #[serde(rename = "run_id")]
    pub run: RunId,
    /// The time at which it was recorded.
    #[serde(with = "millis")]
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
