//! SQLite: one file, one server, and any number of short commands at the same time.
//!
//! In WAL mode readers never wait. SQLite has one writer at a time. This process has one connection that writes, and
//! callers queue for it in memory ([`Pool`](super::pool::Pool)) instead of polling the file.
//!
//! # Durability
//! A crash of the process loses nothing. Commits that concern money, access or a guarantee reach the disk at once
//! (`synchronous = FULL`). What a live run saves (`NORMAL`) reaches it with the next such commit
//! or with the next checkpoint of the WAL. A power cut may lose its last seconds, and the run is then resumed from its
//! stored state. The file stays consistent in any case.

mod backup;
pub(super) mod connection;
mod error;
mod file;
mod migrate;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use log::warn;
use rusqlite::{Connection, TransactionBehavior};

pub(super) use backup::back_up;
pub(super) use migrate::pending;

use self::connection::{EXISTING, NEW, configure, connect, open};
use self::error::storage_error;
use self::file::Integrity;
use super::error::{OpenError, Result};
use super::limits::{BACKGROUND_WAIT, PING_WAIT, POOL_SIZES, QUICK_CHECK, Role, SQLITE_BUSY, WIPE_WAIT};
use super::pool::{self, Pool};
use super::tx::{Operation, Tx};
use crate::base::storage::StorageError;

/// An open SQLite database.
pub(super) struct Database {
    /// The only connection that writes. A database in memory has no other.
    writer: Pool<Connection>,
    file: Option<DatabaseFile>,
}

/// The file of a database.
struct DatabaseFile {
    path: PathBuf,
    readers: Pool<Connection>,
    integrity: Integrity,
    /// Whether the write-ahead log may hold deleted data. That is overwritten in the file, but stays in its log until the
    /// log is overwritten, which may never happen on a quiet server.
    has_traces: AtomicBool,
    /// The lock of a server.
    lock: Option<File>,
}

impl pool::Connection for Connection {
    fn is_broken(&self) -> bool {
        // A rollback has failed, for example because the disk was full, and its transaction is still open. It ends with
        // the connection, unless the database would end, too.
        !self.is_autocommit() && self.path().is_some_and(|path| !path.is_empty())
    }
}

impl Database {
    /// Opens or creates the file.
    pub(super) fn open(path: &Path, role: Role) -> Result<Self, OpenError> {
        let path = file::prepare(path)?;
        let lock = match role {
            Role::Server => file::lock(&path, || Ok(false))?,
            Role::Command => None,
        };
        let mut connection = connect(&path, NEW)?;
        let integrity = Integrity::of(&path);
        if lock.is_some() {
            // Nothing else is read from a file of another program.
            migrate::pending_on(&mut connection, &path)?;
            file::check_file(&connection, &path, QUICK_CHECK)?;
        }
        migrate::run(&mut connection, &path, lock.is_some(), &role.origin())?;
        if lock.is_some() {
            // The file lock proves that no other server drives a run, so no lease has to expire first.
            let release = "UPDATE runs SET owner = NULL WHERE {has_begun}";
            let released = Tx::Sqlite(&connection).execute(release, Vec::new());
            released.map_err(|cause| OpenError::of_file(&path, cause))?;
        }
        let [reading, writing, _] = POOL_SIZES;
        let readers = Pool::new(reading + writing);
        // A process that was killed may have left deleted data in the log.
        let file = DatabaseFile { path, readers, integrity, has_traces: true.into(), lock };
        Ok(Self { writer: one(connection), file: Some(file) })
    }

    /// Creates a database of which nothing is left when it is dropped.
    pub(super) fn in_memory() -> Result<Self, OpenError> {
        let create = || {
            let connection = Connection::open_in_memory().map_err(storage_error)?;
            configure(&connection).map_err(storage_error)?;
            migrate::create(&connection)?;
            Ok(Self { writer: one(connection), file: None })
        };
        create().map_err(|cause| OpenError::Connect { address: "sqlite::memory:".into(), cause })
    }

    /// Runs `work` on the connection that writes. It waits for other callers and then, as long again but at most
    /// [`SQLITE_BUSY`], for another process.
    fn with_writer<T>(&self, wait: Duration, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        let make = || match &self.file {
            Some(file) => open(&file.path, EXISTING),
            None => Err(StorageError::broken("the database in memory is lost")),
        };
        self.writer.with(wait, make, |connection| {
            connection.busy_timeout(wait.min(SQLITE_BUSY)).map_err(storage_error)?;
            work(connection)
        })
    }

