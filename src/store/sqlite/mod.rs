//! SQLite: one file, one server, any number of short commands beside it.
//!
//! WAL mode: readers never wait. SQLite has one writer at a time, so this process has one connection that
//! writes, and whoever wants it queues for it in memory instead of polling the file.
//!
//! # What a power cut may cost
//! A crash of the process loses nothing. Commits reach the disk at once (`synchronous = FULL`) where money,
//! access or a promise hangs on them; results and checkpoints of a live run (`NORMAL`) reach it with the
//! next such commit or checkpoint of the WAL: a power cut may cost the last seconds of these, and the run
//! is resumed from what is there. The file stays whole in any case.

mod audit;
mod backup;
mod erasure;
mod error;
mod file;
mod health;
mod journal;
mod ledger;
mod migrate;
mod read;
mod records;
mod results;
mod sign_in;
mod start;
mod write_log;

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use r2d2::{NopErrorHandler, Pool, PooledConnection};
use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql, Transaction, TransactionBehavior};

use super::error::OpenError;
use super::limits::{POOL_WAIT, SQLITE_BUSY, WRITER_WAIT};
use super::schema::{self, Migration};
use super::writes::Writes;
use super::{Options, Role, StoreLoad, Vitals};
use crate::account::audit::Origin;
use crate::base::storage::StorageError;
pub(super) use backup::back_up;
use error::{pool_error, storage};
use file::FileLock;
use write_log::Leftovers;

/// An open SQLite database.
pub(super) struct Database {
    readers: Pool<SqliteConnectionManager>,
    writer: Mutex<Connection>,
    writes: Writes,
    leftovers: Leftovers,
    lock: Option<FileLock>,
}

/// Whether a commit is on the disk when the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durability {
    /// It is.
    Full,
    /// It survives a crash of the process, not a power cut.
    Process,
}

impl Database {
    /// Opens or creates the file.
    pub(super) fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let path = file::prepare(path)?;
        let lock = match options.role {
            Role::Server => Some(FileLock::for_a_server(&path)?),
            Role::Command => None,
        };
        let failed = |cause| OpenError::Connect { address: format!("sqlite:{}", path.display()), cause };
        let mut writer = connect(&path, flags())?;
        migrate::run(&mut writer, &path, lock.is_some(), &options.role.origin())?;
        if lock.is_some() {
            // Whoever drove a run before is gone: the lock says so, and no lease has to run out first.
            writer
                .execute("UPDATE runs SET owner = NULL WHERE status = 'running'", [])
                .map_err(storage)
                .map_err(failed)?;
        }
        let manager = SqliteConnectionManager::file(&path).with_flags(flags()).with_init(|connection| {
            configure(connection)?;
            connection.pragma_update(None, "query_only", true)
        });
        let readers = Pool::builder()
            .max_size(options.pool_size)
            .min_idle(Some(0))
            .max_lifetime(None)
            .connection_timeout(POOL_WAIT)
            .error_handler(Box::new(NopErrorHandler))
            .build_unchecked(manager);
        Ok(Self {
            readers,
            writer: Mutex::new(writer),
            writes: Writes::default(),
            leftovers: Leftovers::unknown(),
            lock,
        })
    }

    /// A connection for reading.
    fn reader(&self) -> Result<PooledConnection<SqliteConnectionManager>, StorageError> {
        self.readers.get().map_err(pool_error)
    }

    /// The same, waiting for a time of its own.
    fn reader_within(
        &self,
        wait: Duration,
    ) -> Result<PooledConnection<SqliteConnectionManager>, StorageError> {
        self.readers.get_timeout(wait).map_err(pool_error)
    }

    /// Runs `work` in a transaction that holds the write lock from its start, and commits what it did
    /// unless it fails.
    fn write<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        self.writes.note(self.write_in_turn(durability, work))
    }

    fn write_in_turn<T>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let mut writer = self.writer.try_lock_for(WRITER_WAIT).ok_or_else(|| {
            StorageError::unavailable(format!("waited {} s for the turn to write", WRITER_WAIT.as_secs()))
        })?;
        if !writer.is_autocommit() {
            // A rollback failed (the disk was full, say); what it left open belongs to no one.
            writer.execute_batch("ROLLBACK").map_err(storage)?;
        }
        writer
            .execute_batch(match durability {
                Durability::Full => "PRAGMA synchronous = FULL",
                Durability::Process => "PRAGMA synchronous = NORMAL",
            })
            .map_err(storage)?;
        let transaction =
            writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(storage)?;
        let done = work(&transaction)?;
        transaction.commit().map_err(storage).map_err(StorageError::in_doubt)?;
        Ok(done)
    }

    /// Whether the file can be read and, as far as is known, written.
    fn is_well(&self, wait: Duration) -> Result<(), StorageError> {
        self.reader_within(wait)?
            .query_row("SELECT 1 FROM schema_version LIMIT 1", [], |_| Ok(()))
            .map_err(storage)?;
        self.writes.check(|| {
            self.write_in_turn(Durability::Full, |tx| {
                let trial = "UPDATE schema_version SET name = name WHERE version = 1";
                tx.execute(trial, []).map(|_| ()).map_err(storage)
            })
        })
    }
}

impl Vitals for Database {
    fn load(&self) -> StoreLoad {
        let state = self.readers.state();
        let writes = u32::from(self.writer.is_locked());
        StoreLoad {
            used: state.connections.saturating_sub(state.idle_connections) + writes,
            idle: state.idle_connections + 1 - writes,
            max: self.readers.max_size() + 1,
            is_away: self.writes.are_doubted(),
        }
    }
}

/// Brings the schema of the file up to date; gives what was run.
pub(super) fn migrate(path: &Path, by: &Origin) -> Result<Vec<&'static Migration>, OpenError> {
    let path = file::prepare(path)?;
    migrate::run(&mut connect(&path, flags())?, &path, false, by)
}

/// What that would run.
pub(super) fn pending(path: &Path) -> Result<Vec<&'static Migration>, OpenError> {
    match path.try_exists() {
        Ok(true) => migrate::pending(&mut connect(path, flags() - OpenFlags::SQLITE_OPEN_CREATE)?, path),
        Ok(false) => Ok(schema::MIGRATIONS.iter().collect()),
        Err(cause) => Err(OpenError::File { path: path.to_owned(), cause }),
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, OpenError> {
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        configure(&connection)?;
        Ok(connection)
    };
    open().map_err(|error| OpenError::Connect {
        address: format!("sqlite:{}", path.display()),
        cause: storage(error),
    })
}

fn flags() -> OpenFlags {
    // Without SQLITE_OPEN_URI: a path is a path.
    OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(SQLITE_BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    // secure_delete: what a caller deletes is overwritten, not left in free pages.
    connection.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;
         PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY;",
    )?;
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    // SQLite's own `lower` knows ASCII alone.
    connection
        .create_scalar_function("lower_case", 1, flags, |call| Ok(lower_case(call.get_raw(0).as_str()?)))
}

/// Letter by letter: a part of a text becomes a part of what the text becomes. (A sigma at the end of a word is another one
/// in lower case.)
fn lower_case(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c }).collect()
}

/// A moment as the tables keep it: whole milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
struct At(Timestamp);

impl ToSql for At {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.as_millisecond().into())
    }
}

impl FromSql for At {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let millis = value.as_i64()?;
        Timestamp::from_millisecond(millis).map(Self).map_err(|_| FromSqlError::OutOfRange(millis))
    }
}
