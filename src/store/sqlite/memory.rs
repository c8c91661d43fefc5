//! A database in memory, for searches of which nothing is to stay.

use parking_lot::Mutex;
use rusqlite::Connection;

use super::connection::configure;
use super::error::storage_error;
use super::migrate;
use super::statements::OnConnection;
use crate::base::storage::StorageError;
use crate::store::backend::{Backend, End, Operation, Work};
use crate::store::error::OpenError;
use crate::store::load::StoreLoad;

/// A database that ends with this value.
pub(in crate::store) struct Memory(Mutex<Connection>);

impl Memory {
    pub(in crate::store) fn open() -> Result<Self, OpenError> {
        let open = || {
            let connection = Connection::open_in_memory()?;
            configure(&connection)?;
            Ok(connection)
        };
        let failed = |cause| OpenError::Connect { address: "sqlite::memory:".into(), cause };
        let connection = open().map_err(storage_error).map_err(failed)?;
        migrate::create(&connection).map_err(failed)?;
        Ok(Self(Mutex::new(connection)))
    }
}

impl Backend for Memory {
    fn read(&self, _: &Operation, work: Work<'_>) -> Result<(), StorageError> {
        work(&mut OnConnection(&self.0.lock())).map(drop)
    }

    fn write(&self, _: &Operation, work: Work<'_>) -> Result<(), StorageError> {
        let mut connection = self.0.lock();
        let transaction = connection.transaction().map_err(storage_error)?;
        match work(&mut OnConnection(&transaction))? {
            End::Commit => transaction.commit().map_err(storage_error),
            End::RollBack => transaction.rollback().map_err(storage_error),
        }
    }

    fn ping(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn load(&self) -> StoreLoad {
        StoreLoad { used: 0, idle: 1, max: 1, is_unavailable: false }
    }

    fn is_shared(&self) -> bool {
        false
    }
}
