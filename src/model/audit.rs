//! The audit: who did what, when.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::base::clock::millis;
use crate::base::ids::{AccountId, KeyId, RequestId};
use crate::base::words::words;

/// The origin of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// The owner of this account, signed in to the web app.
    Account(AccountId),
    /// The holder of this API key.
    Key(KeyId),
    /// An operator who used a command.
    Cli,
    /// The service itself: retention, migrations, the first account.
    System,
}

impl Actor {
    /// Returns `account`, `key`, `cli` or `system`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Account(_) => "account",
            Self::Key(_) => "key",
            Self::Cli => "cli",
            Self::System => "system",
        }
    }

    /// Returns the id of the account or key.
    pub fn id(&self) -> Option<Uuid> {
        match self {
            Self::Account(id) => Some(id.0),
            Self::Key(id) => Some(id.0),
            Self::Cli | Self::System => None,
        }
    }
}

/// The actor of an action, and the request that caused it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The actor.
    pub actor: Actor,
    /// The id of the HTTP request, if a request caused the action.
    pub request: Option<RequestId>,
}

impl Origin {
    /// The origin of an operator's command.
    pub const CLI: Self = Self { actor: Actor::Cli, request: None };
    /// The origin of actions of the service itself.
    pub const SYSTEM: Self = Self { actor: Actor::System, request: None };

    /// Returns the origin of an HTTP request.
    pub fn request(actor: Actor, id: &RequestId) -> Self {
        Self { actor, request: Some(id.clone()) }
    }
}

words! {
    /// An action that the audit records. Its word is stored and shown.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Action {
        /// An account was created. The detail is its plan.
        AccountCreated = "account.created",
        /// The plan of an account was changed. The detail is both plans.
        PlanChanged = "account.plan_changed",
        /// All data of an account was exported.
        AccountExported = "account.exported",
        /// An account was closed and is being deleted with all personal data. The detail is the amount of it.
        AccountDeleted = "account.deleted",
        /// The role of an account was changed. The detail is the new role.
        RoleChanged = "account.role_changed",
        /// A link was created with which the owner of an account sets the password.
        LinkMade = "account.link_made",
        /// A password was set or changed. The detail says whether a link was used.
        PasswordSet = "account.password_set",
        /// A user signed in. The object is the session.
        SignedIn = "session.started",
        /// A session was ended by its owner.
        SignedOut = "session.ended",
        /// A key was created.
        KeyCreated = "key.created",
        /// A key was revoked.
        KeyRevoked = "key.revoked",
        /// A run was charged and started. The details are its type and its cost.
        RunStarted = "run.started",
        /// A run was stopped by its owner.
        RunStopped = "run.stopped",
        /// The owner of a run has changed what is noted about it or its results. The detail is the result.
        RunAnnotated = "run.annotated",
        /// A run was deleted.
        RunDeleted = "run.deleted",
        /// Old runs were removed. The details are their number and the moment before which they had ended.
        RunsSwept = "runs.swept",
        /// What was learned about a host or a module, or about all, was forgotten by an operator. The details are the kind,
        /// and the name or the number.
        HealthReset = "health.reset",
        /// A webhook was created. The detail is the number of its events.
        WebhookCreated = "webhook.created",
        /// The address or the events of a webhook were changed, or it was enabled or disabled by its owner. The detail
        /// is the names of what was changed.
        WebhookChanged = "webhook.changed",
        /// A webhook was disabled because its receiver failed or asked for that. The detail is the reason.
        WebhookDisabled = "webhook.disabled",
        /// A webhook got a new secret.
        WebhookRotated = "webhook.secret_rotated",
        /// A webhook was deleted.
        WebhookDeleted = "webhook.deleted",
        /// A watch was created. The details are its type and its interval.
        WatchCreated = "watch.created",
        /// A watch was changed by its owner. The detail is the names of what was changed.
        WatchChanged = "watch.changed",
        /// A watch was deleted.
        WatchDeleted = "watch.deleted",
        /// A batch of searches was created. The detail is the number of its searches.
        BatchCreated = "batch.created",
        /// A batch was stopped. The detail is the number of searches that had not begun.
        BatchStopped = "batch.stopped",
        /// The schema was migrated. The detail is the new version.
        Migrated = "schema.migrated",
    }
}

/// An action together with its object.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEvent {
    /// The action.
    pub action: Action,
    /// The account to which the action, key or run belongs.
    pub account: Option<AccountId>,
    /// The id of the key, run, webhook or watch, or the name of the migration.
    pub object: Option<String>,
    /// Further facts, such as counts and plans. They contain no personal data.
    pub detail: Map<String, Value>,
}

impl AuditEvent {
    /// Creates a record of an action on an account.
    pub fn of_account(action: Action, account: AccountId) -> Self {
        Self { action, account: Some(account), object: None, detail: Map::new() }
    }

    /// Creates a record of an action on a key, a run, a webhook or a watch of an account.
    pub fn of_object(action: Action, account: AccountId, object: impl fmt::Display) -> Self {
        Self { object: Some(object.to_string()), ..Self::of_account(action, account) }
    }

    /// Creates a record of an action that concerns no account.
    pub fn of_service(action: Action) -> Self {
        Self { action, account: None, object: None, detail: Map::new() }
    }

    /// Adds a detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the names of the parts that were changed, separated by commas.
    #[must_use]
    pub fn with_parts<const N: usize>(self, parts: [(&str, bool); N]) -> Self {
        let changed: Vec<&str> = parts.into_iter().filter(|part| part.1).map(|(name, _)| name).collect();
        self.with("parts", changed.join(","))
    }
}

/// An entry of the audit that was read from the store. Its actor and its action are texts, because a newer version may
/// have further ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// The number of the entry. Numbers are ascending and never used twice, with possible gaps.
    pub id: u64,
    /// The time of the action.
    #[serde(serialize_with = "millis")]
    pub at: Timestamp,
    /// The kind of the actor: see [`Actor::kind`].
    pub actor: String,
    /// The id of the account or key that is the actor.
    pub actor_id: Option<Uuid>,
    /// The name of the action: see [`Action::as_str`].
    pub action: String,
    /// The account to which the action, key or run belongs.
    pub account: Option<AccountId>,
    /// The id of the key, run or webhook, or the name of the migration.
    pub object: Option<String>,
    /// The id of the HTTP request.
    #[serde(rename = "request_id")]
    pub request: Option<String>,
    /// Further facts.
    pub detail: Map<String, Value>,
}

impl Entry {
    /// Returns the actor as text, such as `key:ID` or `cli`.
    pub fn by(&self) -> String {
        self.actor_id.map_or_else(|| self.actor.clone(), |id| format!("{}:{id}", self.actor))
    }
}

/// A selection of entries of the audit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Selects only entries of this account.
    pub account: Option<AccountId>,
    /// Selects only entries from this moment on.
    pub since: Option<Timestamp>,
    /// Selects only entries after this one, which is the last of the previous page.
    pub after: u64,
}