    /// Runs statements that read, without a transaction around them.
    pub(super) fn read<T>(&self, wait: Duration, work: impl FnOnce(&mut Tx<'_>) -> Result<T>) -> Result<T> {
        let Some(file) = &self.file else {
            return self.with_writer(wait, |connection| work(&mut Tx::Sqlite(connection)));
        };
        let make = || {
            let reader = open(&file.path, EXISTING)?;
            reader.pragma_update(None, "query_only", true).map_err(storage_error)?;
            Ok(reader)
        };
        file.readers.with(wait, make, |connection| work(&mut Tx::Sqlite(connection)))
    }

    /// Runs statements in one transaction that holds the write lock from its start. Rolls it back if `work` fails, or if
    /// `keep` returns `false` for its outcome.
    pub(super) fn write<T>(
        &self,
        operation: Operation,
        keep: impl FnOnce(&T) -> bool,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T>,
    ) -> Result<T> {
        if let Some(file) = &self.file {
            file.integrity.check()?;
        }
        let done = self.with_writer(operation.wait, |connection| {
            let synchronous = if operation.is_light { "NORMAL" } else { "FULL" };
            connection.pragma_update(None, "synchronous", synchronous).map_err(storage_error)?;
            let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
            let transaction = begun.map_err(storage_error)?;
            let done = work(&mut Tx::Sqlite(&transaction))?;
            match keep(&done) {
                true => transaction.commit().map_err(storage_error).map_err(StorageError::unconfirmed)?,
                false => transaction.rollback().map_err(storage_error)?,
            }
            Ok(done)
        });
        if let Some(file) = self.file.as_ref().filter(|_| operation.erases) {
            // This is also done if the commit failed, because the deleted data may be in the log.
            file.has_traces.store(true, Ordering::SeqCst);
            // A server's maintenance empties the log within a second.
            if file.lock.is_none() && !matches!(self.wipe(), Ok(true)) {
                warn!(
                    "the write-ahead log still holds deleted data, because another process uses it; it is emptied later"
                );
            }
        }
        done
    }

    /// Checks that the database answers and that keys can be read.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(file) = &self.file {
            file.integrity.check()?;
        }
        self.read(PING_WAIT, |tx| tx.has("SELECT 1 FROM schema_version LIMIT 1", Vec::new()).map(drop))
    }

    /// Returns the numbers of connections in use, idle, and allowed.
    pub(super) fn load(&self) -> [usize; 3] {
        let (writer, readers) = (self.writer.load(), self.file.as_ref().map(|file| file.readers.load()));
        let readers = readers.unwrap_or_default();
        [0, 1, 2].map(|figure| writer[figure] + readers[figure])
    }

    /// Returns whether the file is known to be damaged or missing.
    pub(super) fn is_impaired(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.integrity.check().is_err())
    }

    /// Records that an operation failed, which may indicate damage. Returns the error for the caller.
    pub(super) fn note_failure(&self, failure: StorageError) -> StorageError {
        match &self.file {
            Some(file) => file.integrity.note_failure(failure),
            None => failure,
        }
    }

    /// Empties the write-ahead log if it may hold deleted data. Returns `false` if readers blocked this.
    pub(super) fn wipe(&self) -> Result<bool> {
        let Some(file) = &self.file else { return Ok(true) };
        // This is called every second, so a file that was removed is noticed even without requests.
        file.integrity.check()?;
        if !file.has_traces.swap(false, Ordering::SeqCst) {
            return Ok(true);
        }
        let wait = if file.lock.is_some() { WIPE_WAIT } else { BACKGROUND_WAIT };
        let wiped = match self.with_writer(wait, |writer| truncate(writer)) {
            Err(error) if error.is_contended() => Ok(false),
            wiped => wiped,
        };
        file.has_traces.fetch_or(!matches!(wiped, Ok(true)), Ordering::SeqCst);
        wiped
    }
}

fn one(connection: Connection) -> Pool<Connection> {
    let pool = Pool::new(1);
    pool.add(connection);
    pool
}

/// Empties the write-ahead log while all writers wait. Returns `false` if readers blocked this until the connection's
/// time limit.
fn truncate(writer: &Connection) -> Result<bool> {
    let busy = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    busy.map(|busy| busy == 0).map_err(storage_error)
}
