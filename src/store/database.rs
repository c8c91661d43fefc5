//! [`Store`]: the open database with the metrics of its operations. Its operations are in `queries`.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::error::Result;
use super::limits::TRIAL_WAIT;
use super::outage::Outage;
use super::queries::fragments::complete;
use super::tx::{Operation, Tx};
use super::value::{FromRow, Row, Value};
use super::{postgres, sqlite};
use crate::base::count::{Counter, DurationHistogram};
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::audit::{AuditEvent, Origin};
use crate::model::drive::Subscriber;

/// An open database, SQLite or PostgreSQL. Every operation is one transaction.
pub struct Store {
    backend: Backend,
    operations: Mutex<BTreeMap<&'static str, Arc<OperationMetrics>>>,
    outage: Outage,
    before_each: Mutex<Option<Arc<Hook>>>,
}

/// The two kinds of databases.
pub(super) enum Backend {
    Sqlite(Box<sqlite::Database>),
    Postgres(Arc<postgres::Database>),
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
    pub(super) fn on(backend: Backend) -> Arc<Self> {
        let (operations, outage, before_each) = Default::default();
        Arc::new(Self { backend, operations, outage, before_each })
    }

    /// Returns the metrics of all operations since the start, sorted by name.
    pub fn operations(&self) -> Vec<(&'static str, Arc<OperationMetrics>)> {
        self.operations.lock().iter().map(|(name, metrics)| (*name, Arc::clone(metrics))).collect()
    }

    /// Returns how busy the database is at this moment, without a query and without waiting.
    pub fn load(&self) -> StoreLoad {
        let ([used, idle, max], is_impaired) = match &self.backend {
            Backend::Sqlite(database) => (database.load(), database.is_impaired()),
            Backend::Postgres(database) => (database.load(), database.is_lost()),
        };
        StoreLoad { used, idle, max, is_unavailable: is_impaired || self.outage.has_refused_write() }
    }

    /// Checks that the database answers, that keys can be read and that no write is known to be refused. Nothing
    /// is written unless a write was refused before.
    ///
    /// # Errors
    /// Returns an error if one of that fails.
    pub fn ping(&self) -> Result<()> {
        self.measured("ping", false, || match &self.backend {
            Backend::Sqlite(database) => database.check(),
            Backend::Postgres(database) => database.check(),
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
        self.measured("listen", false, || match &self.backend {
            Backend::Sqlite(_) => Ok(false),
            Backend::Postgres(database) => database.listen(subscriber).map(|()| true),
        })
    }

    /// Notifies other instances, after a short time, that a driver's write to a run was committed.
    pub(super) fn publish(&self, run: RunId, epoch: u64) {
        if let Backend::Postgres(database) = &self.backend {
            database.publish(run, epoch);
        }
    }

    // This is called every second, most of the time with nothing to do, so metrics of it would be useless.
    /// Removes deleted data from other places of the store, such as a log, without blocking others for more than a
    /// moment. Returns `false` if others were in the way and the call must be repeated. A PostgreSQL server manages
    /// its own log.
    pub fn wipe(&self) -> Result<bool> {
        let Backend::Sqlite(database) = &self.backend else { return Ok(true) };
        let wiped = database.wipe();
        self.outage.note("wipe", true, wiped.as_ref().err(), Instant::now());
        wiped
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
        work: impl FnOnce(&mut Tx<'_>) -> Result<T>,
    ) -> Result<T> {
        let Operation { name, wait, .. } = operation.into();
        self.measured(name, false, || match &self.backend {
            Backend::Sqlite(database) => database.read(wait, work),
            Backend::Postgres(database) => database.read(wait, work),
        })
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
        work: impl FnOnce(&mut Tx<'_>) -> Result<T>,
    ) -> Result<T> {
        self.write_if(operation, |_| true, work)
    }

    /// Runs statements in one transaction. Rolls it back if `work` fails, or if `keep` returns `false` for its outcome.
    pub(super) fn write_if<T>(
        &self,
        operation: impl Into<Operation>,
        keep: impl FnOnce(&T) -> bool,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T>,
    ) -> Result<T> {
        let operation = operation.into();
        self.measured(operation.name, true, || match &self.backend {
            Backend::Sqlite(database) => database.write(operation, keep, work),
            Backend::Postgres(database) => database.write(operation, keep, work),
        })
    }

    /// Runs one statement that writes, in its own transaction. Returns the rows that it returns.
    pub(super) fn change(
        &self,
        operation: impl Into<Operation>,
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>> {
        let (operation, sql) = (operation.into(), complete::<()>(sql));
        self.measured(operation.name, true, || match &self.backend {
            Backend::Sqlite(database) => database.write(operation, |_| true, |tx| tx.rows::<()>(sql, values)),
            Backend::Postgres(database) => database.change(operation, sql, values),
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

    /// Records the duration and the outcome of an operation.
    fn measured<T>(&self, name: &'static str, writes: bool, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let began = Instant::now();
        let hook = self.before_each.lock().clone();
        let done = hook.map_or(Ok(()), |hook| hook(name)).and_then(|()| work());
        let done = done.map_err(|error| match &self.backend {
            Backend::Sqlite(database) => database.note_failure(error),
            Backend::Postgres(_) => error,
        });
        let metrics = Arc::clone(self.operations.lock().entry(name).or_default());
        metrics.note(began.elapsed(), done.as_ref().err());
        self.outage.note(name, writes, done.as_ref().err(), Instant::now());
        done
    }
}

impl OperationMetrics {
    fn note(&self, took: Duration, failure: Option<&StorageError>) {
        self.durations.note(took);
        if let Some(failure) = failure {
            if failure.is_unavailable() { &self.unavailable } else { &self.broken }.one();
        }
    }
}
