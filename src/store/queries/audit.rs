//! The audit log.

use jiff::Timestamp;

use crate::base::ids::{AccountId, KeyId, RequestId};
use crate::base::storage::StorageError;
use crate::model::audit::{Action, Actor, AuditEvent, AuditFilter, Entry, Origin};
use crate::store::Store;
use crate::store::backend::{Operation, Statements};
use crate::store::document::{decode, encode};
use crate::store::number::{bigint, limit, number};
use crate::store::schema::Migration;
use crate::store::value::{Row, values};

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
        self.write(Operation::on_accounts("note"), |statements| note(statements, event, at, by))
    }

    /// Returns at most `count` entries, the oldest first.
    pub fn audit(&self, filter: &AuditFilter, count: usize) -> Result<Vec<Entry>, StorageError> {
        self.read(Operation::on_accounts("audit"), |statements| {
            // PostgreSQL's calendar begins later than that of this program. Both begin long before the first entry.
            let since = filter.since.unwrap_or(Timestamp::UNIX_EPOCH).max(Timestamp::UNIX_EPOCH);
            let mut after = bigint(filter.after)?;
            if filter.since.is_some() {
                let found = statements.rows(FIRST_SINCE, values![since])?;
                let first: Option<i64> = found.first().map_or(Ok(None), |row| row.get(0))?;
                let Some(first) = first else { return Ok(Vec::new()) };
                after = after.max(first - 1);
            }
            let rows = match filter.account {
                Some(account) => {
                    let sql = entries_where!(" AND account = ?4");
                    statements.rows(sql, values![after, since, limit(count), account])?
                }
                None => statements.rows(entries_where!(""), values![after, since, limit(count)])?,
            };
            rows.iter().map(entry).collect()
        })
    }
}

/// Returns the audit event of a migration that was executed.
pub(in crate::store) fn migrated(migration: &Migration) -> AuditEvent {
    let event = AuditEvent::of_service(Action::Migrated).with("version", migration.version);
    AuditEvent { object: Some(migration.name.to_owned()), ..event }
}

fn entry(row: &Row) -> Result<Entry, StorageError> {
    let actor = match (row.text(2)?, row.get(3)?) {
        ("account", Some(id)) => Actor::Account(AccountId(id)),
        ("key", Some(id)) => Actor::Key(KeyId(id)),
        ("cli", None) => Actor::Cli,
        ("system", None) => Actor::System,
        _ => return Err(StorageError::broken("an entry of the audit has an unknown actor")),
    };
    Ok(Entry {
        id: number(row.get(0)?)?,
        at: row.get(1)?,
        actor,
        action: row.get(4)?,
        account: row.get(5)?,
        object: row.get(6)?,
        request: row.get(7)?,
        detail: row.optional_text(8)?.map(decode).transpose()?.unwrap_or_default(),
    })
}
