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
    /// What its owner may see.
    pub role: Role,
}

/// What the owner of an account may see in the web app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Their own.
    #[default]
    User,
    /// How the service does, too.
    Operator,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::User, Self::Operator];

    /// `user` or `operator`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Operator => "operator",
        }
    }

    /// The role of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

impl Account {
    /// Whether its deletion was begun: it can do nothing any more.
    pub fn is_being_deleted(&self) -> bool {
        self.plan == BEING_DELETED
    }
}
