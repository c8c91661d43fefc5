//! A copy of the whole database, of one moment, while a server runs.

use std::fmt;
use std::path::{Path, PathBuf};

use super::url::{DatabaseUrl, Target};
use super::{OpenError, sqlite};
use crate::base::storage::StorageError;

/// Why there is no copy. Nothing is left of one that was begun.
#[derive(Debug)]
pub enum BackupError {
    /// PostgreSQL has tools of its own, which know more than this program.
    NotHere,
    /// There is a file of that name already.
    Exists(PathBuf),
    /// The database cannot be opened.
    Open(OpenError),
    /// The copy cannot be written, or the database cannot be read.
    Failed(StorageError),
    /// The copy was written and is not sound.
    Unsound(String),
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHere => f.write_str(
                "PostgreSQL makes its own backups: `pg_dump --format=custom --file=FILE` with the database's \
                 address, and `pg_restore` for the way back (see \"Backups\" in the README)",
            ),
            Self::Exists(path) => {
                write!(f, "\"{}\" is there already: a backup overwrites nothing", path.display())
            }
            Self::Open(error) => write!(f, "{error}"),
            Self::Failed(error) => write!(f, "the backup failed: {error}"),
            Self::Unsound(why) => write!(f, "the backup is not sound and was removed: {why}"),
        }
    }
}

impl std::error::Error for BackupError {}

/// Copies an SQLite database into a new file, which is there whole or not at all, and checks it.
///
/// # Errors
/// Each [`BackupError`] says what to do.
pub fn back_up(url: &DatabaseUrl, copy: &Path) -> Result<(), BackupError> {
    match url.target() {
        Target::Sqlite(path) => sqlite::back_up(path, copy),
        Target::Postgres(_) => Err(BackupError::NotHere),
    }
}
