//! The database file: its creation, the lock that keeps a second server away, and whether it is intact and in its place.
//!
//! SQLite notices overwritten pages only when it reads them, and continues to write to a deleted file as long as it
//! is open. Therefore the file is checked at the start, an error that means damage is remembered until the server is
//! restarted, and the path of the file is checked before each write.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{process, thread};

use log::info;
use rusqlite::{Connection, ErrorCode};

use super::connection::connect;
use crate::base::storage::StorageError;
use crate::store::error::{Meaning, OpenError, Result, cause_of};
use crate::store::limits::{QUICK_CHECK, Role, SQLITE_LOCK_LOOK, SQLITE_LOCK_WAIT};
use crate::store::schema::{self, MIGRATIONS, Migration};
use crate::store::tx::Tx;

/// Queries whether a file is new or one of this program, whose application id is "SLDB". A database that was restored from a
/// dump has lost it.
const IS_OURS: &str = "SELECT 1 FROM pragma_application_id WHERE application_id = 1397507138 OR application_id = 0 \
     AND (NOT EXISTS (SELECT 1 FROM sqlite_schema) OR EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'))";

/// An open file.
pub(in crate::store) struct DatabaseFile {
    pub(in crate::store) path: PathBuf,
    /// The open file's device and inode.
    identity: (u64, u64),
    damage: OnceLock<String>,
    /// Whether the write-ahead log may hold deleted data. That is overwritten in the file, but stays in its log until the
    /// log is overwritten, which may never happen on a quiet server.
    pub(in crate::store) has_traces: AtomicBool,
    /// The lock of a server.
    pub(in crate::store) lock: Option<File>,
}

impl DatabaseFile {
    /// Opens or creates a file, and brings its schema up to date.
    pub(in crate::store) fn open(path: &Path, role: Role) -> Result<(Self, Tx), OpenError> {
        let path = prepare(path)?;
        let opened = |cause| opened(&path, cause);
        let is_server = role == Role::Server;
        let lock = match is_server {
            true => lock(&path, || Ok(false))?,
            false => None,
        };
        let mut tx = open(&path)?;
        if let (true, Tx::Sqlite(connection)) = (is_server, &tx) {
            check_file(connection, &path, QUICK_CHECK)?;
        }
        // Only one process at a time makes a file ready. Otherwise SQLite would refuse the second one at once when both
        // switch to WAL, because it never waits for a read lock to become a write lock.
        let lock = match lock {
            None => self::lock(&path, || is_ready(&mut tx, opened))?,
            lock => lock,
        };
        if lock.is_some() && !is_ready(&mut tx, opened)? {
            tx.batch("PRAGMA journal_mode = WAL", "").map_err(opened)?;
            schema::migrate(&mut tx, &role.origin(), opened)?;
        }
        if is_server {
            // The file lock proves that no other server drives a run, so no lease has to expire first.
            let release = "UPDATE runs SET owner = NULL WHERE {has_begun}";
            tx.execute(release, Vec::new()).map_err(opened)?;
        }
        let (identity, lock) = (identity(&path), lock.filter(|_| is_server));
        // A process that was killed may have left deleted data in the log.
        Ok((Self { path, identity, damage: OnceLock::new(), has_traces: true.into(), lock }, tx))
    }

    /// Checks that the file may be written.
    ///
    /// # Errors
    /// Returns an error if the file is damaged, or if its path leads to another file or to none.
    pub(in crate::store) fn check(&self) -> Result<()> {
        let why = match self.damage.get() {
            Some(damage) => format!("is damaged, nothing more is written: {damage}; stop the server"),
            None if identity(&self.path) == self.identity => return Ok(()),
            None => {
                "was removed or replaced while it is in use, nothing more is written: move it back, or stop \
                     the server"
                    .to_owned()
            }
        };
        let path = self.path.display();
        Err(StorageError::unavailable(format!("the database file \"{path}\" {why} and restore a backup")))
    }

    /// Stores an error that means damage. Callers get it as an unavailable store, because nobody but the operator can
    /// do anything about it.
    pub(in crate::store) fn note_failure(&self, failure: StorageError) -> StorageError {
        if !matches!(Meaning::of(&failure), Some(Meaning::Damage | Meaning::Foreign)) {
            return failure;
        }
        self.damage.get_or_init(|| cause_of(&failure));
        self.check().err().unwrap_or(failure)
    }
}

/// Opens a file that exists, unless it belongs to another program.
///
/// # Errors
/// Returns an error for an operator.
pub(super) fn open(path: &Path) -> Result<Tx, OpenError> {
    let mut tx = connect(path).map_err(|cause| opened(path, cause))?;
    match tx.has(IS_OURS, Vec::new()).map_err(|cause| opened(path, cause))? {
        true => Ok(tx),
        false => Err(foreign(path, "contains the tables of another program")),
    }
}

