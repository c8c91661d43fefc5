//! The database file: its creation, and the lock that keeps a second server away.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::store::error::OpenError;
use crate::store::limits::{
    SQLITE_CHANGE_WAIT, SQLITE_LOCK_LOOK, SQLITE_OLD_SERVER_SEEN, SQLITE_SERVER_SEEN,
};

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
    /// Takes the lock for a server, until the server ends. Fails if another server has it. Waits for a command that
    /// is changing the schema.
    pub(super) fn for_a_server(database: &Path) -> Result<Self, OpenError> {
        let (mut file, path) = open(database)?;
        let mut waited = LockWait::new(SQLITE_SERVER_SEEN);
        while !take(&file, &path)? {
            if let Some(process) = waited.next(&path) {
                return Err(OpenError::InUse { path: database.to_owned(), process });
            }
        }
        writeln!(file, "{}", std::process::id()).map_err(|cause| OpenError::File { path, cause })?;
        Ok(Self { _file: file })
    }

    /// Takes the lock for a command that will change the schema. Fails if a server has it. Waits for other commands
    /// that change the schema. Returns `None` if `is_done` reports that nothing is left to change.
    pub(super) fn for_a_change(
        database: &Path,
        mut is_done: impl FnMut() -> Result<bool, OpenError>,
    ) -> Result<Option<Self>, OpenError> {
        let (file, path) = open(database)?;
        // A server that is starting may change the schema itself.
        let mut waited = LockWait::new(SQLITE_OLD_SERVER_SEEN);
        while !take(&file, &path)? {
            if is_done()? {
                return Ok(None);
            }
            if let Some(process) = waited.next(&path) {
                return Err(OpenError::ServerRunning { path: database.to_owned(), process });
            }
        }
        Ok(Some(Self { _file: file }))
    }
}

/// Takes the lock if it is free, and empties its file. A server writes its process id to the file, and the id of a
/// dead server must be removed.
fn take(file: &File, path: &Path) -> Result<bool, OpenError> {
    let failed = |cause| OpenError::File { path: path.to_owned(), cause };
    match file.try_lock() {
        Ok(()) => file.set_len(0).map(|()| true).map_err(failed),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(cause)) => Err(failed(cause)),
    }
}

/// A wait for the lock.
struct LockWait {
    begun: Instant,
    seen_for: Duration,
    holder: Option<(u32, Instant)>,
}

impl LockWait {
    /// Returns a wait that ends when a server has been seen to hold the lock for that long.
    fn new(seen_for: Duration) -> Self {
        Self { begun: Instant::now(), seen_for, holder: None }
    }

    /// Waits briefly. Returns the holder's process id if further waiting is useless: a server has the lock, or
    /// another process takes too long.
    fn next(&mut self, path: &Path) -> Option<Option<u32>> {
        self.holder = match (holder(path), self.holder) {
            (Some(process), Some((known, since))) if process == known => Some((known, since)),
            (Some(process), _) => Some((process, Instant::now())),
            (None, _) => None,
        };
        let is_server = self.holder.is_some_and(|(_, since)| since.elapsed() >= self.seen_for);
        if is_server || self.begun.elapsed() >= SQLITE_CHANGE_WAIT {
            return Some(self.holder.map(|(process, _)| process));
        }
        thread::sleep(SQLITE_LOCK_LOOK);
        None
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
