//! Bookings, billing cycles and idempotency keys of an account.

use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::model::account::{Booking, CycleUse, NotedRequest};
use crate::store::Store;
use crate::store::backend::Operation;
use crate::store::number::number;
use crate::store::value::values;

impl Store {
    /// Returns the ledger's lines of an account, the oldest first.
    pub fn bookings(&self, account: AccountId) -> Result<Vec<Booking>, StorageError> {
        let sql = "SELECT run, kind, cycle_start, credits, at FROM charges WHERE account = ?1 ORDER BY at, run, kind";
        let rows = self.rows(Operation::on_accounts("bookings"), sql, values![account])?;
        rows.iter()
            .map(|row| {
                Ok(Booking {
                    run: row.get(0)?,
                    kind: row.get(1)?,
                    cycle_start: row.get(2)?,
                    credits: number(row.get(3)?)?,
                    at: row.get(4)?,
                })
            })
            .collect()
    }

    /// Returns the usage of an account by cycle, the oldest first.
    pub fn cycle_uses(&self, account: AccountId) -> Result<Vec<CycleUse>, StorageError> {
        let sql = "SELECT cycle_start, used FROM credit_usage WHERE account = ?1 ORDER BY cycle_start";
        let rows = self.rows(Operation::on_accounts("cycle_uses"), sql, values![account])?;
        rows.iter().map(|row| Ok(CycleUse { cycle_start: row.get(0)?, used: number(row.get(1)?)? })).collect()
    }

    /// Returns the idempotency keys of an account, the oldest first.
    pub fn noted_requests(&self, account: AccountId) -> Result<Vec<NotedRequest>, StorageError> {
        let sql =
            "SELECT key, run, created_at FROM idempotency_keys WHERE account = ?1 ORDER BY created_at, key";
        let rows = self.rows(Operation::on_accounts("noted_requests"), sql, values![account])?;
        rows.iter()
            .map(|row| Ok(NotedRequest { key: row.get(0)?, run: row.get(1)?, at: row.get(2)? }))
            .collect()
    }
}
