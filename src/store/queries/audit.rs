//! The audit log.

use jiff::Timestamp;

use crate::base::ids::{AccountId, KeyId, RequestId};
use crate::base::storage::StorageError;
use crate::model::audit::{Action, Actor, AuditEvent, AuditFilter, Entry, Origin};
use crate::store::Store;
use crate::store::backend::{Operation, Statements};
use crate::store::document::{Json, encode};
use crate::store::schema::Migration;
use crate::store::value::{Cells, FromRow, Row, values};

const INSERT: &str = "INSERT INTO audit (at, actor, actor_id, action, account, object, request, detail) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

/// Selects the first id since a moment. Ids grow with time, except if a clock was set back or if transactions
/// overtook each other. Entries before that id are not searched.
const FIRST_SINCE: &str = "SELECT min(id) FROM audit WHERE at >= ?1";

macro_rules! entries_where {
    ($condition:literal) => {
        concat!(
            "SELECT id, at, actor, actor_id, action, account, object, request, detail FROM audit \
             WHERE id > ?1 AND at >= ?2",
            $condition,
            " ORDER BY id LIMIT ?3"
        )
    };
}

/// Records an action in its own transaction.
pub(in crate::store) fn note(
    statements: &mut dyn Statements,
    event: &AuditEvent,
    at: Timestamp,
    by: &Origin,
) -> Result<(), StorageError> {
    let detail = if event.detail.is_empty() { None } else { Some(encode(&event.detail)?) };
    let values = values![
        at,
        by.actor.kind(),
        by.actor.id(),
        event.action.as_str(),
        event.account,
        event.object.as_deref(),
        by.request.as_ref().map(RequestId::as_str),
        detail,
    ];
    statements.execute(INSERT, values).map(drop)
}

impl Store {
    /// Records an action that changes nothing in the store.
    pub fn note(&self, event: &AuditEvent, at: Timestamp, by: &Origin) -> Result<(), StorageError> {
        self.write(Operation::new("note"), |statements| note(statements, event, at, by))
    }

    /// Returns at most `count` entries, the oldest first.
    pub fn audit(&self, filter: &AuditFilter, count: usize) -> Result<Vec<Entry>, StorageError> {
        self.read(Operation::new("audit"), |statements| {
            // PostgreSQL's calendar begins later than that of this program. Both begin long before the first entry.
            let since = filter.since.unwrap_or(Timestamp::UNIX_EPOCH).max(Timestamp::UNIX_EPOCH);
            let mut after = filter.after;
            if filter.since.is_some() {
                let first = statements.first::<Option<u64>>(FIRST_SINCE, values![since])?.flatten();
                let Some(first) = first else { return Ok(Vec::new()) };
                after = after.max(first - 1);
            }
            let rows = match filter.account {
                Some(account) => {
                    let sql = entries_where!(" AND account = ?4");
                    statements.rows(sql, values![after, since, count, account])?
                }
                None => statements.rows(entries_where!(""), values![after, since, count])?,
            };
            rows.iter().map(Row::read).collect()
        })
    }
}

/// Returns the audit event of a migration that was executed.
pub(in crate::store) fn migrated(migration: &Migration) -> AuditEvent {
    let event = AuditEvent::of_service(Action::Migrated).with("version", migration.version);
    AuditEvent { object: Some(migration.name.to_owned()), ..event }
}

impl FromRow for Entry {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self, StorageError> {
        let (id, at) = cells.read()?;
        let actor = match cells.read::<(String, _)>()? {
            (kind, Some(id)) if kind == "account" => Actor::Account(AccountId(id)),
            (kind, Some(id)) if kind == "key" => Actor::Key(KeyId(id)),
            (kind, None) if kind == "cli" => Actor::Cli,
            (kind, None) if kind == "system" => Actor::System,
            _ => return Err(StorageError::broken("an entry of the audit has an unknown actor")),
        };
        let (action, account, object, request) = cells.read()?;
        let detail = cells.read::<Option<Json<_>>>()?.map(|Json(detail)| detail).unwrap_or_default();
        Ok(Self { id, at, actor, action, account, object, request, detail })
    }
}
