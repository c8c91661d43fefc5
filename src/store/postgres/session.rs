//! A pooled connection with its prepared statements.
//!
//! # Threads
//! Each connection belongs to a separate thread, because the driver waits for an answer as long as the socket exists:
//! a hung server whose machine still acknowledges packets would block a caller without end. The caller waits for the
//! thread for `Session::answer_timeout` at most, and then abandons the session. The thread ends when the server
//! answers or closes the connection, and the server rolls back the transaction, unless its commit was already sent
//! (see [`Transaction::commit`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use postgres::types::ToSql;
use postgres::{Client, Error, Row, SimpleQueryMessage, Statement};

use super::dialect::translated;
use super::error::{PostgresError, storage_error};
use crate::base::storage::StorageError;
use crate::store::limits::ANSWER_MARGIN;
use crate::store::pool::Connection;
use crate::store::value::Value;

type Statements = HashMap<&'static str, Statement>;
type Task = Box<dyn FnOnce(&mut Client) + Send>;

/// The stack size of a connection's thread. The stack contains only the driver's few frames.
const STACK_BYTES: usize = 512 * 1024;

/// A connection. Statements are prepared once and stay prepared: all of them are constants of this program.
pub(super) struct Session {
    /// The channel that sends tasks to the connection's thread. It is `None` once the session is abandoned.
    tasks: Option<Sender<Task>>,
    is_closed: Arc<AtomicBool>,
    /// The time limit for an answer. It is `None` if the address disables the server's own limit.
    answer_timeout: Option<Duration>,
    statements: Statements,
}

impl Session {
    /// Starts the connection's thread.
    pub(super) fn start(client: Client, answer_timeout: Option<Duration>) -> Result<Self, PostgresError> {
        let (tasks, taken) = mpsc::channel::<Task>();
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        let serve = move || {
            let mut client = client;
            for task in taken {
                task(&mut client);
                closed.store(client.is_closed(), Ordering::Release);
            }
        };
        thread::Builder::new().name("postgres".into()).stack_size(STACK_BYTES).spawn(serve).map_err(
            |error| PostgresError::new(format!("cannot start a thread for a connection: {error}")),
        )?;
        Ok(Self { tasks: Some(tasks), is_closed, answer_timeout, statements: Statements::new() })
    }

