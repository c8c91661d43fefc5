//! An account.

use jiff::Timestamp;

use crate::base::ids::AccountId;

/// Whoever searches: owner of keys, runs and a pool of credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// `user_id` of the contract.
    pub id: AccountId,
    /// Unique, lower-cased, at most 254 bytes.
    pub email: String,
    /// Name of a plan of the plan table.
    pub plan: String,
    /// Where the billing cycles start; whole milliseconds.
    pub anchor: Timestamp,
    /// Whole milliseconds.
    pub created_at: Timestamp,
}
