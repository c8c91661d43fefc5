//! The classification of SQLite's errors.

use std::error::Error as _;

use rusqlite::{ErrorCode, ffi};

use crate::base::storage::StorageError;

/// The driver's message without values, which may include queries and results.
#[derive(Debug, thiserror::Error)]
#[error("SQLite: {text}")]
pub(super) struct SqliteError {
    text: String,
    code: Option<ErrorCode>,
    is_damage: bool,
}

impl SqliteError {
    /// Returns the driver's error that a failure of the store comes from.
    pub(super) fn of(failure: &StorageError) -> Option<&Self> {
        failure.source()?.downcast_ref()
    }

    /// Returns whether the error means that the file has lost data that was written to it: overwritten pages, a truncated
    /// file, or a disk that does not return the data that was written to it.
    pub(super) fn is_damage(&self) -> bool {
        self.is_damage
    }

    /// Returns whether the file is no database at all, or encrypted.
    pub(super) fn is_foreign(&self) -> bool {
        self.code == Some(ErrorCode::NotADatabase)
    }
}

impl From<rusqlite::Error> for StorageError {
    fn from(error: rusqlite::Error) -> Self {
        let (text, code) = (error.to_string(), error.sqlite_error_code());
        let cause = SqliteError { text, code, is_damage: is_damage(&error) };
        match code {
            Some(code) if is_transient(code) => Self::unavailable(cause),
            _ => Self::broken(cause),
        }
    }
}

/// Returns whether the cause is the machine (a full disk, a lock, a permission) and not the data.
fn is_transient(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::SystemIoFailure
            | ErrorCode::OutOfMemory
            | ErrorCode::PermissionDenied
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OperationInterrupted
    )
}

fn is_damage(error: &rusqlite::Error) -> bool {
    const READS: [i32; 3] =
        [ffi::SQLITE_IOERR_SHORT_READ, ffi::SQLITE_IOERR_CORRUPTFS, ffi::SQLITE_IOERR_DATA];
    let is_read = |code: &ffi::Error| READS.contains(&code.extended_code);
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        || error.sqlite_error().is_some_and(is_read)
}
