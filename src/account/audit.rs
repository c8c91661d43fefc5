//! The audit: who did what, when. Never a query, a result, a key or an email address.
//!
//! An entry is written in the transaction of what it tells of: neither is there without the other. The
//! database refuses to change or remove one.

use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::base::ids::{AccountId, KeyId, RequestId};
use crate::base::storage::StorageError;

/// Whoever does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// The owner of this account, signed in.
    Account(AccountId),
    /// Whoever has this key.
    Key(KeyId),
    /// An operator, by a command.
    Cli,
    /// The service itself: retention, migrations, the first account.
    System,
}

impl Actor {
    /// `account`, `key`, `cli` or `system`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Account(_) => "account",
            Self::Key(_) => "key",
            Self::Cli => "cli",
            Self::System => "system",
        }
    }

    /// The id of the account or key.
    pub fn id(&self) -> Option<Uuid> {
        match self {
            Self::Account(id) => Some(id.0),
            Self::Key(id) => Some(id.0),
            Self::Cli | Self::System => None,
        }
    }
}

/// `key:ID`, `cli`.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id() {
            Some(id) => write!(f, "{}:{id}", self.kind()),
            None => f.write_str(self.kind()),
        }
    }
}

/// Who asks for something, and by which request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Who.
    pub actor: Actor,
    /// The request's id, where it is one.
    pub request: Option<RequestId>,
}

impl Origin {
    /// An operator's command.
    pub const CLI: Self = Self { actor: Actor::Cli, request: None };
    /// The service itself.
    pub const SYSTEM: Self = Self { actor: Actor::System, request: None };

    /// A request.
    pub fn request(actor: Actor, id: &RequestId) -> Self {
        Self { actor, request: Some(id.clone()) }
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// An account was created; its plan.
    AccountCreated,
    /// An account is on another plan; from which to which.
    PlanChanged,
    /// All data of an account was handed out.
    AccountExported,
    /// An account was closed, and is removed with all that is personal; how much that is.
    AccountDeleted,
    /// An account has another role; which.
    RoleChanged,
    /// A link was made by which an account's owner sets the password.
    LinkMade,
    /// A password was set or changed; by a link or not.
    PasswordSet,
    /// Somebody signed in; the session.
    SignedIn,
    /// A session was ended by its owner.
    SignedOut,
    /// A key was created.
    KeyCreated,
    /// A key was revoked.
    KeyRevoked,
    /// A run was charged and started; its type, what it cost.
    RunStarted,
    /// A run was deleted.
    RunDeleted,
    /// Old runs were removed; how many, and ended before when.
    RunsSwept,
    /// The schema was changed, to which version.
    Migrated,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::AccountCreated,
        Self::PlanChanged,
        Self::AccountExported,
        Self::AccountDeleted,
        Self::RoleChanged,
        Self::LinkMade,
        Self::PasswordSet,
        Self::SignedIn,
        Self::SignedOut,
        Self::KeyCreated,
        Self::KeyRevoked,
        Self::RunStarted,
        Self::RunDeleted,
        Self::RunsSwept,
        Self::Migrated,
    ];

    /// Its name, as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AccountCreated => "account.created",
            Self::PlanChanged => "account.plan_changed",
            Self::AccountExported => "account.exported",
            Self::AccountDeleted => "account.deleted",
            Self::RoleChanged => "account.role_changed",
            Self::LinkMade => "account.link_made",
            Self::PasswordSet => "account.password_set",
            Self::SignedIn => "session.started",
            Self::SignedOut => "session.ended",
            Self::KeyCreated => "key.created",
            Self::KeyRevoked => "key.revoked",
            Self::RunStarted => "run.started",
            Self::RunDeleted => "run.deleted",
            Self::RunsSwept => "runs.swept",
            Self::Migrated => "schema.migrated",
        }
    }
}

/// One thing that was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Deed {
    /// What.
    pub action: Action,
    /// Whose account, key or run it was.
    pub account: Option<AccountId>,
    /// The id of the key or run, the name of the migration.
    pub object: Option<String>,
    /// What else is worth knowing: counts, plans. Nothing personal.
    pub detail: Map<String, Value>,
}

impl Deed {
    /// Something done to an account.
    pub fn of_account(action: Action, account: AccountId) -> Self {
        Self { action, account: Some(account), object: None, detail: Map::new() }
    }

    /// Something done to a key or a run of an account.
    pub fn of_object(action: Action, account: AccountId, object: impl fmt::Display) -> Self {
        Self { object: Some(object.to_string()), ..Self::of_account(action, account) }
    }

    /// Something that concerns no account.
    pub fn of_service(action: Action) -> Self {
        Self { action, account: None, object: None, detail: Map::new() }
    }

    /// Adds a detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(name.to_owned(), value.into());
        self
    }
}

/// An entry as it is read. Its action is text: a newer version may know more of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Ascending, never used twice; there may be gaps.
    pub id: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// What: see [`Action::as_str`].
    pub action: String,
    /// Whose account, key or run it was.
    pub account: Option<AccountId>,
    /// The id of the key or run, the name of the migration.
    pub object: Option<String>,
    /// The request's id.
    pub request: Option<String>,
    /// What else is worth knowing.
    pub detail: Map<String, Value>,
}

/// Which entries are asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only those of this account.
    pub account: Option<AccountId>,
    /// Only those from this moment on.
    pub since: Option<Timestamp>,
    /// Only those after this one (the last of the previous page).
    pub after: u64,
}

/// Keeps the audit. (What is done through the other traits is noted there, in its own transaction.)
pub trait AuditTrail: Send + Sync {
    /// Notes something that changes nothing in the store.
    fn note(&self, deed: &Deed, at: Timestamp, by: &Origin) -> Result<(), StorageError>;

    /// Oldest first, at most `limit`.
    fn audit(&self, filter: &AuditFilter, limit: usize) -> Result<Vec<Entry>, StorageError>;
}
