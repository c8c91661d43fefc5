//! The classification of SQLite's errors.

use rusqlite::{ErrorCode, ffi};

use crate::base::storage::StorageError;
use crate::store::error::{DriverError, Meaning};

impl From<rusqlite::Error> for StorageError {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error_code();
        let meaning = match code {
            Some(ErrorCode::NotADatabase) => Some(Meaning::Foreign),
            Some(ErrorCode::DatabaseCorrupt) => Some(Meaning::Damage),
            _ => error.sqlite_error().filter(|error| is_lost(error)).map(|_| Meaning::Damage),
        };
        let cause = DriverError { driver: "SQLite", text: error.to_string(), meaning };
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

/// Returns whether the file was cut, or the disk does not return the data that was written to it.
fn is_lost(error: &ffi::Error) -> bool {
    [ffi::SQLITE_IOERR_SHORT_READ, ffi::SQLITE_IOERR_CORRUPTFS, ffi::SQLITE_IOERR_DATA]
        .contains(&error.extended_code)
}
