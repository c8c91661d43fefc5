//! [`Tx`]: a connection on which the operations of the store run their statements.
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
//! | `uuid(TEXT)` | a function of this program | built in |
//! | `greatest`, `least`, `strpos`, `lower` | functions of this program | built in |
//!
//! `{NAME}` means a piece that several statements share: see [`fragments`](super::queries::fragments).
//!
//! Several rows are written by one statement, which takes them as one parameter: an array in JSON.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params_from_iter};

use super::document::encode;
use super::error::Result;
use super::limits::{BACKGROUND_WAIT, REQUEST_WAIT, SQLITE_BUSY, TRANSACTION};
use super::postgres::Session;
use super::queries::fragments::complete;
use super::value::{FromRow, Row, Value, values};
use crate::base::ids::RequestId;
use crate::base::storage::StorageError;
use crate::model::audit::{AuditEvent, Origin};
use crate::model::drive::Notification;

/// An operation of the store: its name in the metrics, and the way in which the database must run it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    /// The time for which the operation waits for a connection.
    pub(super) wait: Duration,
    /// Whether a power cut may undo the operation: its commit does not wait for the disk. On PostgreSQL it always does.
    pub(super) is_light: bool,
    /// Whether the operation deletes data that must leave no trace on the disk.
    pub(super) erases: bool,
    /// Whether the check of a connection to PostgreSQL begins the transaction.
    pub(super) has_begun: bool,
}

/// An operation of a request.
impl From<&'static str> for Operation {
    fn from(name: &'static str) -> Self {
        Self { name, wait: REQUEST_WAIT, is_light: false, erases: false, has_begun: false }
    }
}

/// Returns an operation of a thread that serves no request.
pub(super) fn background(name: &'static str) -> Operation {
    Operation { wait: BACKGROUND_WAIT, ..name.into() }
}

impl Operation {
    pub(super) fn light(self) -> Self {
        Self { is_light: true, ..self }
    }

    pub(super) fn erasing(self) -> Self {
        Self { erases: true, ..self }
    }

    pub(super) fn within(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }
}

/// A connection, in a transaction or without one. Each statement is a constant of this program and stays prepared.
pub(super) enum Tx {
    Sqlite(Connection),
    Postgres(Session),
}

impl Tx {
    /// Runs a statement. Returns its rows, which can be read as `T`, and the number of rows that it has changed, if it
    /// writes.
    fn run<T: FromRow>(&mut self, sql: &'static str, values: Vec<Value>) -> Result<(Vec<Row>, u64)> {
        let sql = complete::<T>(sql);
        match self {
            Self::Sqlite(on) => {
                let mut statement = on.prepare_cached(sql)?;
                let columns = statement.column_count();
                let rows = statement.query_map(params_from_iter(values), |row| {
                    (0..columns).map(|column| row.get(column)).collect::<Result<_, _>>().map(Row::new)
                })?;
                let rows = rows.collect::<Result<_, _>>()?;
                Ok((rows, on.changes()))
            }
            Self::Postgres(session) => session.run(sql, values),
        }
    }

