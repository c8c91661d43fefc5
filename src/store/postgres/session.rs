//! A pooled connection with its prepared statements.
//!
//! # Threads
//! Each connection belongs to a separate thread, because the driver waits for an answer as long as the socket exists:
//! a hung server whose machine still acknowledges packets would block a caller without end. The caller waits for the
//! thread for its time limit, and then abandons the session. The thread ends when the server answers or closes the
//! connection, and the server rolls back the transaction, unless its commit was already sent. The thread also connects,
//! since the driver bounds the TCP connect but not the time that the server then takes to answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::{FromSql, Json, ToSql, Type};
use postgres::{Client, Config, Statement};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::error::{described, unavailable};
use super::tls::TlsConnector;
use crate::base::storage::StorageError;
use crate::store::error::Result;
use crate::store::limits::ANSWER;
use crate::store::value::{FromCell, Parameter, Row, Value};

type Task = Box<dyn FnOnce(Result<&mut Connection>) + Send>;

/// The stack size of a connection's thread. The stack contains only the driver's few frames.
const STACK_BYTES: usize = 512 * 1024;

/// The handle of a connection's thread.
pub(in crate::store) struct Session {
    /// The channel that sends tasks to the thread. It is `None` once the session is abandoned.
    tasks: Option<Sender<Task>>,
    state: Arc<State>,
    /// The time for which an answer is waited for.
    pub(super) patience: Duration,
    /// The time after which the open transaction begins no further statement.
    pub(in crate::store) until: Option<Instant>,
}

/// What the connection's thread has found.
#[derive(Default)]
struct State {
    is_made: AtomicBool,
    is_closed: AtomicBool,
}

/// What the connection's thread has.
struct Connection {
    client: Client,
    /// Statements are prepared once and stay prepared: all of them are constants of this program.
    statements: HashMap<&'static str, Statement>,
}

impl Session {
    /// Starts the connection's thread, which connects. [`Session::check`] waits for that.
    pub(super) fn start(config: &Config, tls: &TlsConnector) -> Result<Self> {
        let (tasks, taken) = mpsc::channel::<Task>();
        let state = Arc::<State>::default();
        let (own, config, tls) = (Arc::clone(&state), config.clone(), tls.clone());
        let serve = move || {
            let mut made =
                config.connect(tls).map(|client| Connection { client, statements: HashMap::new() });
            own.is_made.store(made.is_ok(), Ordering::Release);
            own.is_closed.store(made.is_err(), Ordering::Release);
            for task in taken {
                task(made.as_mut().map_err(|error| StorageError::unavailable(described(error))));
                let is_closed = made.as_ref().map_or(true, |connection| connection.client.is_closed());
                own.is_closed.store(is_closed, Ordering::Release);
            }
        };
        let thread = thread::Builder::new().name("postgres".into()).stack_size(STACK_BYTES);
        let failed = |error| unavailable(format!("cannot start a thread for a connection: {error}"));
        thread.spawn(serve).map_err(failed)?;
        Ok(Self { tasks: Some(tasks), state, patience: ANSWER, until: None })
    }

    /// Checks by `BEGIN` or an empty statement that the server answers within that time. A connection that takes longer to
    /// be made is still made.
    pub(super) fn check(&mut self, sql: &'static str, wait: Duration) -> Result<()> {
        self.run_within(wait, move |connection| Ok(connection.client.batch_execute(sql)?))
    }

    /// Returns whether the connection was made.
    pub(super) fn is_made(&self) -> bool {
        self.state.is_made.load(Ordering::Acquire)
    }

    /// Returns whether the server owes an answer.
    pub(super) fn is_abandoned(&self) -> bool {
        self.tasks.is_none()
    }

    /// Returns whether the connection can no longer be used.
    pub(in crate::store) fn is_broken(&self) -> bool {
        self.is_abandoned() || self.state.is_closed.load(Ordering::Acquire)
    }

    /// Runs a statement. Returns its rows, and their number or that of the rows that it changed.
    pub(in crate::store) fn run(&mut self, sql: &'static str, values: Vec<Value>) -> Result<(Vec<Row>, u64)> {
        self.task(move |connection| connection.run(sql, values))
    }

    /// Runs statements without parameters, of which none stays prepared.
    pub(in crate::store) fn batch(&mut self, sql: &'static str) -> Result<()> {
        self.task(move |connection| Ok(connection.client.batch_execute(sql)?))
    }

