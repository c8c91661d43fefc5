//! A pooled connection with its prepared statements.
//!
//! # Threads
//! Each connection belongs to a separate thread, because the driver waits for an answer as long as the socket exists:
//! a hung server whose machine still acknowledges packets would block a caller without end. The caller waits for the
//! thread for its time limit, and then abandons the session. The thread ends when the server answers or closes the
//! connection, and the server rolls back the transaction, unless its commit was already sent. The thread also connects,
//! since the driver bounds the TCP connect but not the time that the server then takes to answer.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use jiff::Timestamp;
use postgres::types::{FromSql, IsNull, Json, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, Error, SimpleQueryMessage, Statement};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::error::{PostgresError, described, storage_error, unavailable};
use super::tls::TlsConnector;
use crate::base::clock::truncate_to_millis;
use crate::base::storage::StorageError;
use crate::store::error::Result;
use crate::store::limits::ANSWER_MARGIN;
use crate::store::pool::Connection;
use crate::store::value::{Row, Value};

type Task = Box<dyn FnOnce(Result<&mut Client>) + Send>;

/// The stack size of a connection's thread. The stack contains only the driver's few frames.
const STACK_BYTES: usize = 512 * 1024;

/// A connection. Statements are prepared once and stay prepared: all of them are constants of this program.
pub(in crate::store) struct Session {
    /// The channel that sends tasks to the connection's thread. It is `None` once the session is abandoned.
    tasks: Option<Sender<Task>>,
    state: Arc<State>,
    /// Whether an answer may take as long as the server allows.
    pub(super) is_patient: bool,
    /// The time after which the open transaction begins no further statement.
    until: Option<Instant>,
    statements: HashMap<&'static str, Statement>,
}

/// What the connection's thread has found.
#[derive(Default)]
struct State {
    /// The time limit for an answer, once the connection is made. It is `None` if the address disables the server's own
    /// limit.
    answer_timeout: OnceLock<Option<Duration>>,
    is_closed: AtomicBool,
}

impl Session {
    /// Starts the connection's thread, which connects. [`Session::check`] waits for that.
    pub(super) fn start(config: &Config, tls: &TlsConnector) -> Result<Self> {
        let (tasks, taken) = mpsc::channel::<Task>();
        let state = Arc::<State>::default();
        let (own, config, tls) = (Arc::clone(&state), config.clone(), tls.clone());
        let serve = move || {
            let made = config.connect(tls).and_then(|mut client| Ok((read_timeout(&mut client)?, client)));
            let mut made = made.map(|(timeout, client)| {
                own.answer_timeout.get_or_init(|| timeout);
                client
            });
            own.is_closed.store(made.is_err(), Ordering::Release);
            for task in taken {
                task(made.as_mut().map_err(|error| StorageError::unavailable(described(error))));
                own.is_closed.store(made.as_ref().map_or(true, Client::is_closed), Ordering::Release);
            }
        };
        let thread = thread::Builder::new().name("postgres".into()).stack_size(STACK_BYTES);
        let failed = |error| unavailable(format!("cannot start a thread for a connection: {error}"));
        thread.spawn(serve).map_err(failed)?;
        Ok(Self { tasks: Some(tasks), state, is_patient: false, until: None, statements: HashMap::new() })
    }

    /// Checks that the server answers within that time. A connection that takes longer to be made is still made.
    pub(super) fn check(&mut self, wait: Duration) -> Result<()> {
        self.run_within(Some(wait), |client| client.simple_query("")).map(drop)
    }

    /// Returns whether the connection was made.
    pub(super) fn is_made(&self) -> bool {
        self.state.answer_timeout.get().is_some()
    }

    /// Returns whether the server owes an answer.
    pub(super) fn is_abandoned(&self) -> bool {
        self.tasks.is_none()
    }

    /// Runs `work` in a transaction, which is rolled back if that fails or if `keep` returns `false` for its outcome. Each
    /// statement may wait for a lock. After they have taken `limit` together, no further statement is begun.
    ///
    /// # Errors
    /// Returns the errors of `work`, and an [unconfirmed](StorageError::is_unconfirmed) error if the answer to the commit
    /// was lost. The commit may have been made then.
    pub(super) fn transaction<T>(
        &mut self,
        limit: Option<Duration>,
        keep: impl FnOnce(&T) -> bool,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.batch("BEGIN")?;
        self.until = limit.map(|limit| Instant::now() + limit);
        let done = work(self);
        self.until = None;
        if let Ok(outcome) = &done
            && keep(outcome)
        {
            self.batch("COMMIT").map_err(StorageError::unconfirmed)?;
        } else if !self.is_broken() {
            let rolled_back = self.batch("ROLLBACK");
            if rolled_back.is_err() {
                self.tasks = None;
            }
            // The caller gets the first error.
            return done.and_then(|outcome| rolled_back.map(|()| outcome));
        }
        done
    }

    /// Runs a statement and returns its rows.
    pub(in crate::store) fn rows(&mut self, sql: &'static str, values: Vec<Value>) -> Result<Vec<Row>> {
        let statement = self.prepared(sql)?;
        self.run(move |client| client.query(&statement, &refs(&values)))?.iter().map(row).collect()
    }

    /// Runs a statement and returns the number of rows.
    pub(in crate::store) fn execute(&mut self, sql: &'static str, values: Vec<Value>) -> Result<u64> {
        let statement = self.prepared(sql)?;
        self.run(move |client| client.execute(&statement, &refs(&values)))
    }

