//! Copies of an SQLite database.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use super::connection::{EXISTING, connect};
use super::error::storage_error;
use crate::base::files::rename_new;
use crate::base::storage::StorageError;
use crate::store::error::{BackupError, Result};

/// Copies a database that may be in use. `VACUUM INTO` reads it in one transaction. Therefore the copy contains
/// nothing that is committed later, and no other process waits, regardless of the size.
pub(in crate::store) fn back_up(path: &Path, copy: &Path) -> Result<(), BackupError> {
    if copy.exists() {
        return Err(BackupError::Exists(copy.to_owned()));
    }
    let source = connect(path, EXISTING).map_err(BackupError::Open)?;
    let temporary =
        TemporaryCopy::create(copy).map_err(|error| BackupError::Failed(StorageError::unavailable(error)))?;
    let text =
        temporary.0.to_str().ok_or_else(|| BackupError::Unsound("its name is not UTF-8".to_owned()))?;
    source.execute("VACUUM INTO ?1", params![text]).map_err(storage_error).map_err(BackupError::Failed)?;
    drop(source);
    check(&temporary.0)?;
    temporary.persist(copy).map_err(|error| BackupError::Failed(StorageError::unavailable(error)))
}

/// Checks every page of a copy.
fn check(copy: &Path) -> Result<(), BackupError> {
    let words = || -> rusqlite::Result<String> {
        let copy = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        copy.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
    };
    match words().map_err(storage_error).map_err(BackupError::Failed)?.as_str() {
        "ok" => Ok(()),
        why => Err(BackupError::Unsound(why.to_owned())),
    }
}

/// A copy that is being written. Its file is removed on drop unless it was moved to its final path.
struct TemporaryCopy(PathBuf);

impl TemporaryCopy {
    /// Creates an empty file that only its owner can read, because it will contain the queries of searches.
    fn create(copy: &Path) -> io::Result<Self> {
        let mut name = copy.as_os_str().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let path = PathBuf::from(name);
        File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self(path))
    }

    /// Syncs the copy to the disk, then gives it its final name. Fails if a file of that name exists.
    fn persist(self, copy: &Path) -> io::Result<()> {
        File::open(&self.0)?.sync_all()?;
        rename_new(&self.0, copy)?;
        if let Some(folder) = copy.parent() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for TemporaryCopy {
    fn drop(&mut self) {
        // If this fails, nothing can be done.
        let _ = fs::remove_file(&self.0);
    }
}
