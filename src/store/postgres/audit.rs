//! The audit.

use jiff::Timestamp;
use postgres::Row;
use postgres::types::ToSql;

use super::error::storage;
use super::session::Work;
use super::{Database, at};
use crate::account::audit::{AuditFilter, AuditTrail, Deed, Entry, Origin};
use crate::base::storage::StorageError;
use crate::store::audit::{AuditRow, Columns, since};
use crate::store::row::{bigint, limit};

pub(super) const INSERT: &str = "INSERT INTO audit \
     (at, actor, actor_id, action, account, object, request, detail) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::json)";

macro_rules! entries_where {
    ($condition:literal) => {
        concat!(
            "SELECT id, at, actor, actor_id, action, account, object, request, detail::text FROM audit \
             WHERE id > $1 AND at >= $2 AND ",
            $condition,
            " ORDER BY id LIMIT $3"
        )
    };
}

/// Ids follow the moments, but for transactions that overtake each other: what lies before the first id
/// of a moment is not looked at.
const FIRST_SINCE: &str = "SELECT min(id) FROM audit WHERE at >= $1";

impl Columns {
    /// For [`INSERT`].
    pub(super) fn values<'a>(&'a self, moment: &'a Timestamp) -> [&'a (dyn ToSql + Sync); 8] {
        [
            moment,
            &self.actor,
            &self.actor_id,
            &self.action,
            &self.account,
            &self.object,
            &self.request,
            &self.detail,
        ]
    }
}

/// Notes a deed in the transaction that does it.
pub(super) fn note(
    work: &mut Work<'_>,
    deed: &Deed,
    moment: Timestamp,
    by: &Origin,
) -> Result<(), StorageError> {
    let columns = Columns::of(deed, by)?;
    work.execute(INSERT, &columns.values(&at(moment))).map(|_| ())
}

impl AuditTrail for Database {
    fn note(&self, deed: &Deed, moment: Timestamp, by: &Origin) -> Result<(), StorageError> {
        self.write(|work| note(work, deed, moment, by))
    }

    fn audit(&self, filter: &AuditFilter, count: usize) -> Result<Vec<Entry>, StorageError> {
        let mut session = self.session()?;
        let since = at(since(filter));
        let mut after = bigint(filter.after)?;
        if filter.since.is_some() {
            let first: Option<i64> = match session.query(FIRST_SINCE, &[&since])?.first() {
                Some(row) => row.try_get(0).map_err(storage)?,
                None => None,
            };
            let Some(first) = first else { return Ok(Vec::new()) };
            after = after.max(first - 1);
        }
        let rows = match filter.account {
            Some(account) => {
                session.query(entries_where!("account = $4"), &[&after, &since, &limit(count), &account.0])?
            }
            None => session.query(entries_where!("true"), &[&after, &since, &limit(count)])?,
        };
        rows.iter().map(entry).collect()
    }
}

fn entry(row: &Row) -> Result<Entry, StorageError> {
    let read = || {
        Ok(AuditRow {
            id: row.try_get(0)?,
            at: row.try_get(1)?,
            actor: row.try_get(2)?,
            actor_id: row.try_get(3)?,
            action: row.try_get(4)?,
            account: row.try_get(5)?,
            object: row.try_get(6)?,
            request: row.try_get(7)?,
            detail: row.try_get(8)?,
        })
    };
    read().map_err(storage)?.into_entry()
}
