//! An account.

use jiff::Timestamp;

use crate::base::ids::AccountId;

/// The plan of an account that is being deleted. No plan table can have it, so that a version which does not know of
/// this allows such an account nothing.
pub const BEING_DELETED: &str = "(being deleted)";

/// Whoever searches: owner of keys, runs and a pool of credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// `user_id` of the contract.
    pub id: AccountId,
    /// Unique, lower-cased, at most 254 bytes.
    pub email: String,
    /// Name of a plan of the plan table, or [`BEING_DELETED`].
    pub plan: String,
    /// Where the billing cycles start; whole milliseconds.
    pub anchor: Timestamp,
    /// Whole milliseconds.
    pub created_at: Timestamp,
}

impl Account {
    /// Whether its deletion was begun: it can do nothing any more.
    pub fn is_being_deleted(&self) -> bool {
        self.plan == BEING_DELETED
    }
}
