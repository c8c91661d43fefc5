//! Bookings, cycles and idempotency keys of an account.

use postgres::Row;

use super::Database;
use super::error::storage;
use crate::account::records::{Booking, CycleUse, NotedRequest, Records};
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::store::row::number;

const BOOKINGS: &str =
    "SELECT run, kind, cycle_start, credits, at FROM charges WHERE account = $1 ORDER BY at, run, kind";
const CYCLES: &str = "SELECT cycle_start, used FROM credit_usage WHERE account = $1 ORDER BY cycle_start";
const REQUESTS: &str =
    "SELECT key, run, created_at FROM idempotency_keys WHERE account = $1 ORDER BY created_at, key";

impl Records for Database {
    fn bookings(&self, account: AccountId) -> Result<Vec<Booking>, StorageError> {
        let read = |row: &Row| {
            Ok((RunId(row.try_get(0)?), row.try_get(1)?, row.try_get(2)?, row.try_get(3)?, row.try_get(4)?))
        };
        let whole = |row: &Row| {
            let (run, kind, cycle_start, credits, at): (_, _, _, i64, _) = read(row).map_err(storage)?;
            Ok(Booking { run, kind, cycle_start, credits: number(credits)?, at })
        };
        self.session()?.query(BOOKINGS, &[&account.0])?.iter().map(whole).collect()
    }

    fn cycle_uses(&self, account: AccountId) -> Result<Vec<CycleUse>, StorageError> {
        let whole = |row: &Row| {
            let used: i64 = row.try_get(1).map_err(storage)?;
            Ok(CycleUse { cycle_start: row.try_get(0).map_err(storage)?, used: number(used)? })
        };
        self.session()?.query(CYCLES, &[&account.0])?.iter().map(whole).collect()
    }

    fn noted_requests(&self, account: AccountId) -> Result<Vec<NotedRequest>, StorageError> {
        let read = |row: &Row| {
            Ok(NotedRequest { key: row.try_get(0)?, run: RunId(row.try_get(1)?), at: row.try_get(2)? })
        };
        self.session()?.query(REQUESTS, &[&account.0])?.iter().map(|row| read(row).map_err(storage)).collect()
    }
}