    /// Rolls the open transaction back. A connection on which that fails is not used again.
    pub(in crate::store) fn roll_back(&mut self) -> Result<()> {
        if self.is_broken() {
            return Ok(());
        }
        self.batch("ROLLBACK").inspect_err(|_| self.tasks = None)
    }

    fn task<T: Send + 'static>(
        &mut self,
        task: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(StorageError::contended("the transaction waited for locks for too long"));
        }
        self.run_within(self.patience, task)
    }

    /// Runs a task on the connection's thread, and waits that long for its end.
    fn run_within<T: Send + 'static>(
        &mut self,
        wait: Duration,
        task: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        // The first to take it is the thread, which begins the task, or this wait, which gives it up.
        let is_taken = Arc::<AtomicBool>::default();
        let taken = Arc::clone(&is_taken);
        let task: Task = Box::new(move |connection| {
            if !taken.swap(true, Ordering::AcqRel) {
                // The receiver is gone if its wait was over.
                let _ = sender.send(connection.and_then(task));
            }
        });
        if self.tasks.as_ref().is_none_or(|tasks| tasks.send(task).is_err()) {
            return Err(unavailable("the connection was abandoned"));
        }
        receiver.recv_timeout(wait).unwrap_or_else(|_| {
            if is_taken.swap(true, Ordering::AcqRel) {
                self.tasks = None;
            }
            Err(unavailable(format!("no answer within {} s", wait.as_secs())))
        })
    }
}

impl Connection {
    fn run(&mut self, sql: &'static str, values: Vec<Value>) -> Result<(Vec<Row>, u64)> {
        if !self.statements.contains_key(sql) {
            self.statements.insert(sql, self.client.prepare(&translated(sql))?);
        }
        let statement = &self.statements[sql];
        let values = values.into_iter().zip(statement.params()).map(|(value, kind)| sent(value, kind));
        let mut answer = self.client.query_raw(statement, values.collect::<Result<Vec<_>>>()?)?;
        let mut rows = Vec::new();
        while let Some(row) = answer.next()? {
            rows.push(Row::new((0..row.len()).map(|column| cell(&row, column)).collect::<Result<_>>()?));
        }
        Ok((rows, answer.rows_affected().unwrap_or_default()))
    }
}

/// Translates a statement into PostgreSQL's dialect: see [`tx`](crate::store::tx).
fn translated(sql: &str) -> String {
    sql.replace("/*pg ", "")
        .replace(" */", "")
        .replace('?', "$")
        .replace("json_each(", "json_array_elements(")
        .replace("ms(", "(interval '1 millisecond' * ")
}

fn cell(row: &postgres::Row, column: usize) -> Result<Value> {
    fn get<'a, T: FromSql<'a> + Parameter>(row: &'a postgres::Row, column: usize) -> Result<Value> {
        Ok(row.try_get::<_, Option<T>>(column)?.value())
    }
    match *row.columns()[column].type_() {
        Type::BOOL => get::<bool>(row, column),
        Type::INT8 => get::<i64>(row, column),
        Type::INT4 => get::<i32>(row, column),
        Type::TEXT => get::<String>(row, column),
        Type::JSON => get::<Json<Box<RawValue>>>(row, column),
        Type::BYTEA => get::<Vec<u8>>(row, column),
        Type::UUID => get::<Uuid>(row, column),
        // A function was called for its effect.
        Type::VOID => Ok(Value::Null),
        Type::TIMESTAMPTZ => get::<Timestamp>(row, column),
        ref other => Err(StorageError::broken(format!("a column has the type {other}"))),
    }
}

/// A parameter as the driver takes it.
type Sent = Box<dyn ToSql + Send + Sync>;

/// Converts a parameter to the type that the statement has for it.
fn sent(value: Value, kind: &Type) -> Result<Sent> {
    fn of<T: FromCell + ToSql + Send + Sync + 'static>(value: Value) -> Option<Sent> {
        Option::<T>::from_cell(value).map(|value| Box::new(value) as _)
    }
    let sent = match *kind {
        Type::BOOL => of::<bool>(value),
        Type::INT8 => of::<i64>(value),
        Type::FLOAT8 => of::<f64>(value),
        Type::TEXT => of::<String>(value),
        Type::JSON => of::<Json<Box<RawValue>>>(value),
        Type::BYTEA => of::<Vec<u8>>(value),
        Type::UUID => of::<Uuid>(value),
        Type::TIMESTAMPTZ => of::<Timestamp>(value),
        _ => None,
    };
    sent.ok_or_else(|| StorageError::broken(format!("a value does not fit a parameter of type {kind}")))
}
