//! The database file: creating it, and the lock that keeps a second server away.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::store::error::OpenError;
use crate::store::limits::{
    SQLITE_CHANGE_WAIT, SQLITE_LOCK_LOOK, SQLITE_OLD_SERVER_SEEN, SQLITE_SERVER_SEEN,
};

/// Creates the folder and the file where they are missing, for their owner alone: the file holds what
/// people searched for. Gives the one real path of the file, whatever links lead to it.
pub(super) fn prepare(path: &Path) -> Result<PathBuf, OpenError> {
    let failed = |cause| OpenError::File { path: path.to_owned(), cause };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_folder(folder).map_err(failed)?;
    }
    let file = private_file(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "this is no file")));
    }
    path.canonicalize().map_err(failed)
}

fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Held on `PATH.lock`, a file of its own: closing a second handle of the database file itself would
/// drop SQLite's locks. The system frees it when the process ends, however it ends.
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    /// For a server, as long as it runs: no other server may have it. A command that is just changing the
    /// schema is waited for.
    pub(super) fn for_a_server(database: &Path) -> Result<Self, OpenError> {
        let (mut file, path) = open(database)?;
        let mut waited = Waited::for_holder(SQLITE_SERVER_SEEN);
        while !take(&file, &path)? {
            if let Some(process) = waited.in_vain(&path) {
                return Err(OpenError::InUse { path: database.to_owned(), process });
            }
        }
        writeln!(file, "{}", std::process::id()).map_err(|cause| OpenError::File { path, cause })?;
        Ok(Self { _file: file })
    }

    /// For a command that is about to change the schema: no server may have it. Others that do the same
    /// are waited for. `None`: there is nothing left to change, says `is_done`.
    pub(super) fn for_a_change(
        database: &Path,
        mut is_done: impl FnMut() -> Result<bool, OpenError>,
    ) -> Result<Option<Self>, OpenError> {
        let (file, path) = open(database)?;
        // A server that is just starting may be about to do the same.
        let mut waited = Waited::for_holder(SQLITE_OLD_SERVER_SEEN);
        while !take(&file, &path)? {
            if is_done()? {
                return Ok(None);
            }
            if let Some(process) = waited.in_vain(&path) {
                return Err(OpenError::ServerRunning { path: database.to_owned(), process });
            }
        }
        Ok(Some(Self { _file: file }))
    }
}

/// Takes the lock, if nobody has it, and empties its file: a server keeps its number in there, and what a
/// dead one left must not be believed.
fn take(file: &File, path: &Path) -> Result<bool, OpenError> {
    let failed = |cause| OpenError::File { path: path.to_owned(), cause };
    match file.try_lock() {
        Ok(()) => file.set_len(0).map(|()| true).map_err(failed),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(cause)) => Err(failed(cause)),
    }
}

/// A wait for the lock.
struct Waited {
    begun: Instant,
    patience: Duration,
    holder: Option<(u32, Instant)>,
}

impl Waited {
    /// Until a server is seen to have the lock for so long.
    fn for_holder(patience: Duration) -> Self {
        Self { begun: Instant::now(), patience, holder: None }
    }

    /// Waits a little. Who has the lock, where it is of no use to wait on: a server, or somebody else who
    /// takes too long.
    fn in_vain(&mut self, path: &Path) -> Option<Option<u32>> {
        self.holder = match (holder(path), self.holder) {
            (Some(process), Some((known, since))) if process == known => Some((known, since)),
            (Some(process), _) => Some((process, Instant::now())),
            (None, _) => None,
        };
        let is_server = self.holder.is_some_and(|(_, since)| since.elapsed() >= self.patience);
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

/// The process that wrote its number into the lock file. Only a hint for a person.
fn holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    fs::File::open(path).ok()?.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
