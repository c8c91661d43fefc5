//! The database file: creating it, and the lock that keeps a second server away.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::store::error::OpenError;

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
pub(super) struct ServerLock {
    _file: File,
}

impl ServerLock {
    /// For a server: nobody else may have it.
    pub(super) fn take(database: &Path) -> Result<Self, OpenError> {
        let (mut file, path) = open(database)?;
        let failed = |cause| OpenError::File { path: path.clone(), cause };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::InUse { path: database.to_owned(), process: holder(&path) });
            }
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(Self { _file: file })
    }

    /// For a command that is about to change the schema: no server may have it, other commands may.
    pub(super) fn share(database: &Path) -> Result<Self, OpenError> {
        let (file, path) = open(database)?;
        match file.try_lock_shared() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => {
                Err(OpenError::ServerRunning { path: database.to_owned(), process: holder(&path) })
            }
            Err(TryLockError::Error(cause)) => Err(OpenError::File { path, cause }),
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

/// The process that wrote its number into the lock file. Only a hint for a person.
fn holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    fs::File::open(path).ok()?.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
