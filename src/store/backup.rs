//! Copies of a whole SQLite database while a server runs.

use std::path::Path;

pub use super::backup_error::BackupError;
use super::sqlite;
use super::url::{DatabaseUrl, Target};

/// Copies an SQLite database into a new file and checks the copy. The file appears complete or not at all.
///
/// # Errors
/// Returns a [`BackupError`], whose text says what to do.
pub fn back_up(url: &DatabaseUrl, copy: &Path) -> Result<(), BackupError> {
    match url.target() {
        Target::Sqlite(path) => sqlite::back_up(path, copy),
        Target::Postgres(_) => Err(BackupError::NotHere),
    }
}
