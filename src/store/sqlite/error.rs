//! The classification of SQLite's errors.

use rusqlite::{ErrorCode, ffi};

use crate::base::storage::StorageError;

/// The driver's message without values, which may include queries and results.
#[derive(Debug, thiserror::Error)]
#[error("SQLite: {text}")]
pub(super) struct SqliteError {
    text: String,
    is_damage: bool,
}

impl SqliteError {
    /// Returns whether the error means that the file has lost data that was written to it.
    pub(super) fn is_damage(&self) -> bool {
        self.is_damage
    }
}

/// Converts a driver's error.
#[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
pub(super) fn storage_error(error: rusqlite::Error) -> StorageError {
    let cause = SqliteError { text: error.to_string(), is_damage: is_damage(&error) };
    match error.sqlite_error_code() {
        Some(code) if is_transient(code) => StorageError::unavailable(cause),
        _ => StorageError::broken(cause),
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

/// Returns whether the error means overwritten pages, a truncated file, or a disk that does not return the data that
/// was written to it.
fn is_damage(error: &rusqlite::Error) -> bool {
    const READS: [i32; 3] =
        [ffi::SQLITE_IOERR_SHORT_READ, ffi::SQLITE_IOERR_CORRUPTFS, ffi::SQLITE_IOERR_DATA];
    let is_read = |code: &ffi::Error| READS.contains(&code.extended_code);
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        || error.sqlite_error().is_some_and(is_read)
}
