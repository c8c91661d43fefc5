//! [`Store`]: the open database with the metrics of its operations. Its operations are in `queries`.

use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Instant;

use log::warn;
use parking_lot::Mutex;

use super::error::Result;
use super::limits::{BACKGROUND_WAIT, PING_WAIT, TRIAL_WAIT, WIPE_WAIT};
use super::outage::Outage;
use super::pool::{Place, Pool};
use super::postgres::Server;
use super::sqlite::{self, DatabaseFile};
use super::tx::{Operation, Tx};
use super::value::{FromRow, Row, Value};
use crate::base::count::{Counter, DurationHistogram};
use crate::base::storage::StorageError;
use crate::model::audit::{AuditEvent, Origin};
use crate::model::drive::Subscriber;

/// Returns a row if another program has locked what every request with a key needs. A trial would wait for these locks.
const LOCKED: &str = "SELECT 1 FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock' \
     AND relation IN (to_regclass('accounts'), to_regclass('api_keys')) \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// An open database, SQLite or PostgreSQL. Every operation is one transaction.
pub struct Store {
    backend: Backend,
    reading: Pool,
    pub(super) writing: Pool,
    /// For health checks, which wait for nobody.
    health: Pool,
    operations: Mutex<BTreeMap<&'static str, Arc<OperationMetrics>>>,
    outage: Outage,
    before_each: Mutex<Option<Arc<Hook>>>,
}

/// What connections lead to.
pub(super) enum Backend {
    /// An SQLite database in memory, with one connection.
    Memory,
    Sqlite(Box<DatabaseFile>),
    Postgres(Arc<Server>),
}

/// The load of a database at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLoad {
    /// The number of connections in use.
    pub used: usize,
    /// The number of connections that are open and idle.
    pub idle: usize,
    /// The maximum number of connections.
    pub max: usize,
    /// Whether the database is known to be unavailable, or a write was refused lately.
    pub is_unavailable: bool,
}

/// The metrics of one operation that was used at least once.
#[derive(Debug, Default)]
pub struct OperationMetrics {
    /// The durations of the operation, failures included.
    pub durations: DurationHistogram,
    /// The number of times that the operation failed because the store was unavailable.
    pub unavailable: Counter,
    /// The number of times that the operation failed because of a defect in the data or in a statement.
    pub broken: Counter,
}

