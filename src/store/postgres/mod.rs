//! PostgreSQL: any number of instances share one database.
//!
//! Transactions run at `READ COMMITTED`: each statement sees what was committed before it, and a row that is updated is
//! locked and read again. Every guarantee rests on a row lock or a unique index, so no write is retried
//! here; drivers retry their own. Rows are locked in one order (account, run, idempotency key, credits; several rows of
//! one table by id), so that no two transactions wait for each other. Migrations, which lock whole tables, give way to
//! other transactions and try again.
//!
//! A single statement is sent as such: it commits by itself, in one round trip.
//!
//! # Timeouts
//! Waiting for a connection, connecting, and the wait for each answer are bounded here (see `limits` and [`session`]).
//! The server bounds statements, waits for locks and idle transactions (`statement_timeout`, `lock_timeout`,
//! `idle_in_transaction_session_timeout`). TCP bounds how long a vanished machine or network is waited for
//! (`tcp_user_timeout`, keep-alive). While the server is unreachable, only one caller at a time waits for it
//! ([`server`]). Callers that wait for a lock keep their connection; reading, writing and health checks each have
//! connections of their own. Migrations are bounded only by the server and by TCP: they run before any request is
//! served. Large deletions (an account's runs, old runs) are split into short transactions.
//!
//! # Notifications
//! `LISTEN` and `NOTIFY` wake readers that wait for changes of another instance; the data are read from the tables.
//! Rare changes that must not be missed (a deletion, a revoked key, released runs) are announced by their own
//! transaction, or, for an account's deletion, by the transaction that begins it. A driver's writes are published right
//! after their commit, by one thread for all runs ([`notify`]): a transaction that notifies holds a lock of the
//! whole server until its commit is on the disk, and would make all others wait.
//!
//! A pooler in front of the server must pool sessions (`pool_mode = session`): settings and prepared statements belong
//! to a session.

mod error;
mod migrate;
mod notify;
mod server;
mod session;
mod tls;

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Duration;

pub(super) use migrate::{migrate, pending};
pub(super) use notify::announcement;
pub(super) use session::Session;

use self::notify::{Listener, publish};
use self::server::Server;
use super::error::{OpenError, Result};
use super::limits::{BACKGROUND_WAIT, PING_WAIT, Role, TRANSACTION};
use super::pool::Pool;
use super::tx::{Operation, Tx};
use super::url::PostgresTarget;
use super::value::{Row, Value};
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::Subscriber;

/// An open PostgreSQL database.
pub(super) struct Database {
    server: Arc<Server>,
    /// The driver's writes that are published, each a run with its epoch, once somebody listens.
    changes: OnceLock<Sender<(RunId, u64)>>,
}

impl Database {
    /// Connects to the server and brings the schema up to date.
    pub(super) fn open(target: &PostgresTarget, role: Role) -> Result<Self, OpenError> {
        let (server, session) = Server::connect(target)?;
        migrate::run(session, target, &role.origin())?;
        Ok(Self { server: Arc::new(server), changes: OnceLock::new() })
    }

    /// Runs statements that read, without a transaction around them.
    pub(super) fn read<T>(&self, wait: Duration, work: impl FnOnce(&mut Tx<'_>) -> Result<T>) -> Result<T> {
        self.server.with(&self.server.reading, wait, |session| work(&mut Tx::Postgres(session)))
    }

    /// Runs statements in one transaction. Rolls it back if `work` fails, or if `keep` returns `false` for its outcome.
    pub(super) fn write<T>(
        &self,
        operation: Operation,
        keep: impl FnOnce(&T) -> bool,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T>,
    ) -> Result<T> {
        // A request bounds how long the statements of its transaction may take together.
        let limit = (operation.wait < BACKGROUND_WAIT).then_some(TRANSACTION);
        self.server.with(&self.server.writing, operation.wait, |session| {
            session.transaction(limit, keep, |session| work(&mut Tx::Postgres(session)))
        })
    }

    /// Runs one statement that writes, in a transaction of its own and in one round trip.
    pub(super) fn change(
        &self,
        operation: Operation,
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>> {
        self.server.with(&self.server.writing, operation.wait, |session| {
            session.rows(sql, values).map_err(StorageError::unconfirmed)
        })
    }

    /// Checks that the database answers and that keys can be read.
    pub(super) fn check(&self) -> Result<()> {
        // Every request with a key would wait for these locks. A trial would wait, too.
        let locks = "SELECT 1 FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock' \
             AND relation IN (to_regclass('accounts'), to_regclass('api_keys')) \
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        self.server.with(&self.server.health, PING_WAIT, |session| {
            match session.rows(locks, Vec::new())?.is_empty() {
                true => Ok(()),
                false => {
                    Err(StorageError::contended("another program has locked the accounts or their keys"))
                }
            }
        })
    }

    /// Notifies other instances, after a short time, that a driver's write to a run was committed.
    pub(super) fn publish(&self, run: RunId, epoch: u64) {
        if let Some(changes) = self.changes.get() {
            // The thread ends only with this database.
            let _ = changes.send((run, epoch));
        }
    }

    /// Starts the threads that send and receive notifications.
    pub(super) fn listen(&self, subscriber: Weak<dyn Subscriber>) -> Result<()> {
        let listener = Listener { server: Arc::clone(&self.server), subscriber };
        start("postgres-listen", move || listener.run())?;
        let (sender, receiver) = mpsc::channel();
        if self.changes.set(sender).is_ok() {
            let server = Arc::clone(&self.server);
            start("postgres-publish", move || publish(&server, &receiver))?;
        }
        Ok(())
    }

    /// Returns the numbers of connections in use, idle, and allowed.
    pub(super) fn load(&self) -> [usize; 3] {
        let Server { reading, writing, health, .. } = &*self.server;
        let pools = [reading, writing, health].map(Pool::load);
        [0, 1, 2].map(|figure| pools.iter().map(|pool| pool[figure]).sum())
    }

    /// Returns whether the server is unreachable as far as is known.
    pub(super) fn is_lost(&self) -> bool {
        self.server.is_lost()
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new().name(name.into()).spawn(work).map(drop).map_err(StorageError::unavailable)
}
