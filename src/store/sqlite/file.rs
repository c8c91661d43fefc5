//! The database file: creating it, and the lock that keeps a second server away.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use crate::store::error::OpenError;
use crate::store::limits::{SQLITE_CHANGE_WAIT, SQLITE_HOLDER_SEEN, SQLITE_LOCK_LOOK};

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
        if let Err(Held(process)) = take(&file, &path)? {
            return Err(OpenError::InUse { path: database.to_owned(), process });
        }
        writeln!(file, "{}", std::process::id()).map_err(|cause| OpenError::File { path, cause })?;
        Ok(Self { _file: file })
    }

    /// For a command that is about to change the schema: no server may have it. Other commands that do the
    /// same are waited for.
    pub(super) fn for_a_change(database: &Path) -> Result<Self, OpenError> {
        let (file, path) = open(database)?;
        match take(&file, &path)? {
            Ok(()) => Ok(Self { _file: file }),
            Err(Held(process)) => Err(OpenError::ServerRunning { path: database.to_owned(), process }),
        }
    }
}

/// Somebody else has the lock, and keeps it.
struct Held(Option<u32>);

/// Takes the lock and empties its file. Whoever keeps it for long, a server, has its number in there; what
/// a dead one left is gone as soon as the next one has the lock.
fn take(file: &File, path: &Path) -> Result<Result<(), Held>, OpenError> {
    let failed = |cause| OpenError::File { path: path.to_owned(), cause };
    let begun = Instant::now();
    let mut seen: Option<(u32, Instant)> = None;
    loop {
        match file.try_lock() {
            Ok(()) => return file.set_len(0).map(Ok).map_err(failed),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
        }
        seen = match (holder(path), seen) {
            (Some(process), Some((known, since))) if process == known => Some((known, since)),
            (Some(process), _) => Some((process, Instant::now())),
            (None, _) => None,
        };
        let is_server = seen.is_some_and(|(_, since)| since.elapsed() >= SQLITE_HOLDER_SEEN);
        if is_server || begun.elapsed() >= SQLITE_CHANGE_WAIT {
            return Ok(Err(Held(seen.map(|(process, _)| process))));
        }
        thread::sleep(SQLITE_LOCK_LOOK);
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
