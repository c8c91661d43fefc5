//! The reasons why a database was not backed up.

use std::path::PathBuf;

use super::error::OpenError;
use crate::base::storage::StorageError;

/// The reason why a database was not backed up. No partial copy is left behind.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database is on PostgreSQL, which has backup tools of its own.
    #[error(
        "PostgreSQL makes its own backups: `pg_dump --format=custom --file=FILE` with the database's address, and \
         `pg_restore` for the way back (see `sightline manual backup-and-restore`)"
    )]
    NotHere,
    /// A file of that name exists.
    #[error("\"{}\" exists: a backup never overwrites a file", .0.display())]
    Exists(PathBuf),
    /// The database cannot be opened.
    #[error(transparent)]
    Open(OpenError),
    /// The database cannot be read, or the copy cannot be written.
    #[error("the backup failed: {0}")]
    Failed(#[source] StorageError),
    /// The copy failed its check and was removed.
    #[error("the backup failed its check and was removed: {0}")]
    Unsound(String),
}
