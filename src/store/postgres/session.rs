//! A pooled connection with its prepared statements.

use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use parking_lot::Mutex;
use postgres::types::ToSql;
use postgres::{Client, Config, Row, Statement, Transaction};
use r2d2::ManageConnection;
use r2d2_postgres::PostgresConnectionManager;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::{PostgresError, storage, worded};
use crate::base::storage::StorageError;
use crate::store::limits::{HANDSHAKE, MAX_CONNECTING, PING_WAIT};

/// Values of a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

type Statements = HashMap<&'static str, Statement>;

/// A connection. Statements are prepared once and stay: all of them are constants of this program.
pub(super) struct Session {
    /// `None`: given up; see [`Session::give_up`].
    client: Option<Client>,
    statements: Statements,
}

impl Session {
    /// Starts a transaction; it is rolled back unless it is committed.
    pub(super) fn begin(&mut self) -> Result<Work<'_>, StorageError> {
        let client = self.client.as_mut().ok_or_else(given_up)?;
        Ok(Work { transaction: client.transaction().map_err(storage)?, statements: &mut self.statements })
    }

    /// Asks one question, in a transaction of its own.
    pub(super) fn query(&mut self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, StorageError> {
        let client = self.client.as_mut().ok_or_else(given_up)?;
        let statement = match self.statements.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let statement = client.prepare(sql).map_err(storage)?;
                self.statements.insert(sql, statement.clone());
                statement
            }
        };
        client.query(&statement, values).map_err(storage)
    }

    /// Does one thing, in a transaction of its own; gives the number of rows.
    pub(super) fn execute(&mut self, sql: &'static str, values: Values<'_>) -> Result<u64, StorageError> {
        let mut work = self.begin()?;
        let rows = work.execute(sql, values)?;
        work.commit()?;
        Ok(rows)
    }

    /// The driver's own, for migrations.
    pub(super) fn client(&mut self) -> Result<&mut Client, StorageError> {
        self.client.as_mut().ok_or_else(given_up)
    }

    /// Lets go of a connection whose server owes an answer. The driver waits for that answer when the
    /// connection is dropped, for ever if need be: that is left to a thread of its own, which ends when the
    /// server answers or goes away.
    fn give_up(&mut self) {
        if let Some(client) = self.client.take() {
            let dropped = thread::Builder::new().name("postgres-drop".into()).spawn(move || drop(client));
            if let Err(error) = dropped {
                log::warn!("no thread to close a silent database connection with: {error}");
            }
        }
    }
}

fn given_up() -> StorageError {
    StorageError::unavailable(PostgresError::new("the connection was given up"))
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
    inner: Arc<PostgresConnectionManager<MakeRustlsConnect>>,
    /// Each thread that is connecting holds one more.
    connecting: Arc<()>,
    last_silence: Mutex<Option<Instant>>,
}

impl Manager {
    pub(super) fn new(config: Config, tls: MakeRustlsConnect) -> Self {
        Self {
            inner: Arc::new(PostgresConnectionManager::new(config, tls)),
            connecting: Arc::new(()),
            last_silence: Mutex::new(None),
        }
    }
}

impl ManageConnection for Manager {
    type Connection = Session;
    type Error = PostgresError;

    /// Connects on a thread of its own: the driver bounds the TCP connect, not what the server then takes
    /// to answer.
    fn connect(&self) -> Result<Session, PostgresError> {
        let no_answer = || PostgresError::new(format!("no answer within {} s", HANDSHAKE.as_secs()));
        if Arc::strong_count(&self.connecting) > MAX_CONNECTING {
            return Err(no_answer());
        }
        let (inner, guard) = (Arc::clone(&self.inner), Arc::clone(&self.connecting));
        let (sender, receiver) = mpsc::channel();
        let connect = move || {
            // Nobody listens where the wait is over; the connection is dropped then.
            let _ = sender.send(inner.connect());
            drop(guard);
        };
        thread::Builder::new()
            .name("postgres-connect".into())
            .spawn(connect)
            .map_err(|error| PostgresError::new(format!("no thread to connect with: {error}")))?;
        let client = receiver.recv_timeout(HANDSHAKE).map_err(|_| no_answer())?;
        let client = client.map_err(|error| worded(&error))?;
        Ok(Session { client: Some(client), statements: Statements::new() })
    }

    fn is_valid(&self, session: &mut Session) -> Result<(), PostgresError> {
        // Where one connection was silent just now the others will be too; waiting for each in turn would
        // take the pool's wait times their number. A good one that is thrown away is only made again.
        if self.last_silence.lock().is_some_and(|at| at.elapsed() < PING_WAIT) {
            return Err(PostgresError::new("the server does not answer"));
        }
        let Some(client) = &mut session.client else {
            return Err(PostgresError::new("the connection was given up"));
        };
        let start = Instant::now();
        client.is_valid(PING_WAIT).map_err(|error| {
            if start.elapsed() >= PING_WAIT {
                *self.last_silence.lock() = Some(Instant::now());
                session.give_up();
            }
            worded(&error)
        })
    }

    fn has_broken(&self, session: &mut Session) -> bool {
        session.client.as_mut().is_none_or(|client| self.inner.has_broken(client))
    }
}
