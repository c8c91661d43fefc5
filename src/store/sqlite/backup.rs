//! A copy of the file, of one moment.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use super::error::storage;
use super::{connect, flags};
use crate::base::storage::StorageError;
use crate::store::backup::BackupError;

/// Copies a database that may be in use. `VACUUM INTO` reads it in one transaction: what is committed later is not
/// in the copy, and nobody waits for it, whatever its size.
pub(in crate::store) fn back_up(path: &Path, copy: &Path) -> Result<(), BackupError> {
    if copy.exists() {
        return Err(BackupError::Exists(copy.to_owned()));
    }
    let source = connect(path, flags() - OpenFlags::SQLITE_OPEN_CREATE).map_err(BackupError::Open)?;
    let beside =
        Beside::create(copy).map_err(|error| BackupError::Failed(StorageError::unavailable(error)))?;
    let text = beside.0.to_str().ok_or_else(|| BackupError::Unsound("its name is not UTF-8".to_owned()))?;
    source.execute("VACUUM INTO ?1", params![text]).map_err(storage).map_err(BackupError::Failed)?;
    drop(source);
    check(&beside.0)?;
    beside.put_in_place(copy).map_err(|error| BackupError::Failed(StorageError::unavailable(error)))
}

/// Reads every page of it.
fn check(copy: &Path) -> Result<(), BackupError> {
    let words = || -> rusqlite::Result<String> {
        let copy = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        copy.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
    };
    match words().map_err(storage).map_err(BackupError::Failed)?.as_str() {
        "ok" => Ok(()),
        why => Err(BackupError::Unsound(why.to_owned())),
    }
}

/// The copy while it is written; gone when this is dropped before it is put in place.
struct Beside(PathBuf);

impl Beside {
    /// Empty, for its owner alone: it will hold what people searched for.
    fn create(copy: &Path) -> io::Result<Self> {
        let mut name = copy.as_os_str().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let path = PathBuf::from(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path)?;
        Ok(Self(path))
    }

    /// On the disk, then under its name. A file that came there meanwhile is not overwritten.
    fn put_in_place(self, copy: &Path) -> io::Result<()> {
        File::open(&self.0)?.sync_all()?;
        fs::hard_link(&self.0, copy)?;
        if let Some(folder) = copy.parent() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = fs::remove_file(&self.0);
    }
}
