//! The reasons why a database was not backed up.

use std::fmt;
use std::path::PathBuf;

use super::error::OpenError;
use crate::base::storage::StorageError;

/// The reason why a database was not backed up. No partial copy is left behind.
#[derive(Debug)]
pub enum BackupError {
    /// The database is on PostgreSQL, which has backup tools of its own.
    NotHere,
    /// A file of that name exists.
    Exists(PathBuf),
    /// The database cannot be opened.
    Open(OpenError),
    /// The database cannot be read, or the copy cannot be written.
    Failed(StorageError),
    /// The copy failed its check and was removed.
    Unsound(String),
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHere => f.write_str(
                "PostgreSQL makes its own backups: `pg_dump --format=custom --file=FILE` with the database's \
                 address, and `pg_restore` for the way back (see `sightline manual backup-and-restore`)",
            ),
            Self::Exists(path) => {
                write!(f, "\"{}\" exists: a backup never overwrites a file", path.display())
            }
            Self::Open(error) => write!(f, "{error}"),
            Self::Failed(error) => write!(f, "the backup failed: {error}"),
            Self::Unsound(why) => write!(f, "the backup failed its check and was removed: {why}"),
        }
    }
}

impl std::error::Error for BackupError {}