    /// Reads the server's limit on statements, which the address may have set. Returns the time limit for its answers.
    pub(super) fn read_timeout(client: &mut Client) -> Result<Option<Duration>, Error> {
        const SETTING: &str = "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'";
        let millis = client.simple_query(SETTING)?.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0)?.parse::<u64>().ok(),
            _ => None,
        });
        // This is longer than the server's own timeout, because a working server reports the timeout itself.
        Ok(millis.filter(|millis| *millis > 0).map(|millis| Duration::from_millis(millis) + ANSWER_MARGIN))
    }

    /// Checks that the server answers within that time.
    pub(super) fn check(&mut self, wait: Duration) -> Result<(), StorageError> {
        self.run_within(Some(wait), |client| client.simple_query("")).map(drop)
    }

    /// Returns whether the server owes an answer.
    pub(super) fn is_abandoned(&self) -> bool {
        self.tasks.is_none()
    }

    /// Begins a transaction, which is rolled back unless it is committed. Each of its statements may wait for a lock.
    /// After they have taken `limit` together, no further statement is begun.
    pub(super) fn begin(&mut self, limit: Option<Duration>) -> Result<Transaction<'_>, StorageError> {
        self.run(|client| client.batch_execute("BEGIN"))?;
        let until = limit.map(|limit| Instant::now() + limit);
        Ok(Transaction { session: self, until, is_open: true })
    }

    /// Runs one statement that reads, in a transaction of its own.
    pub(super) fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StorageError> {
        let (statement, values) = self.bound(sql, values)?;
        self.run(move |client| client.query(&statement, &refs(&values)))
    }

    /// Runs one statement in a transaction of its own and in one round trip. Returns the number of rows.
    pub(super) fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, StorageError> {
        let (statement, values) = self.bound(sql, values)?;
        self.run(move |client| client.execute(&statement, &refs(&values))).map_err(StorageError::unconfirmed)
    }

    /// Runs one statement that writes, in a transaction of its own and in one round trip. Returns the rows that it
    /// returns.
    pub(super) fn change(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StorageError> {
        self.query(sql, values).map_err(StorageError::unconfirmed)
    }

    /// Returns a prepared statement with copies of its values, which another thread can send.
    fn bound(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<(Statement, Vec<Value<'static>>), StorageError> {
        let statement = match self.statements.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let statement = self.run(move |client| client.prepare(&translated(sql)))?;
                self.statements.insert(sql, statement.clone());
                statement
            }
        };
        Ok((statement, values.iter().map(Value::to_static).collect()))
    }

    fn run<T: Send + 'static>(
        &mut self,
        task: impl FnOnce(&mut Client) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.run_within(self.answer_timeout, task)
    }

    fn run_within<T: Send + 'static>(
        &mut self,
        wait: Option<Duration>,
        task: impl FnOnce(&mut Client) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, StorageError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task: Task = Box::new(move |client| {
            // The receiver is gone if its wait was over.
            let _ = sender.send(task(client));
        });
        let sent = self.tasks.as_ref().is_some_and(|tasks| tasks.send(task).is_ok());
        if !sent {
            return Err(abandoned());
        }
        let answer = match wait {
            Some(wait) => receiver.recv_timeout(wait).ok(),
            None => receiver.recv().ok(),
        };
        let Some(answer) = answer else {
            self.tasks = None;
            let wait = wait.unwrap_or_default().as_secs();
            return Err(StorageError::unavailable(PostgresError::new(format!("no answer within {wait} s"))));
        };
        answer.map_err(storage_error)
    }
}

/// Returns values in the form that the driver takes.
pub(super) fn refs<'a>(values: &'a [Value<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn abandoned() -> StorageError {
    StorageError::unavailable(PostgresError::new("the connection was abandoned"))
}

/// An open transaction.
pub(super) struct Transaction<'a> {
    session: &'a mut Session,
    until: Option<Instant>,
    is_open: bool,
}

impl Transaction<'_> {
    pub(super) fn query(
        &mut self,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StorageError> {
        self.check_time()?;
        self.session.query(sql, values)
    }

    fn check_time(&mut self) -> Result<(), StorageError> {
        match self.until {
            Some(until) if Instant::now() >= until => Err(StorageError::contended(PostgresError::new(
                "the transaction waited for locks for too long",
            ))),
            _ => Ok(()),
        }
    }

    pub(super) fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, StorageError> {
        self.check_time()?;
        let (statement, values) = self.session.bound(sql, values)?;
        self.session.run(move |client| client.execute(&statement, &refs(&values)))
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// Returns an error that is [unconfirmed](StorageError::is_unconfirmed) if the answer to the commit was lost. The
    /// commit may have been made then.
    pub(super) fn commit(mut self) -> Result<(), StorageError> {
        self.is_open = false;
        self.session.run(|client| client.batch_execute("COMMIT")).map_err(StorageError::unconfirmed)
    }

    /// Rolls back now rather than on drop, so that an error is returned.
    pub(super) fn roll_back(mut self) -> Result<(), StorageError> {
        self.is_open = false;
        self.session.roll_back()
    }
}

impl Session {
    /// Rolls the transaction back. A connection on which that fails is abandoned.
    fn roll_back(&mut self) -> Result<(), StorageError> {
        let done = self.run(|client| client.batch_execute("ROLLBACK"));
        if done.is_err() {
            self.tasks = None;
        }
        done
    }
}

impl Connection for Session {
    fn is_broken(&self) -> bool {
        self.is_abandoned() || self.is_closed.load(Ordering::Acquire)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.is_open && !self.session.is_broken() {
            // The caller already has the error that led here.
            let _ = self.session.roll_back();
        }
    }
}
