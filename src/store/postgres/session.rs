//! A pooled connection with its prepared statements.
//!
//! # Why a thread for each connection
//! The driver waits for an answer for as long as the socket lives: a server that stands still while its machine
//! goes on acknowledging packets holds a caller for ever. So each connection belongs to a thread of its own, the
//! caller waits for that thread no longer than [`Session::patience`], and a session that owed an answer is given
//! up: its thread ends when the server answers or goes away, and what it had begun is rolled back by the server,
//! unless that was the commit (see [`Work::commit`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use postgres::types::ToSql;
use postgres::{Client, Error, Row, SimpleQueryMessage, Statement};

use super::encoded::Encoded;
use super::error::{PostgresError, storage};
use crate::base::storage::StorageError;
use crate::store::limits::ANSWER_MARGIN;
use crate::store::writes::Writes;

/// Values of a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

type Statements = HashMap<&'static str, Statement>;
type Task = Box<dyn FnOnce(&mut Client) + Send>;

/// Its frames are the driver's, and shallow.
const STACK_BYTES: usize = 512 * 1024;

/// A connection. Statements are prepared once and stay: all of them are constants of this program.
pub(super) struct Session {
    /// Leads to the connection's thread. `None`: given up.
    tasks: Option<Sender<Task>>,
    is_closed: Arc<AtomicBool>,
    /// How long an answer may take; `None`: the address takes the server's own limit away.
    patience: Option<Duration>,
    statements: Statements,
    writes: Arc<Writes>,
}

impl Session {
    /// Gives the connection a thread. Asks the server for its limit on statements: what the address sets wins.
    pub(super) fn start(client: Client, writes: Arc<Writes>) -> Result<Self, PostgresError> {
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
        thread::Builder::new()
            .name("postgres".into())
            .stack_size(STACK_BYTES)
            .spawn(serve)
            .map_err(|error| PostgresError::new(format!("no thread for a connection: {error}")))?;
        Ok(Self { tasks: Some(tasks), is_closed, patience: None, statements: Statements::new(), writes })
    }

    /// Takes over the server's limit on statements.
    pub(super) fn learn_patience(&mut self, wait: Duration) -> Result<(), StorageError> {
        const SETTING: &str = "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'";
        let answer = self.ask_within(Some(wait), |client| client.simple_query(SETTING))?;
        let millis = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0)?.parse::<u64>().ok(),
            _ => None,
        });
        self.patience = millis.filter(|millis| *millis > 0).map(|millis| {
            // Longer than the server's own: where it answers at all, its word is the better one.
            Duration::from_millis(millis) + ANSWER_MARGIN
        });
        Ok(())
    }

    /// Whether the server answers, within that time.
    pub(super) fn check(&mut self, wait: Duration) -> Result<(), StorageError> {
        self.ask_within(Some(wait + ANSWER_MARGIN), move |client| client.is_valid(wait))
    }

    /// Whether nothing more can be done with it.
    pub(super) fn is_broken(&self) -> bool {
        self.tasks.is_none() || self.is_closed.load(Ordering::Acquire)
    }

    /// Lets go of a connection whose server owes an answer: see the head of this file.
    pub(super) fn give_up(&mut self) {
        self.tasks = None;
    }

    /// Starts a transaction; it is rolled back unless it is committed.
    pub(super) fn begin(&mut self) -> Result<Work<'_>, StorageError> {
        self.ask(|client| client.batch_execute("BEGIN"))?;
        Ok(Work { session: self, is_open: true })
    }

    /// Asks one question, in a transaction of its own.
    pub(super) fn query(&mut self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, StorageError> {
        let (statement, values) = self.bound(sql, values)?;
        self.ask(move |client| client.query(&statement, &Encoded::refs(&values)))
    }

    /// Does one thing, in a transaction of its own and in one round trip; gives the number of rows.
    pub(super) fn execute(&mut self, sql: &'static str, values: Values<'_>) -> Result<u64, StorageError> {
        let (statement, values) = self.bound(sql, values)?;
        let done = self.ask(move |client| client.execute(&statement, &Encoded::refs(&values)));
        self.writes.note(done.map_err(StorageError::in_doubt))
    }

    /// The same; gives the rows that it returns.
    pub(super) fn change(&mut self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, StorageError> {
        let done = self.query(sql, values);
        self.writes.note(done.map_err(StorageError::in_doubt))
    }

    /// A statement with its values, ready for another thread.
    fn bound(
        &mut self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<(Statement, Vec<Encoded>), StorageError> {
        let statement = match self.statements.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let statement = self.ask(move |client| client.prepare(sql))?;
                self.statements.insert(sql, statement.clone());
                statement
            }
        };
        let values = Encoded::all(&statement, values)?;
        Ok((statement, values))
    }

    fn ask<T: Send + 'static>(
        &mut self,
        task: impl FnOnce(&mut Client) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.ask_within(self.patience, task)
    }

    fn ask_within<T: Send + 'static>(
        &mut self,
        wait: Option<Duration>,
        task: impl FnOnce(&mut Client) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, StorageError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task: Task = Box::new(move |client| {
            // Nobody listens where the wait is over.
            let _ = sender.send(task(client));
        });
        let sent = self.tasks.as_ref().is_some_and(|tasks| tasks.send(task).is_ok());
        if !sent {
            return Err(given_up());
        }
        let answer = match wait {
            Some(wait) => receiver.recv_timeout(wait).ok(),
            None => receiver.recv().ok(),
        };
        let Some(answer) = answer else {
            self.give_up();
            let wait = wait.unwrap_or_default().as_secs();
            return Err(StorageError::unavailable(PostgresError::new(format!("no answer within {wait} s"))));
        };
        answer.map_err(storage)
    }
}

fn given_up() -> StorageError {
    StorageError::unavailable(PostgresError::new("the connection was given up"))
}

/// A transaction under way.
pub(super) struct Work<'a> {
    session: &'a mut Session,
    is_open: bool,
}

impl Work<'_> {
    pub(super) fn query(&mut self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, StorageError> {
        self.session.query(sql, values)
    }

    pub(super) fn execute(&mut self, sql: &'static str, values: Values<'_>) -> Result<u64, StorageError> {
        let (statement, values) = self.session.bound(sql, values)?;
        let done = self.session.ask(move |client| client.execute(&statement, &Encoded::refs(&values)));
        self.session.writes.note(done)
    }

    /// # Errors
    /// One that is [in doubt](StorageError::is_in_doubt): the answer to a commit was lost, the commit itself may
    /// have been made.
    pub(super) fn commit(mut self) -> Result<(), StorageError> {
        self.is_open = false;
        let done = self.session.ask(|client| client.batch_execute("COMMIT"));
        self.session.writes.note(done.map_err(StorageError::in_doubt))
    }

    /// Undoes everything, now rather than on drop, so that an error is seen.
    pub(super) fn roll_back(mut self) -> Result<(), StorageError> {
        self.is_open = false;
        self.session.roll_back()
    }
}

impl Session {
    /// A connection that cannot be rolled back is of no use to the next one.
    fn roll_back(&mut self) -> Result<(), StorageError> {
        let done = self.ask(|client| client.batch_execute("ROLLBACK"));
        if done.is_err() {
            self.give_up();
        }
        done
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        if self.is_open && !self.session.is_broken() {
            // The error that led here is the one that is told.
            let _ = self.session.roll_back();
        }
    }
}