    /// Runs statements without parameters, of which none stays prepared.
    pub(in crate::store) fn batch(&mut self, sql: &'static str) -> Result<()> {
        self.run(move |client| client.batch_execute(sql))
    }

    fn prepared(&mut self, sql: &'static str) -> Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.run(move |client| client.prepare(&translated(sql)))?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    fn run<T: Send + 'static>(
        &mut self,
        task: impl FnOnce(&mut Client) -> Result<T, Error> + Send + 'static,
    ) -> Result<T> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(StorageError::contended("the transaction waited for locks for too long"));
        }
        let wait = self.state.answer_timeout.get().copied().flatten();
        self.run_within(wait.filter(|_| !self.is_patient), task)
    }

    /// Runs a task on the connection's thread, and waits that long for its end.
    pub(super) fn run_within<T: Send + 'static>(
        &mut self,
        wait: Option<Duration>,
        task: impl FnOnce(&mut Client) -> Result<T, Error> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task: Task = Box::new(move |client| {
            // The receiver is gone if its wait was over.
            let _ = sender.send(client.and_then(|client| task(client).map_err(storage_error)));
        });
        if self.tasks.as_ref().is_none_or(|tasks| tasks.send(task).is_err()) {
            return Err(unavailable("the connection was abandoned"));
        }
        let answer = match wait {
            Some(wait) => receiver.recv_timeout(wait).ok(),
            None => receiver.recv().ok(),
        };
        answer.unwrap_or_else(|| {
            if self.is_made() {
                self.tasks = None;
            }
            Err(unavailable(format!("no answer within {} s", wait.unwrap_or_default().as_secs())))
        })
    }
}

impl Connection for Session {
    fn is_broken(&self) -> bool {
        self.is_abandoned() || self.state.is_closed.load(Ordering::Acquire)
    }
}

/// Reads the server's limit on statements, which the address may have set. Returns the time limit for its answers.
fn read_timeout(client: &mut Client) -> Result<Option<Duration>, Error> {
    const SETTING: &str = "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'";
    let millis = client.simple_query(SETTING)?.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse::<u64>().ok(),
        _ => None,
    });
    // This is longer than the server's own timeout, because a working server reports the timeout itself.
    Ok(millis.filter(|millis| *millis > 0).map(|millis| Duration::from_millis(millis) + ANSWER_MARGIN))
}

/// Returns values in the form that the driver takes.
fn refs(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Translates a statement into PostgreSQL's dialect: see [`tx`](crate::store::tx).
fn translated(sql: &str) -> String {
    sql.replace("/*pg ", "")
        .replace(" */", "")
        .replace('?', "$")
        .replace("json_each(", "json_array_elements(")
        .replace("ms(", "(interval '1 millisecond' * ")
}

/// Converts a row that the driver has returned.
fn row(row: &postgres::Row) -> Result<Row> {
    (0..row.len()).map(|column| cell(row, column)).collect::<Result<_>>().map(Row)
}

fn cell(row: &postgres::Row, column: usize) -> Result<Value> {
    fn get<'a, T: FromSql<'a>>(
        row: &'a postgres::Row,
        column: usize,
        cell: impl FnOnce(T) -> Value,
    ) -> Result<Value> {
        Ok(row.try_get::<_, Option<T>>(column).map_err(storage_error)?.map_or(Value::Null, cell))
    }
    match *row.columns()[column].type_() {
        Type::BOOL => get(row, column, Value::Bool),
        Type::INT8 => get(row, column, Value::Int),
        Type::INT4 => get(row, column, |value: i32| Value::Int(value.into())),
        Type::FLOAT8 => get(row, column, Value::Float),
        Type::TEXT | Type::VARCHAR => get(row, column, Value::Text),
        Type::JSON => get(row, column, |Json(text): Json<Box<RawValue>>| Value::Text(text.get().to_owned())),
        Type::BYTEA => get(row, column, Value::Bytes),
        Type::UUID => get(row, column, Value::Id),
        Type::TIMESTAMPTZ => get(row, column, Value::Moment),
        ref other => Err(StorageError::broken(PostgresError::new(format!("a column of type {other}")))),
    }
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match (self, kind) {
            (Self::Null, _) => Ok(IsNull::Yes),
            (Self::Bool(value), &Type::BOOL) => value.to_sql(kind, out),
            (Self::Int(value), &Type::INT8) => value.to_sql(kind, out),
            (Self::Int(value), &Type::INT4) => i32::try_from(*value)?.to_sql(kind, out),
            (Self::Int(value), &Type::FLOAT8) => (*value as f64).to_sql(kind, out),
            (Self::Float(value), &Type::FLOAT8) => value.to_sql(kind, out),
            // PostgreSQL sends and receives JSON as text.
            (Self::Text(text), &(Type::TEXT | Type::VARCHAR | Type::JSON)) => {
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
            (Self::Bytes(bytes), &Type::BYTEA) => bytes.to_sql(kind, out),
            (Self::Id(id), &Type::UUID) => <Uuid as ToSql>::to_sql(id, kind, out),
            (Self::Moment(moment), &Type::TIMESTAMPTZ) => {
                <Timestamp as ToSql>::to_sql(&truncate_to_millis(*moment), kind, out)
            }
            _ => Err(format!("this value does not fit a parameter of type {kind}").into()),
        }
    }

    /// Returns `true` for all types. A value that does not fit is refused by `to_sql` with its type.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
