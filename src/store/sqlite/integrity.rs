//! Checks whether the database file is intact and in its place.
//!
//! SQLite notices overwritten pages only when it reads them, and continues to write to a deleted file as long as it
//! is open. Therefore the file is checked at the start, an error that means damage is remembered until the server is
//! restarted, and the path of the file is checked before each write.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use log::{error, info};
use rusqlite::{Connection, ErrorCode};

use super::error::{SqliteError, storage_error};
use crate::base::storage::StorageError;
use crate::store::error::OpenError;
use crate::store::limits::QUICK_CHECK;

/// The last known state of the database file.
pub(super) struct Integrity {
    path: PathBuf,
    /// The open file's device and inode.
    identity: (u64, u64),
    damage: OnceLock<String>,
    is_missing: AtomicBool,
}

impl Integrity {
    /// Returns the state of a file that was just opened under this path.
    pub(super) fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            identity: identity(path),
            damage: OnceLock::new(),
            is_missing: AtomicBool::new(false),
        }
    }

    /// Checks that the file may be written.
    ///
    /// # Errors
    /// Returns an error if the file is damaged, or if its path leads to another file or to none.
    pub(super) fn check(&self) -> Result<(), StorageError> {
        if let Some(damage) = self.damage.get() {
            let text = format!("the database file is damaged ({damage}); it is read-only until a restart");
            return Err(StorageError::unavailable(text));
        }
        let is_missing = identity(&self.path) != self.identity;
        if is_missing != self.is_missing.swap(is_missing, Ordering::Relaxed) {
            self.tell(is_missing);
        }
        if is_missing {
            let text = format!("the database file \"{}\" was removed or replaced", self.path.display());
            return Err(StorageError::unavailable(text));
        }
        Ok(())
    }

    fn tell(&self, is_missing: bool) {
        let path = self.path.display();
        if is_missing {
            error!(
                "the database file \"{path}\" was removed or replaced while it is in use: nothing more is written; \
                 move it back, or stop the server and restore a backup"
            );
        } else {
            info!("the database file \"{path}\" is back in its place");
        }
    }

    /// Returns whether the file is known to be damaged or missing.
    pub(super) fn is_impaired(&self) -> bool {
        self.damage.get().is_some() || self.is_missing.load(Ordering::Relaxed)
    }

    /// Stores an error that means damage. Callers get it as an unavailable store, because nobody but the operator can
    /// do anything about it.
    pub(super) fn note_failure(&self, failure: StorageError) -> StorageError {
        let Some(damage) = damage(&failure).map(ToString::to_string) else { return failure };
        if self.damage.set(damage.clone()).is_ok() {
            error!(
                "the database file \"{}\" is damaged, nothing more is written: {damage}; stop the server and restore a \
                 backup",
                self.path.display()
            );
        }
        StorageError::unavailable(format!("the database file is damaged ({damage})"))
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

/// Checks the structure of the whole file (`PRAGMA quick_check`) for at most [`QUICK_CHECK`]; of a larger file only a
/// part is checked.
///
/// # Errors
/// Returns [`OpenError::Damaged`] if the file is damaged, or another error if it cannot be read.
pub(super) fn check_file(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let until = Instant::now() + QUICK_CHECK;
    let check = || {
        connection.progress_handler(10_000, Some(move || Instant::now() >= until))?;
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
    };
    let words = check().and_then(|words| {
        connection.progress_handler(0, None::<fn() -> bool>)?;
        Ok(words)
    });
    let damaged = |why: String| OpenError::Damaged { path: path.to_owned(), why };
    match words {
        Ok(words) if words == "ok" => Ok(()),
        Ok(why) => Err(damaged(why.lines().collect::<Vec<_>>().join("; "))),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            let seconds = QUICK_CHECK.as_secs();
            info!(
                "only a part of the database was checked within {seconds} s; `sightline backup` checks all of it"
            );
            Ok(())
        }
        Err(error) => {
            let cause = storage_error(error);
            match damage(&cause) {
                Some(why) => Err(damaged(why.to_string())),
                None => Err(OpenError::Connect { address: format!("sqlite:{}", path.display()), cause }),
            }
        }
    }
}
