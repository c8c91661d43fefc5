//! An entry of the audit as its row keeps it, the same in both databases.

use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::document::{decode, encode};
use super::row::number;
use super::schema::Migration;
use crate::account::audit::{Action, Actor, AuditFilter, Deed, Entry, Origin};
use crate::account::credits::Charge;
use crate::base::ids::{AccountId, KeyId};
use crate::base::storage::StorageError;
use crate::runs::journal::NewRun;

/// What is written of a deed, its moment aside.
pub(super) struct Columns {
    pub(super) actor: &'static str,
    pub(super) actor_id: Option<Uuid>,
    pub(super) action: &'static str,
    pub(super) account: Option<Uuid>,
    pub(super) object: Option<String>,
    pub(super) request: Option<String>,
    pub(super) detail: Option<String>,
}

impl Columns {
    pub(super) fn of(deed: &Deed, by: &Origin) -> Result<Self, StorageError> {
        let detail = if deed.detail.is_empty() { None } else { Some(encode(&deed.detail)?) };
        Ok(Self {
            actor: by.actor.kind(),
            actor_id: by.actor.id(),
            action: deed.action.as_str(),
            account: deed.account.map(|account| account.0),
            object: deed.object.clone(),
            request: by.request.as_ref().map(|request| request.as_str().to_owned()),
            detail,
        })
    }
}

/// From when on entries are asked for. PostgreSQL's calendar begins later than ours; both are long before
/// the first entry.
pub(super) fn since(filter: &AuditFilter) -> Timestamp {
    filter.since.unwrap_or(Timestamp::UNIX_EPOCH).max(Timestamp::UNIX_EPOCH)
}

/// A row of the audit.
pub(super) struct AuditRow {
    pub(super) id: i64,
    pub(super) at: Timestamp,
    pub(super) actor: String,
    pub(super) actor_id: Option<Uuid>,
    pub(super) action: String,
    pub(super) account: Option<Uuid>,
    pub(super) object: Option<String>,
    pub(super) request: Option<String>,
    pub(super) detail: Option<String>,
}

impl AuditRow {
    pub(super) fn into_entry(self) -> Result<Entry, StorageError> {
        let actor = match (self.actor.as_str(), self.actor_id) {
            ("account", Some(id)) => Actor::Account(AccountId(id)),
            ("key", Some(id)) => Actor::Key(KeyId(id)),
            ("cli", None) => Actor::Cli,
            ("system", None) => Actor::System,
            _ => return Err(StorageError::broken("an entry of the audit has an unknown actor")),
        };
        let detail: Option<Map<String, Value>> = self.detail.as_deref().map(decode).transpose()?;
        Ok(Entry {
            id: number(self.id)?,
            at: self.at,
            actor,
            action: self.action,
            account: self.account.map(AccountId),
            object: self.object,
            request: self.request,
            detail: detail.unwrap_or_default(),
        })
    }
}

/// A migration that was run.
pub(super) fn migrated(version: i64, migration: &Migration) -> Deed {
    let deed = Deed::of_service(Action::Migrated).with("version", version);
    Deed { object: Some(migration.name.to_owned()), ..deed }
}

/// A run that was charged and started: never what it looks for.
pub(super) fn started(run: &NewRun, charge: &Charge) -> Deed {
    Deed::of_object(Action::RunStarted, run.account, run.id)
        .with("type", run.search_type.as_str())
        .with("credits", charge.credits)
}
