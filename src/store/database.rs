//! [`Store`]: the open database with its metrics. Its operations are in `queries`.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::backend::{Backend, End, Operation, Statements, Work};
use super::limits::TRIAL_WAIT;
use super::metrics::StoreMetrics;
use super::outage::Outage;
use super::value::{FromRow, Row, Value};
use crate::base::storage::StorageError;

/// An open database, SQLite or PostgreSQL. Every operation is one transaction.
pub struct Store {
    pub(super) backend: Box<dyn Backend>,
    metrics: StoreMetrics,
    outage: Outage,
    before_each: Mutex<Option<Arc<Hook>>>,
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
    /// Whether the database is unavailable as far as is known, or a write was refused lately.
    pub is_unavailable: bool,
}

/// What a test runs before an operation, of which it gets the name. If it fails, so does the operation.
type Hook = dyn Fn(&'static str) -> Result<(), StorageError> + Send + Sync;

impl Store {
    pub(super) fn on(backend: impl Backend) -> Self {
        Self {
            backend: Box::new(backend),
            metrics: StoreMetrics::default(),
            outage: Outage::default(),
            before_each: Mutex::default(),
        }
    }

    /// Returns the metrics of all operations since the start.
    pub fn metrics(&self) -> &StoreMetrics {
        &self.metrics
    }

    /// Returns how busy the database is at this moment, without a query and without waiting.
    pub fn load(&self) -> StoreLoad {
        let [used, idle, max] = self.backend.load();
        let is_unavailable = self.backend.is_impaired() || self.outage.has_refused_write();
        StoreLoad { used, idle, max, is_unavailable }
    }

    /// Checks that the database answers, that keys can be read and, as far as is known, that writes are accepted. Nothing
    /// is written unless a write was refused before.
    ///
    /// # Errors
    /// Returns an error if one of that fails.
    pub fn ping(&self) -> Result<(), StorageError> {
        self.measured("ping", false, || self.backend.check())?;
        self.outage.check(|| {
            let trial = "UPDATE schema_version SET name = name WHERE version = 23";
            self.change(Operation::new("trial").within(TRIAL_WAIT), trial, &[]).map(drop)
        })
    }

    /// Lets a test fail operations, or act before them.
    #[doc(hidden)]
    pub fn before_each(
        &self,
        hook: impl Fn(&'static str) -> Result<(), StorageError> + Send + Sync + 'static,
    ) {
        *self.before_each.lock() = Some(Arc::new(hook));
    }

    /// Runs statements that read, without a transaction around them.
    pub(super) fn read<T>(
        &self,
        operation: Operation,
        work: impl FnOnce(&mut dyn Statements) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        self.measured(operation.name, false, || {
            once(work, |_| true, |work| self.backend.read(&operation, work))
        })
    }

    /// Runs one statement that reads, and reads its rows.
    pub(super) fn all<T: FromRow>(
        &self,
        operation: Operation,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, StorageError> {
        self.read(operation, |statements| statements.all(sql, values))
    }

    /// Runs one statement that reads, and reads its first row, if it returns one.
    pub(super) fn first<T: FromRow>(
        &self,
        operation: Operation,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<T>, StorageError> {
        self.read(operation, |statements| statements.first(sql, values))
    }

    /// Runs statements in one transaction. Rolls it back if `work` fails.
    pub(super) fn write<T>(
        &self,
        operation: Operation,
        work: impl FnOnce(&mut dyn Statements) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        self.write_if(operation, |_| true, work)
    }

    /// Runs statements in one transaction. Rolls it back if `work` fails, or if `keep` returns `false` for its outcome.
    pub(super) fn write_if<T>(
        &self,
        operation: Operation,
        keep: impl FnOnce(&T) -> bool,
        work: impl FnOnce(&mut dyn Statements) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        self.measured(operation.name, true, || once(work, keep, |work| self.backend.write(&operation, work)))
    }

    /// Runs one statement that writes, in a transaction of its own. Returns the rows that it returns.
    pub(super) fn change(
        &self,
        operation: Operation,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StorageError> {
        self.measured(operation.name, true, || self.backend.change(&operation, sql, values))
    }

    /// Records the duration and the outcome of an operation.
    pub(super) fn measured<T>(
        &self,
        name: &'static str,
        writes: bool,
        work: impl FnOnce() -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let began = Instant::now();
        let hook = self.before_each.lock().clone();
        let done = hook.map_or(Ok(()), |hook| hook(name)).and_then(|()| work());
        self.metrics.note(name, began.elapsed(), done.as_ref().err());
        self.outage.note(name, writes, &done);
        done.map_err(|error| self.backend.note_failure(error))
    }
}

/// Wraps a `run` so that it can call `work` through a reference. Returns the outcome of `work`.
fn once<T>(
    work: impl FnOnce(&mut dyn Statements) -> Result<T, StorageError>,
    keep: impl FnOnce(&T) -> bool,
    run: impl FnOnce(Work<'_>) -> Result<(), StorageError>,
) -> Result<T, StorageError> {
    let (mut work, mut outcome) = (Some((work, keep)), None);
    run(&mut |statements| {
        let (work, keep) =
            work.take().ok_or_else(|| StorageError::broken("a transaction was begun twice"))?;
        let done = work(statements)?;
        let end = if keep(&done) { End::Commit } else { End::RollBack };
        outcome = Some(done);
        Ok(end)
    })?;
    outcome.ok_or_else(|| StorageError::broken("a transaction was not run"))
}
