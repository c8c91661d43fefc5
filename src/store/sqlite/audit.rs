//! The audit.

use jiff::Timestamp;
use rusqlite::{Row, Transaction, params};

use super::error::storage;
use super::{At, Database, Durability};
use crate::account::audit::{AuditFilter, AuditTrail, Deed, Entry, Origin};
use crate::base::storage::StorageError;
use crate::store::audit::{AuditRow, Columns, since};
use crate::store::row::{bigint, limit};

const INSERT: &str = "INSERT INTO audit (at, actor, actor_id, action, account, object, request, detail) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

/// Ids follow the moments, but for a clock that is set back: what lies before the first id of a moment is
/// not looked at.
const FIRST_SINCE: &str = "SELECT min(id) FROM audit WHERE at >= ?1";

macro_rules! entries_where {
    ($condition:literal) => {
        concat!(
            "SELECT id, at, actor, actor_id, action, account, object, request, detail FROM audit \
             WHERE id > ?1 AND at >= ?2 AND ",
            $condition,
            " ORDER BY id LIMIT ?3"
        )
    };
}

/// Notes a deed in the transaction that does it.
pub(super) fn note(
    tx: &Transaction<'_>,
    deed: &Deed,
    at: Timestamp,
    by: &Origin,
) -> Result<(), StorageError> {
    let columns = Columns::of(deed, by)?;
    tx.prepare_cached(INSERT)
        .and_then(|mut statement| {
            statement.execute(params![
                At(at),
                columns.actor,
                columns.actor_id,
                columns.action,
                columns.account,
                columns.object,
                columns.request,
                columns.detail
            ])
        })
        .map(|_| ())
        .map_err(storage)
}

impl AuditTrail for Database {
    fn note(&self, deed: &Deed, at: Timestamp, by: &Origin) -> Result<(), StorageError> {
        self.write(Durability::Full, |tx| note(tx, deed, at, by))
    }

    fn audit(&self, filter: &AuditFilter, count: usize) -> Result<Vec<Entry>, StorageError> {
        let reader = self.reader()?;
        let since = At(since(filter));
        let mut after = bigint(filter.after)?;
        if filter.since.is_some() {
            let first: Option<i64> =
                reader.query_row(FIRST_SINCE, params![since], |row| row.get(0)).map_err(storage)?;
            let Some(first) = first else { return Ok(Vec::new()) };
            after = after.max(first - 1);
        }
        let (sql, account) = match filter.account {
            Some(account) => (entries_where!("account = ?4"), Some(account.0)),
            None => (entries_where!("?4 IS NULL"), None),
        };
        let mut statement = reader.prepare_cached(sql).map_err(storage)?;
        let rows =
            statement.query_map(params![after, since, limit(count), account], read).map_err(storage)?;
        rows.map(|row| row.map_err(storage)?.into_entry()).collect()
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        id: row.get(0)?,
        at: row.get::<_, At>(1)?.0,
        actor: row.get(2)?,
        actor_id: row.get(3)?,
        action: row.get(4)?,
        account: row.get(5)?,
        object: row.get(6)?,
        request: row.get(7)?,
        detail: row.get(8)?,
    })
}
