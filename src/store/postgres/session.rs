//! A pooled connection with its prepared statements.

use std::collections::HashMap;
use std::time::Instant;

use parking_lot::Mutex;
use postgres::types::ToSql;
use postgres::{Client, Config, Row, Statement, Transaction};
use r2d2::ManageConnection;
use r2d2_postgres::PostgresConnectionManager;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::{PostgresError, storage, worded};
use crate::base::storage::StorageError;
use crate::store::limits::PING_WAIT;

/// Values of a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

type Statements = HashMap<&'static str, Statement>;

/// A connection. Statements are prepared once and stay: all of them are constants of this program.
pub(super) struct Session {
    client: Client,
    statements: Statements,
}

impl Session {
    /// Starts a transaction; it is rolled back unless it is committed.
    pub(super) fn begin(&mut self) -> Result<Work<'_>, StorageError> {
        let transaction = self.client.transaction().map_err(storage)?;
        Ok(Work { transaction, statements: &mut self.statements })
    }

    /// Asks one question, in a transaction of its own.
    pub(super) fn query(&mut self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, StorageError> {
        let statement = match self.statements.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let statement = self.client.prepare(sql).map_err(storage)?;
                self.statements.insert(sql, statement.clone());
                statement
            }
        };
        self.client.query(&statement, values).map_err(storage)
    }

    /// Does one thing, in a transaction of its own; gives the number of rows.
    pub(super) fn execute(&mut self, sql: &'static str, values: Values<'_>) -> Result<u64, StorageError> {
        let mut work = self.begin()?;
        let rows = work.execute(sql, values)?;
        work.commit()?;
        Ok(rows)
    }

    /// The driver's own, for migrations.
    pub(super) fn client(&mut self) -> &mut Client {
        &mut self.client
    }
}

/// A transaction under way.
pub(super) struct Work<'a> {
    transaction: Transaction<'a>,
    statements: &'a mut Statements,
}

impl Work<'_> {
    pub(super) fn query(&mut self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, StorageError> {
        let statement = self.prepared(sql)?;
        self.transaction.query(&statement, values).map_err(storage)
    }

    pub(super) fn execute(&mut self, sql: &'static str, values: Values<'_>) -> Result<u64, StorageError> {
        let statement = self.prepared(sql)?;
        self.transaction.execute(&statement, values).map_err(storage)
    }

    pub(super) fn commit(self) -> Result<(), StorageError> {
        self.transaction.commit().map_err(storage)
    }

    /// Undoes everything, now rather than on drop, so that an error is seen.
    pub(super) fn roll_back(self) -> Result<(), StorageError> {
        self.transaction.rollback().map_err(storage)
    }

    fn prepared(&mut self, sql: &'static str) -> Result<Statement, StorageError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.transaction.prepare(sql).map_err(storage)?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }
}

/// Makes sessions, and checks one before each use: whoever gets one gets a live one, also after the
/// server was restarted.
pub(super) struct Manager {
    inner: PostgresConnectionManager<MakeRustlsConnect>,
    last_silence: Mutex<Option<Instant>>,
}

impl Manager {
    pub(super) fn new(config: Config, tls: MakeRustlsConnect) -> Self {
        Self { inner: PostgresConnectionManager::new(config, tls), last_silence: Mutex::new(None) }
    }
}

impl ManageConnection for Manager {
    type Connection = Session;
    type Error = PostgresError;

    fn connect(&self) -> Result<Session, PostgresError> {
        let client = self.inner.connect().map_err(|error| worded(&error))?;
        Ok(Session { client, statements: Statements::new() })
    }

    fn is_valid(&self, session: &mut Session) -> Result<(), PostgresError> {
        // Where one connection was silent just now the others will be too; waiting for each in turn would
        // take the pool's wait times their number. A good one that is thrown away is only made again.
        if self.last_silence.lock().is_some_and(|at| at.elapsed() < PING_WAIT) {
            return Err(PostgresError::new("the server does not answer"));
        }
        let start = Instant::now();
        session.client.is_valid(PING_WAIT).map_err(|error| {
            if start.elapsed() >= PING_WAIT {
                *self.last_silence.lock() = Some(Instant::now());
            }
            worded(&error)
        })
    }

    fn has_broken(&self, session: &mut Session) -> bool {
        self.inner.has_broken(&mut session.client)
    }
}
