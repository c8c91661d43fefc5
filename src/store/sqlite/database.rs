use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use log::warn;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::connection::{configure, connect, flags, open};
use super::error::storage_error;
use super::file::{self, FileLock};
use super::integrity::{self, Integrity};
use super::migrate;
use super::statements::OnConnection;
use crate::base::storage::StorageError;
use crate::store::backend::{Backend, Durability, End, Operation, Work};
use crate::store::error::OpenError;
use crate::store::limits::{BACKGROUND_WAIT, PING_WAIT, SQLITE_BUSY, WIPE_WAIT};
use crate::store::pool::{self, Pool};
use crate::store::queries::queue::has_begun;
use crate::store::role::Role;

/// An open SQLite database.
pub(in crate::store) struct Database {
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
    lock: Option<FileLock>,
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
    pub(in crate::store) fn open(path: &Path, role: Role) -> Result<Self, OpenError> {
        let path = file::prepare(path)?;
        let lock = match role {
            Role::Server => Some(FileLock::for_a_server(&path)?),
            Role::Command => None,
        };
        let mut connection = connect(&path, flags())?;
        let integrity = Integrity::of(&path);
        if lock.is_some() {
            // Nothing else is read from a file of another program.
            migrate::pending_on(&mut connection, &path)?;
            integrity::check_file(&connection, &path)?;
        }
        migrate::run(&mut connection, &path, lock.is_some(), &role.origin())?;
        if lock.is_some() {
            // The file lock proves that no other server drives a run, so no lease has to expire first.
            let release = concat!("UPDATE runs SET owner = NULL WHERE ", has_begun!());
            connection.execute(release, []).map_err(storage_error).map_err(|cause| OpenError::Connect {
                address: format!("sqlite:{}", path.display()),
                cause,
            })?;
        }
        let [reading, writing, _] = role.pool_sizes();
        let readers = Pool::new(reading + writing);
        // A process that was killed may have left deleted data in the log.
        let file = DatabaseFile { path, readers, integrity, has_traces: true.into(), lock };
        Ok(Self { writer: one(connection), file: Some(file) })
    }

    /// Creates a database of which nothing is left when it is dropped.
    pub(in crate::store) fn in_memory() -> Result<Self, OpenError> {
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
    fn with_writer<T>(
        &self,
        wait: Duration,
        work: impl FnOnce(&mut Connection) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let make = || match &self.file {
            Some(file) => open(&file.path, flags() - OpenFlags::SQLITE_OPEN_CREATE),
            None => Err(StorageError::broken("the database in memory is lost")),
        };
        self.writer.with(wait, make, |connection| {
            connection.busy_timeout(wait.min(SQLITE_BUSY)).map_err(storage_error)?;
            work(connection)
        })
    }

    /// Runs `work` in a transaction that holds the write lock from its start.
    fn write_in_turn(&self, operation: &Operation, work: Work<'_>) -> Result<(), StorageError> {
        self.with_writer(operation.wait, |connection| {
            connection
                .execute_batch(match operation.durability {
                    Durability::Full => "PRAGMA synchronous = FULL",
                    Durability::Process => "PRAGMA synchronous = NORMAL",
                })
                .map_err(storage_error)?;
            let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
            let transaction = begun.map_err(storage_error)?;
            match work(&mut OnConnection(&transaction))? {
                End::Commit => transaction.commit().map_err(storage_error).map_err(StorageError::unconfirmed),
                End::RollBack => transaction.rollback().map_err(storage_error),
            }
        })
    }

    fn read_within(&self, wait: Duration, work: Work<'_>) -> Result<(), StorageError> {
        match &self.file {
            Some(file) => {
                let make = || {
                    let reader = open(&file.path, flags() - OpenFlags::SQLITE_OPEN_CREATE)?;
                    reader.pragma_update(None, "query_only", true).map_err(storage_error)?;
                    Ok(reader)
                };
                file.readers.with(wait, make, |connection| work(&mut OnConnection(connection)).map(drop))
            }
            None => self.with_writer(wait, |connection| work(&mut OnConnection(connection)).map(drop)),
        }
    }
}

fn one(connection: Connection) -> Pool<Connection> {
    let pool = Pool::new(1);
    pool.add(connection);
    pool
}

/// Empties the write-ahead log while all writers wait. Returns `false` if readers blocked this until the connection's
/// time limit.
fn truncate(writer: &Connection) -> Result<bool, StorageError> {
    let busy = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    busy.map(|busy| busy == 0).map_err(storage_error)
}

impl Backend for Database {
    fn read(&self, operation: &Operation, work: Work<'_>) -> Result<(), StorageError> {
        self.read_within(operation.wait, work)
    }

    fn write(&self, operation: &Operation, work: Work<'_>) -> Result<(), StorageError> {
        let Some(file) = &self.file else { return self.write_in_turn(operation, work) };
        file.integrity.check()?;
        let done = self.write_in_turn(operation, work);
        if operation.erases {
            // This is also done if the commit failed, because the deleted data may be in the log.
            file.has_traces.store(true, Ordering::SeqCst);
        }
        done
    }

    fn check(&self) -> Result<(), StorageError> {
        if let Some(file) = &self.file {
            file.integrity.check()?;
        }
        self.read_within(PING_WAIT, &mut |statements| {
            statements.rows("SELECT 1 FROM schema_version LIMIT 1", &[]).map(|_| End::Commit)
        })
    }

    fn load(&self) -> [usize; 3] {
        let (writer, readers) = (self.writer.load(), self.file.as_ref().map(|file| file.readers.load()));
        let readers = readers.unwrap_or_default();
        [0, 1, 2].map(|figure| writer[figure] + readers[figure])
    }

    fn is_impaired(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.integrity.is_impaired())
    }

    fn note_failure(&self, failure: StorageError) -> StorageError {
        match &self.file {
            Some(file) => file.integrity.note_failure(failure),
            None => failure,
        }
    }

    fn wipe(&self) -> Result<bool, StorageError> {
        let Some(file) = &self.file else { return Ok(true) };
        // This is called every second, so a file that was removed is noticed even without requests.
        file.integrity.check()?;
        if !file.has_traces.swap(false, Ordering::SeqCst) {
            return Ok(true);
        }
        let wiped = match self.with_writer(WIPE_WAIT, |writer| truncate(writer)) {
            Err(error) if error.is_contended() => Ok(false),
            wiped => wiped,
        };
        file.has_traces.fetch_or(!matches!(wiped, Ok(true)), Ordering::SeqCst);
        wiped
    }

    fn account_erased(&self) {
        // A server's maintenance empties the log within a second. A command has no maintenance thread.
        if self.file.as_ref().is_none_or(|file| file.lock.is_some()) {
            return;
        }
        match self.with_writer(BACKGROUND_WAIT, |writer| truncate(writer)) {
            Ok(true) => {}
            Ok(false) => {
                warn!(
                    "the write-ahead log still holds deleted data because another process reads it; it is emptied later"
                );
            }
            Err(error) => warn!("the write-ahead log still holds deleted data: {error}"),
        }
    }
}
