//! PostgreSQL: any number of instances on one database.
//!
//! Transactions run at `READ COMMITTED`: each statement sees what was committed before it, and a row that
//! is updated is locked and looked at again. Every promise of the traits rests on a row lock or a unique
//! index, so nothing is ever retried. Rows are locked in one order (run, idempotency key, credits), so two
//! transactions never wait for each other.
//!
//! # Time
//! Waiting for a connection, connecting, and the check before each use are bounded here; a statement and a
//! lock by the server (`statement_timeout`, `lock_timeout`); a machine or a network that vanished by TCP
//! (`tcp_user_timeout`, keep-alive). What is not bounded: a statement under way on a server whose machine
//! still acknowledges packets while the server itself stands still. It goes on when the server does.
//!
//! A pooler in front must keep sessions (`pool_mode = session`): settings and prepared statements belong
//! to one.

mod audit;
mod erasure;
mod error;
mod health;
mod journal;
mod ledger;
mod migrate;
mod read;
mod records;
mod results;
mod session;
mod start;
mod target;
mod tls;

use std::time::Duration;

use jiff::Timestamp;
use r2d2::{ManageConnection, NopErrorHandler, Pool, PooledConnection};

use super::Options;
use super::error::OpenError;
use super::limits::POOL_WAIT;
use super::schema::Migration;
use crate::account::audit::Origin;
use crate::base::clock::cut_to_millis;
use crate::base::storage::StorageError;
use error::pool_error;
use session::{Manager, Session, Work};
pub(super) use target::PostgresTarget;

/// An open PostgreSQL database.
pub(super) struct Database {
    pool: Pool<Manager>,
}

impl Database {
    /// Connects, and brings the schema up to date.
    pub(super) fn open(target: &PostgresTarget, options: Options) -> Result<Self, OpenError> {
        let (manager, session) = connect(target)?;
        migrate::run(session, target, &options.role.origin())?;
        let pool = Pool::builder()
            .max_size(options.pool_size)
            .min_idle(Some(0))
            .connection_timeout(POOL_WAIT)
            .error_handler(Box::new(NopErrorHandler))
            .build_unchecked(manager);
        Ok(Self { pool })
    }

    fn session(&self) -> Result<PooledConnection<Manager>, StorageError> {
        self.pool.get().map_err(pool_error)
    }

    fn session_within(&self, wait: Duration) -> Result<PooledConnection<Manager>, StorageError> {
        self.pool.get_timeout(wait).map_err(pool_error)
    }

    /// Runs `work` in a transaction, and commits what it did unless it fails.
    fn write<T>(
        &self,
        work: impl FnOnce(&mut Work<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let mut session = self.session()?;
        let mut transaction = session.begin()?;
        let done = work(&mut transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}

/// Brings the schema up to date; gives what was run.
pub(super) fn migrate(target: &PostgresTarget, by: &Origin) -> Result<Vec<&'static Migration>, OpenError> {
    migrate::run(connect(target)?.1, target, by)
}

/// What that would run.
pub(super) fn pending(target: &PostgresTarget) -> Result<Vec<&'static Migration>, OpenError> {
    migrate::pending(connect(target)?.1, target)
}

/// What makes sessions, and the first one: not through the pool, which would try again until its wait is
/// over.
fn connect(target: &PostgresTarget) -> Result<(Manager, Session), OpenError> {
    let tls = tls::connector(target)?;
    let manager = Manager::new(target.config(), tls);
    let session = manager.connect().map_err(|cause| OpenError::Connect {
        address: target.to_string(),
        cause: StorageError::unavailable(cause),
    })?;
    Ok((manager, session))
}

/// A moment as the tables keep it: whole milliseconds, as SQLite does.
fn at(moment: Timestamp) -> Timestamp {
    cut_to_millis(moment)
}
