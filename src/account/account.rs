//! [`Account`]: the owner of keys, runs and credits.

use jiff::Timestamp;

use crate::base::ids::AccountId;
use crate::base::words::words;

/// The plan of an account that is being deleted. No plan table can contain it, so a version of the program that does
/// not know it grants such an account nothing.
pub const BEING_DELETED: &str = "(being deleted)";

/// The owner of API keys, of runs and of credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The id of the account, which the API calls `user_id`.
    pub id: AccountId,
    /// The email address, which is unique, in lower case and at most 254 bytes long.
    pub email: String,
    /// The name of a plan in the plan table, or [`BEING_DELETED`].
    pub plan: String,
    /// The start of the first billing cycle, in whole milliseconds.
    pub anchor: Timestamp,
    /// The time at which the account was created, in whole milliseconds.
    pub created_at: Timestamp,
    /// The permissions of the owner in the web app.
    pub role: Role,
}

words! {
    /// The permissions of an account's owner in the web app.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Role {
        /// The owner sees only their own runs and keys.
        #[default]
        User = "user",
        /// The owner also sees the state of the service.
        Operator = "operator",
    }
}

impl Account {
    /// Returns whether the deletion of the account has begun. Such an account is refused everything.
    pub fn is_being_deleted(&self) -> bool {
        self.plan == BEING_DELETED
    }
}
