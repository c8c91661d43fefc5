//! Copies of an SQLite database.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::connection::connect;
use super::file::open;
use crate::base::storage::StorageError;
use crate::store::error::BackupError;
use crate::store::tx::Tx;
use crate::store::value::values;

/// Copies a database that may be in use. `VACUUM INTO` reads it in one transaction. Therefore the copy contains
/// nothing that is committed later, and no other process waits, regardless of the size.
pub(in crate::store) fn back_up(path: &Path, copy: &Path) -> Result<(), BackupError> {
    if copy.exists() {
        return Err(BackupError::Exists(copy.to_owned()));
    }
    let mut source = open(path).map_err(BackupError::Open)?;
    let unwritable = |error: io::Error| BackupError::Failed(StorageError::unavailable(error));
    let mut name = copy.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = PathBuf::from(name);
    // Only its owner can read it, because it will contain the queries of searches.
    File::options().write(true).create_new(true).mode(0o600).open(&new).map_err(unwritable)?;
    let done = fill(&mut source, &new).and_then(|()| persist(&new, copy).map_err(unwritable));
    // If this fails, nothing can be done.
    done.inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Writes the copy, and checks each of its pages.
fn fill(source: &mut Tx, new: &Path) -> Result<(), BackupError> {
    let name = new.to_str().ok_or_else(|| BackupError::Unsound("its name is not UTF-8".to_owned()))?;
    let words = source
        .execute("VACUUM INTO ?1", values![name])
        .and_then(|_| connect(new)?.first::<String>("PRAGMA integrity_check(1)", values![]));
    match words.map_err(BackupError::Failed)? {
        Some(words) if words == "ok" => Ok(()),
        words => Err(BackupError::Unsound(words.unwrap_or_default())),
    }
}

/// Syncs the copy to the disk, then gives it its final name. Fails if a file of that name exists.
fn persist(new: &Path, copy: &Path) -> io::Result<()> {
    File::open(new)?.sync_all()?;
    // An empty file takes the name for a moment, so that nobody else does. Not every file system has hard links.
    File::create_new(copy)?;
    fs::rename(new, copy).inspect_err(|_| drop(fs::remove_file(copy)))?;
    if let Some(folder) = copy.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