/// What a test runs before an operation, of which it gets the name. If it fails, so does the operation.
type Hook = dyn Fn(&'static str) -> Result<()> + Send + Sync;

impl Store {
    /// Creates a store with at most these numbers of connections for reading, for writing and for health checks.
    pub(super) fn on(backend: Backend, connections: [usize; 3]) -> Arc<Self> {
        let ([reading, writing, health], (operations, outage, before_each)) =
            (connections.map(Pool::new), Default::default());
        Arc::new(Self { backend, reading, writing, health, operations, outage, before_each })
    }

    /// Returns the metrics of all operations since the start, sorted by name.
    pub fn operations(&self) -> Vec<(&'static str, Arc<OperationMetrics>)> {
        self.operations.lock().iter().map(|(name, metrics)| (*name, Arc::clone(metrics))).collect()
    }

    /// Returns how busy the database is at this moment, without a query and without waiting.
    pub fn load(&self) -> StoreLoad {
        let pools = [&self.reading, &self.writing, &self.health].map(Pool::load);
        let [used, idle, max] = [0, 1, 2].map(|figure| pools.iter().map(|pool| pool[figure]).sum());
        let is_impaired = match &self.backend {
            Backend::Memory => false,
            Backend::Sqlite(file) => file.check().is_err(),
            Backend::Postgres(server) => server.is_lost(),
        };
        StoreLoad { used, idle, max, is_unavailable: is_impaired || self.outage.has_refused_write() }
    }

    /// Checks that the database answers, that keys can be read and that no write is known to be refused. Nothing
    /// is written unless a write was refused before.
    ///
    /// # Errors
    /// Returns an error if one of that fails.
    pub fn ping(&self) -> Result<()> {
        let sql = match self.backend {
            Backend::Postgres(_) => LOCKED,
            _ => "SELECT 1 FROM schema_version WHERE version < 0",
        };
        self.measured(Operation::from("ping").within(PING_WAIT), &self.health, |tx| {
            match tx.has(sql, Vec::new())? {
                false => Ok(()),
                true => Err(StorageError::contended("another program has locked the accounts or their keys")),
            }
        })?;
        self.outage.check(|| {
            let trial = "UPDATE schema_version SET name = name WHERE version = 23";
            self.change(Operation::from("trial").within(TRIAL_WAIT), trial, Vec::new()).map(drop)
        })
    }

    /// Delivers notifications of this and other processes to `subscriber` as long as it exists. The first one is
    /// [`Notification::Connected`](crate::model::drive::Notification::Connected), which is sent when the subscription
    /// is established. Returns `false` if the store serves only one process and sends no notifications.
    pub fn listen(&self, subscriber: Weak<dyn Subscriber>) -> Result<bool> {
        let Backend::Postgres(server) = &self.backend else { return Ok(false) };
        server.listen(subscriber).map(|()| true)
    }

    /// Runs an operation on one of these connections, and records its duration and its outcome.
    // What does not depend on the operation is in separate functions, since the compiler makes a copy of this one for
    // each operation.
    fn measured<T>(
        &self,
        operation: Operation,
        pool: &Pool,
        work: impl FnOnce(&mut Tx) -> Result<T>,
    ) -> Result<T> {
        let began = Instant::now();
        let hook = self.before_each.lock().clone();
        let done = hook.map_or(Ok(()), |hook| hook(operation.name)).and_then(|()| {
            let (mut tx, place) = self.take(pool, operation)?;
            let done = work(&mut tx);
            place.give_back(tx);
            done
        });
        let done = done.map_err(|error| match &self.backend {
            Backend::Sqlite(file) => file.note_failure(error),
            _ => error,
        });
        self.record(operation.name, ptr::eq(pool, &self.writing), began, done.as_ref().err());
        done
    }

    /// Takes a connection whose server answers, or to a file that may be written.
    fn take<'p>(&self, pool: &'p Pool, operation: Operation) -> Result<(Tx, Place<'p>)> {
        match &self.backend {
            Backend::Sqlite(file) if !ptr::eq(pool, &self.reading) => file.check()?,
            Backend::Postgres(server) => server.check()?,
            _ => {}
        }
        let (mut tx, place) = pool.take(operation.wait, &|| match &self.backend {
            Backend::Memory => Err(StorageError::broken("the database in memory is lost")),
            Backend::Sqlite(file) => sqlite::connect(&file.path),
            Backend::Postgres(server) => server.session().map(Tx::Postgres),
        })?;
        if let (Backend::Postgres(server), Tx::Postgres(session)) = (&self.backend, &mut tx)
            && let Err(error) = server.refresh(session, if operation.has_begun { "BEGIN" } else { "" })
        {
            place.give_back(tx);
            return Err(error);
        }
        Ok((tx, place))
    }

    // This is called every second, most of the time with nothing to do, so metrics of it would be useless.
    /// Removes deleted data from other places of the store, such as a log, without blocking others for more than a
    /// moment. Returns `false` if others were in the way and the call must be repeated. A PostgreSQL server manages
    /// its own log.
    pub fn wipe(&self) -> Result<bool> {
        let Backend::Sqlite(file) = &self.backend else { return Ok(true) };
        let wiped = self.empty_log(file);
        self.outage.note("wipe", true, wiped.as_ref().err(), Instant::now());
        wiped
    }

    /// Empties the write-ahead log of a file if it may hold deleted data, while all writers wait. Returns `false` if readers
    /// blocked this.
    fn empty_log(&self, file: &DatabaseFile) -> Result<bool> {
        // This is called every second, so a file that was removed is noticed even without requests.
        file.check()?;
        if !file.has_traces.swap(false, Ordering::SeqCst) {
            return Ok(true);
        }
        let wait = if file.lock.is_some() { WIPE_WAIT } else { BACKGROUND_WAIT };
        let taken = self.take(&self.writing, Operation::from("wipe").within(wait));
        let emptied = taken.and_then(|(mut tx, place)| {
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            let emptied = tx.give_way(wait).and_then(|()| tx.first(sql, Vec::new()));
            place.give_back(tx);
            Ok(emptied? == Some(false))
        });
        let emptied = emptied.or_else(|error| if error.is_contended() { Ok(false) } else { Err(error) });
        file.has_traces.fetch_or(!matches!(emptied, Ok(true)), Ordering::SeqCst);
        emptied
    }

    /// Lets a test fail operations, or act before them.
    #[doc(hidden)]
    pub fn before_each(&self, hook: impl Fn(&'static str) -> Result<()> + Send + Sync + 'static) {
        *self.before_each.lock() = Some(Arc::new(hook));
    }

    /// Runs statements that read, without a transaction around them.
    pub(super) fn read<T>(
        &self,
        operation: impl Into<Operation>,
        work: impl FnOnce(&mut Tx) -> Result<T>,
    ) -> Result<T> {
        let pool = if matches!(self.backend, Backend::Memory) { &self.writing } else { &self.reading };
        self.measured(operation.into(), pool, work)
    }

    /// Runs one statement that reads, and reads its rows.
    pub(super) fn all<T: FromRow>(
        &self,
        operation: impl Into<Operation>,
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<T>> {
        self.read(operation, |tx| tx.all(sql, values))
    }

    /// Runs one statement that reads, and reads its first row, if it returns one.
    pub(super) fn first<T: FromRow>(
        &self,
        operation: impl Into<Operation>,
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Option<T>> {
        self.read(operation, |tx| tx.first(sql, values))
    }

    /// Runs statements in one transaction. Rolls it back if `work` fails.
    pub(super) fn write<T>(
        &self,
        operation: impl Into<Operation>,
        work: impl FnOnce(&mut Tx) -> Result<T>,
    ) -> Result<T> {
        self.write_if(operation, |_| true, work)
    }

    /// Runs statements in one transaction. Rolls it back if `work` fails, or if `keep` returns `false` for its outcome.
    pub(super) fn write_if<T>(
        &self,
        operation: impl Into<Operation>,
        keep: impl FnOnce(&T) -> bool,
        work: impl FnOnce(&mut Tx) -> Result<T>,
    ) -> Result<T> {
        let operation = Operation { has_begun: true, ..operation.into() };
        let done = self.measured(operation, &self.writing, |tx| tx.transaction(operation, keep, work));
        if let (true, Backend::Sqlite(file)) = (operation.erases, &self.backend) {
            // This is also done if the commit failed, because the deleted data may be in the log.
            file.has_traces.store(true, Ordering::SeqCst);
            // A server's maintenance empties the log within a second.
            if file.lock.is_none() && !matches!(self.empty_log(file), Ok(true)) {
                warn!(
                    "the write-ahead log still holds deleted data, because another process uses it; it is emptied later"
                );
            }
        }
        done
    }

    /// Runs one statement that writes, in its own transaction. Returns the rows that it returns. PostgreSQL gets it in one
    /// round trip.
    pub(super) fn change(
        &self,
        operation: impl Into<Operation>,
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>> {
        let operation = operation.into();
        if !matches!(self.backend, Backend::Postgres(_)) {
            return self.write(operation, |tx| tx.rows::<()>(sql, values));
        }
        self.measured(operation, &self.writing, |tx| {
            tx.rows::<()>(sql, values).map_err(StorageError::unconfirmed)
        })
    }

    /// Runs one statement that writes, and reads the row that it returns. Adds an entry to the audit if there is one.
    pub(super) fn noted<T: FromRow>(
        &self,
        operation: impl Into<Operation>,
        sql: &'static str,
        values: Vec<Value>,
        event: &AuditEvent,
        by: &Origin,
    ) -> Result<Option<T>> {
        self.write(operation, |tx| {
            let changed = tx.first(sql, values)?;
            if changed.is_some() {
                tx.note(event, by)?;
            }
            Ok(changed)
        })
    }

    fn record(&self, name: &'static str, writes: bool, began: Instant, failure: Option<&StorageError>) {
        let metrics = Arc::clone(self.operations.lock().entry(name).or_default());
        metrics.durations.note(began.elapsed());
        if let Some(failure) = failure {
            if failure.is_unavailable() { &metrics.unavailable } else { &metrics.broken }.one();
        }
        self.outage.note(name, writes, failure, Instant::now());
    }
}