/// Returns the migrations that opening a file would run.
pub(in crate::store) fn pending(path: &Path) -> Result<&'static [Migration], OpenError> {
    match path.try_exists() {
        Ok(true) => schema::missing(&mut open(path)?, |cause| opened(path, cause)),
        Ok(false) => Ok(MIGRATIONS),
        Err(cause) => Err(OpenError::File { path: path.to_owned(), cause }),
    }
}

/// Returns whether the schema is up to date, and the file in the mode in which readers never wait.
fn is_ready(tx: &mut Tx, opened: impl Fn(StorageError) -> OpenError) -> Result<bool, OpenError> {
    let is_current = schema::missing(tx, &opened)?.is_empty();
    let mode: Option<String> = tx.first("PRAGMA journal_mode", Vec::new()).map_err(opened)?;
    Ok(is_current && mode.as_deref() == Some("wal"))
}

/// Returns the error for an operator of a file that cannot be opened or used.
fn opened(path: &Path, cause: StorageError) -> OpenError {
    match Meaning::of(&cause) {
        Some(Meaning::Foreign) => foreign(
            path,
            "is not an SQLite file, is encrypted or is damaged; if it was one, restore a backup",
        ),
        Some(Meaning::Damage) => OpenError::Damaged { path: path.to_owned(), why: cause_of(&cause) },
        _ => OpenError::Connect { address: format!("sqlite:{}", path.display()), cause },
    }
}

fn foreign(path: &Path, why: &str) -> OpenError {
    OpenError::Foreign(format!("\"{}\" {why}", path.display()))
}

/// Creates the directory and the file if they are missing. Only their owner can read them, because the file will
/// contain the queries of searches. Returns the file's canonical path.
fn prepare(path: &Path) -> Result<PathBuf, OpenError> {
    let failed = |cause| OpenError::File { path: path.to_owned(), cause };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    let file = private_file(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    path.canonicalize().map_err(failed)
}

fn private_file(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Takes the lock on `PATH.lock`, which a server holds until it ends, and a command while it changes the schema. It has its
/// own file because closing a second handle of the database file would release SQLite's locks. The file has the id of the
/// process, for a person. The system releases the lock when the process ends. Returns `None` once `is_done` reports that
/// the lock is not needed.
///
/// # Errors
/// Returns [`OpenError::InUse`] if another process holds the lock too long.
fn lock(
    database: &Path,
    mut is_done: impl FnMut() -> Result<bool, OpenError>,
) -> Result<Option<File>, OpenError> {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    let failed = |cause| OpenError::File { path: path.clone().into(), cause };
    let lock = private_file(path.as_ref()).map_err(failed)?;
    let until = Instant::now() + SQLITE_LOCK_WAIT;
    while !is_done()? {
        match lock.try_lock() {
            Ok(()) => {
                lock.set_len(0).and_then(|()| write!(&lock, "{}", process::id())).map_err(failed)?;
                return Ok(Some(lock));
            }
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                let process = fs::read_to_string(&path).ok().and_then(|id| id.trim().parse().ok());
                return Err(OpenError::InUse { path: database.to_owned(), process });
            }
            Err(TryLockError::WouldBlock) => thread::sleep(SQLITE_LOCK_LOOK),
        }
    }
    Ok(None)
}

fn identity(path: &Path) -> (u64, u64) {
    // A missing file has the identity (0, 0), which no file has.
    fs::metadata(path).map_or((0, 0), |file| (file.dev(), file.ino()))
}

/// Checks the structure of the whole file (`PRAGMA quick_check`) for at most `longest`; of a larger file only a part is
/// checked.
///
/// # Errors
/// Returns [`OpenError::Damaged`] if the file is damaged, or another error if it cannot be read.
fn check_file(connection: &Connection, path: &Path, longest: Duration) -> Result<(), OpenError> {
    let until = Instant::now() + longest;
    let check = || {
        connection.progress_handler(10_000, Some(move || Instant::now() >= until))?;
        let words: Result<String, _> = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
        // The handler would interrupt later statements of this connection, too.
        connection.progress_handler(0, None::<fn() -> bool>)?;
        words
    };
    match check() {
        Ok(words) if words == "ok" => Ok(()),
        Ok(why) => {
            let why = why.lines().collect::<Vec<_>>().join("; ");
            Err(OpenError::Damaged { path: path.to_owned(), why })
        }
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            let seconds = longest.as_secs();
            info!(
                "only a part of the database was checked within {seconds} s; `sightline backup` checks all of it"
            );
            Ok(())
        }
        Err(error) => Err(opened(path, error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_ends_early_leaves_later_statements_alone() {
        let connection = Connection::open_in_memory().unwrap();
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)";
        connection.execute_batch(&format!("CREATE TABLE t AS {numbers} SELECT i FROM n")).unwrap();
        check_file(&connection, Path::new("t.db"), Duration::ZERO).unwrap();
        let sum: i64 =
            connection.query_row("SELECT count(*) FROM t WHERE i % 2 = 0", [], |row| row.get(0)).unwrap();
        assert_eq!(sum, 25_000);
    }
}
