//! Bookings, cycles and idempotency keys of an account.

use rusqlite::Row;

use super::error::storage;
use super::{At, Database};
use crate::account::records::{Booking, CycleUse, NotedRequest, Records};
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::store::row::number;

impl Records for Database {
    fn bookings(&self, account: AccountId) -> Result<Vec<Booking>, StorageError> {
        let sql = "SELECT run, kind, cycle_start, credits, at FROM charges WHERE account = ?1 ORDER BY at, run, kind";
        let rows = self.rows_of(sql, account, |row| {
            Ok((RunId(row.get(0)?), row.get(1)?, row.get::<_, At>(2)?.0, row.get(3)?, row.get::<_, At>(4)?.0))
        })?;
        let whole = |(run, kind, cycle_start, credits, at): (_, _, _, i64, _)| {
            Ok(Booking { run, kind, cycle_start, credits: number(credits)?, at })
        };
        rows.into_iter().map(whole).collect()
    }

    fn cycle_uses(&self, account: AccountId) -> Result<Vec<CycleUse>, StorageError> {
        let sql = "SELECT cycle_start, used FROM credit_usage WHERE account = ?1 ORDER BY cycle_start";
        let rows = self.rows_of(sql, account, |row| Ok((row.get::<_, At>(0)?.0, row.get(1)?)))?;
        let whole = |(cycle_start, used): (_, i64)| Ok(CycleUse { cycle_start, used: number(used)? });
        rows.into_iter().map(whole).collect()
    }

    fn noted_requests(&self, account: AccountId) -> Result<Vec<NotedRequest>, StorageError> {
        let sql =
            "SELECT key, run, created_at FROM idempotency_keys WHERE account = ?1 ORDER BY created_at, key";
        self.rows_of(sql, account, |row| {
            Ok(NotedRequest { key: row.get(0)?, run: RunId(row.get(1)?), at: row.get::<_, At>(2)?.0 })
        })
    }
}

impl Database {
    /// The rows of an account; `?1` is its id.
    fn rows_of<T>(
        &self,
        sql: &str,
        account: AccountId,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StorageError> {
        let reader = self.reader()?;
        let mut statement = reader.prepare_cached(sql).map_err(storage)?;
        let rows = statement.query_map([account.0], read).map_err(storage)?;
        rows.collect::<rusqlite::Result<_>>().map_err(storage)
    }
}
