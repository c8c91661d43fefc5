//! PostgreSQL: any number of instances on one database.
//!
//! Transactions run at `READ COMMITTED`: each statement sees what was committed before it, and a row that
//! is updated is locked and looked at again. Every promise of the traits rests on a row lock or a unique
//! index, so no write is ever retried here (a driver tries its own again). Rows are locked in one order (account, run,
//! idempotency key, credits; several of one table by id), so two transactions never wait for each other. Migrations,
//! which lock whole tables, step back from others and try again.
//!
//! What is one statement is sent as one: it commits by itself, in one round trip.
//!
//! # Time
//! Waiting for a connection, connecting, the check before each use and the wait for each answer are bounded here
//! (`limits`, [`session`]); a statement, a lock and an idle transaction by the server (`statement_timeout`,
//! `lock_timeout`, `idle_in_transaction_session_timeout`); a machine or a network that vanished by TCP
//! (`tcp_user_timeout`, keep-alive). While the server is away only one caller at a time waits ([`breaker`]).
//! Migrations alone are bounded by the server and by TCP only: they run before anything is served. What may be much (an
//! account's runs, old runs) is removed in parts, each of them short.
//!
//! # News
//! `LISTEN` and `NOTIFY` wake those who wait for what another instance does; the data are read from the tables.
//! What is rare and must not be missed (a deletion, a key that was revoked, runs that were let go of) is told
//! by the transaction that does it, or, of an account's deletion, that begins it. What a driver writes is told right after, by one thread for all runs
//! ([`Herald`]): a transaction that notifies holds a lock of the whole server's until its commit is on the
//! disk, and would make all others wait in line.
//!
//! A pooler in front must keep sessions (`pool_mode = session`): settings and prepared statements belong
//! to one.

mod audit;
mod breaker;
mod encoded;
mod erasure;
mod error;
mod health;
mod herald;
mod journal;
mod ledger;
mod listener;
mod manager;
mod migrate;
mod quota;
mod read;
mod records;
mod results;
mod session;
mod sign_in;
mod start;
mod target;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use postgres::Client;
use r2d2::{NopErrorHandler, Pool, PooledConnection};

use super::error::OpenError;
use super::limits::{AWAY_WAIT, POOL_WAIT};
use super::schema::Migration;
use super::writes::Writes;
use super::{Options, StoreLoad, Vitals};
use crate::account::audit::Origin;
use crate::base::clock::cut_to_millis;
use crate::base::storage::StorageError;
use breaker::Breaker;
use error::{PostgresError, pool_error};
use herald::Herald;
use manager::Manager;
use session::Work;
pub(super) use target::PostgresTarget;

/// An open PostgreSQL database.
pub(super) struct Database {
    pool: Pool<Manager>,
    /// Makes the connection that news are heard on.
    manager: Arc<Manager>,
    herald: Herald,
    breaker: Breaker,
    writes: Arc<Writes>,
}

impl Database {
    /// Connects, and brings the schema up to date.
    pub(super) fn open(target: &PostgresTarget, options: Options) -> Result<Self, OpenError> {
        let tls = tls::connector(target)?;
        let writes = Arc::new(Writes::default());
        let own = Arc::new(Manager::new(target.config(), tls.clone(), Arc::clone(&writes)));
        let manager = Manager::new(target.config(), tls, Arc::clone(&writes));
        migrate::run(first_client(&manager, target)?, target, &options.role.origin())?;
        let pool = Pool::builder()
            .max_size(options.pool_size)
            .min_idle(Some(0))
            .connection_timeout(POOL_WAIT)
            .error_handler(Box::new(NopErrorHandler))
            .build_unchecked(manager);
        Ok(Self { pool, manager: own, herald: Herald::default(), breaker: Breaker::default(), writes })
    }

    fn session(&self) -> Result<PooledConnection<Manager>, StorageError> {
        self.session_within(POOL_WAIT)
    }

    fn session_within(&self, wait: Duration) -> Result<PooledConnection<Manager>, StorageError> {
        let Some(since) = self.breaker.away_since() else { return self.wait_for_session(wait) };
        // One that was given back meanwhile, and answers, is as good as a new one.
        if let Some(session) = self.pool.try_get() {
            self.breaker.close();
            return Ok(session);
        }
        let Some(_turn) = self.breaker.turn() else {
            let text = format!("the server has been away for {} ms", since.elapsed().as_millis());
            return Err(StorageError::unavailable(PostgresError::new(text)));
        };
        self.wait_for_session(wait.min(AWAY_WAIT))
    }

    fn wait_for_session(&self, wait: Duration) -> Result<PooledConnection<Manager>, StorageError> {
        match self.pool.get_timeout(wait) {
            Ok(session) => {
                self.breaker.close();
                Ok(session)
            }
            Err(error) => {
                // All in use says nothing about the server.
                let state = self.pool.state();
                if state.connections < self.pool.max_size() || state.idle_connections > 0 {
                    self.breaker.open();
                }
                Err(pool_error(error))
            }
        }
    }

    /// Whether the server answers and, as far as is known, takes what is written.
    fn is_well(&self, wait: Duration) -> Result<(), StorageError> {
        // A session is asked for a sign of life before it is handed out.
        let session = self.session_within(wait)?;
        drop(session);
        self.writes.check(|| {
            let trial = "UPDATE schema_version SET name = name WHERE version = 1";
            self.session_within(wait)?.execute(trial, &[]).map(|_| ())
        })
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

impl Vitals for Database {
    fn load(&self) -> StoreLoad {
        let state = self.pool.state();
        StoreLoad {
            used: state.connections.saturating_sub(state.idle_connections),
            idle: state.idle_connections,
            max: self.pool.max_size(),
            is_away: self.breaker.away_since().is_some() || self.writes.are_doubted(),
        }
    }
}

/// Brings the schema up to date; gives what was run.
pub(super) fn migrate(target: &PostgresTarget, by: &Origin) -> Result<Vec<&'static Migration>, OpenError> {
    migrate::run(connect(target)?, target, by)
}

/// What that would run.
pub(super) fn pending(target: &PostgresTarget) -> Result<Vec<&'static Migration>, OpenError> {
    migrate::pending(connect(target)?, target)
}

fn connect(target: &PostgresTarget) -> Result<Client, OpenError> {
    let tls = tls::connector(target)?;
    first_client(&Manager::new(target.config(), tls, Arc::default()), target)
}

/// The first one not through the pool: the pool would try again until its wait is over.
fn first_client(manager: &Manager, target: &PostgresTarget) -> Result<Client, OpenError> {
    manager.client().map_err(|cause| OpenError::Connect {
        address: target.to_string(),
        cause: StorageError::unavailable(cause),
    })
}

/// A moment as the tables keep it: whole milliseconds, as SQLite does.
fn at(moment: Timestamp) -> Timestamp {
    cut_to_millis(moment)
}