    /// Runs a statement and returns its rows, which can be read as `T`.
    pub(super) fn rows<T: FromRow>(&mut self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>> {
        self.run::<T>(sql, values).map(|(rows, _)| rows)
    }

    /// Runs a statement that writes, and returns the number of rows that it has changed.
    pub(super) fn execute(&mut self, sql: &'static str, values: Vec<Value>) -> Result<u64> {
        self.run::<()>(sql, values).map(|(_, changed)| changed)
    }

    /// Runs statements without parameters, which are written for each database.
    pub(super) fn batch(&mut self, sqlite: &'static str, postgres: &'static str) -> Result<()> {
        match self {
            Self::Sqlite(on) => Ok(on.execute_batch(sqlite)?),
            Self::Postgres(session) => session.batch(postgres),
        }
    }

    /// Runs `work` in a transaction, which on SQLite holds the write lock from its start. It is rolled back if that fails, or
    /// if `keep` returns `false` for its outcome.
    ///
    /// # Errors
    /// Returns the errors of `work`, and an [unconfirmed](StorageError::is_unconfirmed) error if the answer to the commit
    /// was lost. The commit may have been made then.
    pub(super) fn transaction<T>(
        &mut self,
        operation: Operation,
        keep: impl FnOnce(&T) -> bool,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.begin(operation)?;
        let done = work(self);
        if let Self::Postgres(session) = self {
            session.until = None;
        }
        let ended = match done.as_ref().is_ok_and(keep) {
            true => self
                .batch("COMMIT", "COMMIT")
                .map_err(StorageError::unconfirmed)
                .inspect_err(|_| drop(self.roll_back())),
            false => self.roll_back(),
        };
        // The caller gets the first error.
        done.and_then(|outcome| ended.map(|()| outcome))
    }

    fn begin(&mut self, operation: Operation) -> Result<()> {
        self.give_way(operation.wait)?;
        match self {
            Self::Sqlite(on) => on.execute_batch(match operation.is_light {
                true => "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE",
                false => "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
            })?,
            Self::Postgres(session) => {
                if !operation.has_begun {
                    session.batch("BEGIN")?;
                }
                // A request bounds how long the statements of its transaction may take together.
                session.until = (operation.wait < BACKGROUND_WAIT).then(|| Instant::now() + TRANSACTION);
            }
        }
        Ok(())
    }

    /// Bounds how long SQLite waits for another process, besides [`SQLITE_BUSY`].
    pub(super) fn give_way(&mut self, wait: Duration) -> Result<()> {
        if let Self::Sqlite(on) = self { Ok(on.busy_timeout(wait.min(SQLITE_BUSY))?) } else { Ok(()) }
    }

    /// Ends the transaction if it is still open.
    fn roll_back(&mut self) -> Result<()> {
        match self {
            Self::Sqlite(on) if on.is_autocommit() => Ok(()),
            Self::Sqlite(on) => Ok(on.execute_batch("ROLLBACK")?),
            Self::Postgres(session) => session.roll_back(),
        }
    }

    /// Returns whether the connection can no longer be used: it was closed, or a transaction on it could not be ended, for
    /// example because the disk was full.
    pub(super) fn is_broken(&self) -> bool {
        match self {
            Self::Sqlite(on) => !on.is_autocommit(),
            Self::Postgres(session) => session.is_broken(),
        }
    }

    /// Runs a statement and reads its rows.
    pub(super) fn all<T: FromRow>(&mut self, sql: &'static str, values: Vec<Value>) -> Result<Vec<T>> {
        self.rows::<T>(sql, values)?.iter_mut().map(Row::read).collect()
    }

    /// Runs a statement and reads its first row, if it returns one.
    pub(super) fn first<T: FromRow>(&mut self, sql: &'static str, values: Vec<Value>) -> Result<Option<T>> {
        self.rows::<T>(sql, values)?.first_mut().map(Row::read).transpose()
    }

    /// Runs a statement that always returns a row, and reads it.
    pub(super) fn one<T: FromRow>(&mut self, sql: &'static str, values: Vec<Value>) -> Result<T> {
        self.first(sql, values)?.ok_or_else(|| StorageError::broken("a statement has returned no row"))
    }

    /// Runs a statement and returns whether it returns a row.
    pub(super) fn has(&mut self, sql: &'static str, values: Vec<Value>) -> Result<bool> {
        Ok(!self.rows::<()>(sql, values)?.is_empty())
    }

    /// Notifies other instances when the transaction commits, of a rare change that must not be missed. SQLite has no
    /// other instances.
    pub(super) fn announce(&mut self, notification: Notification) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(session) => {
                let text = encode(&notification)?;
                session.run("SELECT pg_notify('sightline', ?1)", values![text]).map(drop)
            }
        }
    }

    /// Adds an entry to the audit, which is dated by the database's clock.
    pub(super) fn note(&mut self, event: &AuditEvent, by: &Origin) -> Result<()> {
        const INSERT: &str = "INSERT INTO audit (at, actor, actor_id, action, account, object, request, detail) \
             VALUES ({now}, ?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let detail = (!event.detail.is_empty()).then(|| encode(&event.detail)).transpose()?;
        let (kind, id, action) = (by.actor.kind(), by.actor.id(), event.action.as_str());
        let request = by.request.as_ref().map(RequestId::as_str);
        let object = event.object.as_deref();
        self.execute(INSERT, values![kind, id, action, event.account, object, request, detail]).map(drop)
    }
}
