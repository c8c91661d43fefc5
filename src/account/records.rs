//! What is kept of an account beside itself, its keys and its runs: for handing all of it out.

use jiff::Timestamp;

use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booking {
    /// The run that it was for.
    pub run: RunId,
    /// `charge` or `refund`.
    pub kind: String,
    /// Start of the billing cycle that paid.
    pub cycle_start: Timestamp,
    /// Credits.
    pub credits: u64,
    /// When.
    pub at: Timestamp,
}

/// What was used in one billing cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CycleUse {
    /// Its start.
    pub cycle_start: Timestamp,
    /// Credits used.
    pub used: u64,
}

/// An `Idempotency-Key` that is still remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotedRequest {
    /// As the caller sent it.
    pub key: String,
    /// The run that it stands for.
    pub run: RunId,
    /// When it was noted.
    pub at: Timestamp,
}

/// Reads these.
pub trait Records: Send + Sync {
    /// The ledger's lines of an account, oldest first.
    fn bookings(&self, account: AccountId) -> Result<Vec<Booking>, StorageError>;

    /// What an account used, cycle by cycle, oldest first.
    fn cycle_uses(&self, account: AccountId) -> Result<Vec<CycleUse>, StorageError>;

    /// Idempotency keys of an account, oldest first.
    fn noted_requests(&self, account: AccountId) -> Result<Vec<NotedRequest>, StorageError>;
}
