//! Bookings, billing cycles and idempotency keys of an account.

use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::model::account::{Booking, CycleUse, NotedRequest};
use crate::store::Store;
use crate::store::backend::Operation;
use crate::store::value::{row, values};

row! { booking_columns: Booking from "" { run, kind, cycle_start, credits, at } }
row! { use_columns: CycleUse from "" { cycle_start, used } }
row! { request_columns: NotedRequest from "" { key, run, at = "created_at" } }

impl Store {
    /// Returns the ledger's lines of an account, the oldest first.
    pub fn bookings(&self, account: AccountId) -> Result<Vec<Booking>, StorageError> {
        let sql =
            concat!("SELECT ", booking_columns!(), " FROM charges WHERE account = ?1 ORDER BY at, run, kind");
        self.all(Operation::new("bookings"), sql, values![account])
    }

    /// Returns the usage of an account by cycle, the oldest first.
    pub fn cycle_uses(&self, account: AccountId) -> Result<Vec<CycleUse>, StorageError> {
        let sql =
            concat!("SELECT ", use_columns!(), " FROM credit_usage WHERE account = ?1 ORDER BY cycle_start");
        self.all(Operation::new("cycle_uses"), sql, values![account])
    }

    /// Returns the idempotency keys of an account, the oldest first.
    pub fn noted_requests(&self, account: AccountId) -> Result<Vec<NotedRequest>, StorageError> {
        let sql = concat!(
            "SELECT ",
            request_columns!(),
            " FROM idempotency_keys WHERE account = ?1 ORDER BY created_at, key"
        );
        self.all(Operation::new("noted_requests"), sql, values![account])
    }
}
