//! The database file: its creation, and the lock that keeps a second server away.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use crate::store::error::OpenError;
use crate::store::limits::{SQLITE_LOCK_LOOK, SQLITE_LOCK_WAIT};

/// Creates the directory and the file if they are missing. Only their owner can read them, because the file will
/// contain the queries of searches. Returns the file's canonical path.
pub(super) fn prepare(path: &Path) -> Result<PathBuf, OpenError> {
    let failed = |cause| OpenError::File { path: path.to_owned(), cause };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_folder(folder).map_err(failed)?;
    }
    let file = private_file(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    path.canonicalize().map_err(failed)
}

fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn private_file(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// A lock on `PATH.lock`. It has its own file because closing a second handle of the database file would release
/// SQLite's locks. The system releases it when the process ends.
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock for a server, until the server ends. Waits for a command that is changing the schema.
    ///
    /// # Errors
    /// Returns [`OpenError::InUse`] if another server has it.
    pub(super) fn for_a_server(database: &Path) -> Result<Self, OpenError> {
        let (mut lock, path) = open(database)?;
        if let Err(process) = take(&lock, &path, &mut || Ok(false))? {
            return Err(OpenError::InUse { path: database.to_owned(), process });
        }
        writeln!(lock, "{}", std::process::id()).map_err(|cause| OpenError::File { path, cause })?;
        Ok(Self { _file: lock })
    }

    /// Takes the lock for a command that will change the schema. Waits for other commands that change it. Returns the
    /// lock, or `None` if `is_done` reports that nothing is left to change.
    ///
    /// # Errors
    /// Returns [`OpenError::ServerRunning`] if a server has it.
    pub(super) fn for_a_change(
        database: &Path,
        mut is_done: impl FnMut() -> Result<bool, OpenError>,
    ) -> Result<Option<Self>, OpenError> {
        let (lock, path) = open(database)?;
        match take(&lock, &path, &mut is_done)? {
            Ok(true) => Ok(Some(Self { _file: lock })),
            Ok(false) => Ok(None),
            Err(process) => Err(OpenError::ServerRunning { path: database.to_owned(), process }),
        }
    }
}

/// Waits for the lock, and empties its file, which may hold the id of a dead server. Returns `false` if `is_done`
/// reports first that it is not needed, or as an error the id of the process that holds it too long, if that is known.
fn take(
    lock: &File,
    path: &Path,
    is_done: &mut dyn FnMut() -> Result<bool, OpenError>,
) -> Result<Result<bool, Option<u32>>, OpenError> {
    let failed = |cause| OpenError::File { path: path.to_owned(), cause };
    let until = Instant::now() + SQLITE_LOCK_WAIT;
    loop {
        match lock.try_lock() {
            Ok(()) => return lock.set_len(0).map(|()| Ok(true)).map_err(failed),
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
            Err(TryLockError::WouldBlock) if is_done()? => return Ok(Ok(false)),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => return Ok(Err(holder(path))),
            Err(TryLockError::WouldBlock) => thread::sleep(SQLITE_LOCK_LOOK),
        }
    }
}

fn open(database: &Path) -> Result<(File, PathBuf), OpenError> {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    let path = PathBuf::from(path);
    match private_file(&path) {
        Ok(file) => Ok((file, path)),
        Err(cause) => Err(OpenError::File { path, cause }),
    }
}

/// Returns the process id in the lock file, which is only a hint for a person.
fn holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    fs::File::open(path).ok()?.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
