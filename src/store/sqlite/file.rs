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
use std::time::{Duration, Instant};
use std::{process, thread};

use log::info;
use rusqlite::{Connection, ErrorCode};

use super::error::{SqliteError, storage_error};
use crate::base::storage::StorageError;
use crate::store::error::{OpenError, Result};
use crate::store::limits::{SQLITE_LOCK_LOOK, SQLITE_LOCK_WAIT};

/// Creates the directory and the file if they are missing. Only their owner can read them, because the file will
/// contain the queries of searches. Returns the file's canonical path.
pub(super) fn prepare(path: &Path) -> Result<PathBuf, OpenError> {
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
/// process, for a person. The system releases the lock when the process ends. Returns `None` if `is_done` reports first
/// that the lock is not needed.
///
/// # Errors
/// Returns [`OpenError::InUse`] if another process holds the lock too long.
pub(super) fn lock(
    database: &Path,
    mut is_done: impl FnMut() -> Result<bool, OpenError>,
) -> Result<Option<File>, OpenError> {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    let failed = |cause| OpenError::File { path: path.clone().into(), cause };
    let lock = private_file(path.as_ref()).map_err(failed)?;
    let until = Instant::now() + SQLITE_LOCK_WAIT;
    loop {
        match lock.try_lock() {
            Ok(()) => {
                lock.set_len(0).and_then(|()| write!(&lock, "{}", process::id())).map_err(failed)?;
                return Ok(Some(lock));
            }
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
            Err(TryLockError::WouldBlock) if is_done()? => return Ok(None),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                let process = fs::read_to_string(&path).ok().and_then(|id| id.trim().parse().ok());
                return Err(OpenError::InUse { path: database.to_owned(), process });
            }
            Err(TryLockError::WouldBlock) => thread::sleep(SQLITE_LOCK_LOOK),
        }
    }
}

/// Whether the database file may be written.
pub(super) struct Integrity {
    path: PathBuf,
    /// The open file's device and inode.
    identity: (u64, u64),
    damage: OnceLock<String>,
}

impl Integrity {
    /// Returns the state of a file that was just opened under this path.
    pub(super) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path), damage: OnceLock::new() }
    }

    /// Checks that the file may be written.
    ///
    /// # Errors
    /// Returns an error if the file is damaged, or if its path leads to another file or to none.
    pub(super) fn check(&self) -> Result<(), StorageError> {
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
    pub(super) fn note_failure(&self, failure: StorageError) -> StorageError {
        let Some(damage) = damage(&failure) else { return failure };
        self.damage.get_or_init(|| damage.to_string());
        self.check().err().unwrap_or(failure)
    }
}

/// Returns the driver's message if it means damage.
fn damage(failure: &StorageError) -> Option<&SqliteError> {
    let cause = std::error::Error::source(failure)?;
    cause.downcast_ref::<SqliteError>().filter(|error| error.is_damage())
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
pub(super) fn check_file(connection: &Connection, path: &Path, longest: Duration) -> Result<(), OpenError> {
    let until = Instant::now() + longest;
    let check = || {
        connection.progress_handler(10_000, Some(move || Instant::now() >= until))?;
        let words: Result<String, _> = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
        // The handler would interrupt later statements of this connection, too.
        connection.progress_handler(0, None::<fn() -> bool>)?;
        words
    };
    let damaged = |why: String| Err(OpenError::Damaged { path: path.to_owned(), why });
    match check() {
        Ok(words) if words == "ok" => Ok(()),
        Ok(why) => damaged(why.lines().collect::<Vec<_>>().join("; ")),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            let seconds = longest.as_secs();
            info!(
                "only a part of the database was checked within {seconds} s; `sightline backup` checks all of it"
            );
            Ok(())
        }
        Err(error) => {
            let cause = storage_error(error);
            match damage(&cause) {
                Some(why) => damaged(why.to_string()),
                None => Err(OpenError::of_file(path, cause)),
            }
        }
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
