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
//! | `uuid(TEXT)`, `decode(TEXT, 'hex')` | functions of this program | built in |
//! | `greatest`, `least`, `strpos`, `lower`, `date_trunc` | functions of this program | built in |
//!
//! `{NAME}` means a piece that several statements share: see [`fragments`](super::queries::fragments).
//!
//! Several rows are written by one statement, which takes them as one parameter: an array in JSON.

use std::time::Duration;

use rusqlite::Connection;

use super::document::encode;
use super::error::Result;
use super::limits::{BACKGROUND_WAIT, REQUEST_WAIT};
use super::postgres::Session;
use super::queries::fragments::complete;
use super::sqlite::connection;
use super::value::{FromRow, Row, Value, values};
use crate::base::ids::RequestId;
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
}

/// An operation of a request.
impl From<&'static str> for Operation {
    fn from(name: &'static str) -> Self {
        Self { name, wait: REQUEST_WAIT, is_light: false, erases: false }
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
pub(super) enum Tx<'a> {
    Sqlite(&'a Connection),
    Postgres(&'a mut Session),
}

impl Tx<'_> {
    /// Runs a statement and returns its rows, which can be read as `T`.
    pub(super) fn rows<T: FromRow>(&mut self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>> {
        let sql = complete::<T>(sql);
        match self {
            Self::Sqlite(on) => connection::rows(on, sql, values),
            Self::Postgres(session) => session.rows(sql, values),
        }
    }

    /// Runs a statement and returns the number of rows that it changed.
    pub(super) fn execute(&mut self, sql: &'static str, values: Vec<Value>) -> Result<u64> {
        let sql = complete::<()>(sql);
        match self {
            Self::Sqlite(on) => connection::execute(on, sql, values),
            Self::Postgres(session) => session.execute(sql, values),
        }
    }

    /// Runs the statements of a migration, which are written for each database.
    pub(super) fn batch(&mut self, sqlite: &'static str, postgres: &'static str) -> Result<()> {
        match self {
            Self::Sqlite(on) => connection::batch(on, sqlite),
            Self::Postgres(session) => session.batch(postgres),
        }
    }

    /// Runs a statement and reads its rows.
    pub(super) fn all<T: FromRow>(&mut self, sql: &'static str, values: Vec<Value>) -> Result<Vec<T>> {
        self.rows::<T>(sql, values)?.into_iter().map(Row::read).collect()
    }

    /// Runs a statement and reads its first row, if it returns one.
    pub(super) fn first<T: FromRow>(&mut self, sql: &'static str, values: Vec<Value>) -> Result<Option<T>> {
        self.rows::<T>(sql, values)?.into_iter().next().map(Row::read).transpose()
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
                let text = encode(&[notification])?;
                session.execute("SELECT pg_notify('sightline', ?1)", values![text]).map(drop)
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
