//! The adapter between the store's operations and the two databases.
//!
//! # Statements
//! Each statement is written once, for both databases. Its parameters are numbered `?1`, `?2`, …; PostgreSQL gets
//! them as `$1`. Where the databases differ:
//!
//! | written | SQLite | PostgreSQL |
//! |---|---|---|
//! | `/*pg TEXT */` | a comment | `TEXT`: row locks and casts, which SQLite needs none of |
//! | `now() + ms(N)` | functions of this program | N milliseconds from now, by the server's clock |
//! | `clock_timestamp()` | a function of this program: milliseconds | the server's clock at this moment |
//! | `json_each(?N)` with `value` | built in | `json_array_elements` |
//! | `uuid(TEXT)`, `decode(TEXT, 'hex')`, `to_timestamp(SECONDS)` | functions of this program | built in |
//! | `greatest`, `least`, `strpos`, `lower`, `date_trunc` | functions of this program | built in |
//!
//! Several rows are written by one statement, which takes them as one parameter: an array in JSON.

use std::sync::Weak;
use std::time::Duration;

use super::limits::{BACKGROUND_WAIT, REQUEST_WAIT};
use super::value::{FromRow, Row, Value};
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::{Notification, Subscriber};

/// An operation of the store: its name in the metrics, and the way in which the database must run it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    /// The time for which the operation waits for a connection.
    pub(super) wait: Duration,
    pub(super) durability: Durability,
    /// Whether the operation deletes data that must leave no trace on the disk.
    pub(super) erases: bool,
}

/// Whether a commit is on the disk when the call returns. On PostgreSQL it always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// The commit survives a power cut.
    Full,
    /// The commit survives a crash of the process, but not a power cut.
    Process,
}

impl Operation {
    /// Returns an operation of a request.
    pub(super) const fn new(name: &'static str) -> Self {
        Self { name, wait: REQUEST_WAIT, durability: Durability::Full, erases: false }
    }

    /// Changes the operation to one of a thread that serves no request.
    pub(super) const fn in_background(self) -> Self {
        Self { wait: BACKGROUND_WAIT, ..self }
    }

    /// Allows a power cut to undo the operation: its commit does not wait for the disk.
    pub(super) const fn light(self) -> Self {
        Self { durability: Durability::Process, ..self }
    }

    /// Marks the operation as deleting data that must leave no trace on the disk.
    pub(super) const fn erasing(self) -> Self {
        Self { erases: true, ..self }
    }

    /// Sets the time for which the operation waits for a connection.
    pub(super) const fn within(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }
}

/// A connection that runs statements. Each statement is a constant of this program and stays prepared.
pub(super) trait Statements {
    /// Runs a statement and returns its rows.
    fn rows(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, StorageError>;

    /// Runs a statement and returns the number of rows that it changed.
    fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, StorageError>;

    /// Notifies other instances when the transaction commits. SQLite has no other instances.
    fn announce(&mut self, notification: Notification) -> Result<(), StorageError>;
}

impl dyn Statements + '_ {
    /// Runs a statement and reads its rows.
    pub(super) fn all<T: FromRow>(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, StorageError> {
        self.rows(sql, values)?.iter().map(Row::read).collect()
    }

    /// Runs a statement and reads its first row, if it returns one.
    pub(super) fn first<T: FromRow>(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<T>, StorageError> {
        self.rows(sql, values)?.first().map(Row::read).transpose()
    }

    /// Runs a statement and returns whether it returns a row.
    pub(super) fn has(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<bool, StorageError> {
        Ok(!self.rows(sql, values)?.is_empty())
    }
}

/// The end of a transaction whose work succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The changes of the transaction are kept.
    Commit,
    /// The changes of the transaction are undone.
    RollBack,
}

/// The work of a transaction.
pub(super) type Work<'a> = &'a mut dyn FnMut(&mut dyn Statements) -> Result<End, StorageError>;

/// A database.
pub(super) trait Backend: Send + Sync + 'static {
    /// Runs statements that read, without a transaction around them.
    fn read(&self, operation: &Operation, work: Work<'_>) -> Result<(), StorageError>;

    /// Runs statements in one transaction, and ends it as `work` says; rolls it back if `work` fails.
    fn write(&self, operation: &Operation, work: Work<'_>) -> Result<(), StorageError>;

    /// Runs one statement that writes, in a transaction of its own. Returns the rows that it returns.
    fn change(
        &self,
        operation: &Operation,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StorageError> {
        let mut found = Vec::new();
        self.write(operation, &mut |statements| {
            found = statements.rows(sql, values)?;
            Ok(End::Commit)
        })?;
        Ok(found)
    }

    /// Checks that the database answers and that keys can be read.
    fn check(&self) -> Result<(), StorageError>;

    /// Returns the numbers of connections in use, idle, and allowed.
    fn load(&self) -> [usize; 3];

    /// Returns whether the database is unreachable, damaged or missing as far as is known.
    fn is_impaired(&self) -> bool;

    /// Records that an operation failed, which may indicate a problem of the whole database. Returns the error for the
    /// caller.
    fn note_failure(&self, failure: StorageError) -> StorageError {
        failure
    }

    /// Notifies other instances, after a short time, that a driver's write to a run was committed.
    fn publish(&self, _run: RunId, _epoch: u64) {}

    /// Delivers notifications: see [`Store::listen`](crate::store::Store::listen).
    fn listen(&self, _subscriber: Weak<dyn Subscriber>) -> Result<bool, StorageError> {
        Ok(false)
    }

    /// Removes deleted data from other places: see [`Retention::wipe`](crate::store::Store::wipe).
    fn wipe(&self) -> Result<bool, StorageError> {
        Ok(true)
    }

    /// Records that a deleted account was removed completely.
    fn account_erased(&self) {}
}
