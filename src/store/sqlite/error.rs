//! What SQLite's errors mean to the callers.

use std::fmt;

use rusqlite::ErrorCode;

use crate::base::storage::StorageError;

/// The driver's word, without values: those are queries and results.
#[derive(Debug)]
struct SqliteError(String);

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SQLite: {}", self.0)
    }
}

impl std::error::Error for SqliteError {}

/// A driver's error as ours.
#[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
pub(super) fn storage(error: rusqlite::Error) -> StorageError {
    let cause = SqliteError(error.to_string());
    match error.sqlite_error_code() {
        Some(code) if is_passing(code) => StorageError::unavailable(cause),
        _ => StorageError::broken(cause),
    }
}

/// Whether the trouble is with the machine (a full disk, a lock, a permission) and not with the data.
fn is_passing(code: ErrorCode) -> bool {
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

/// No connection came free in time, or none could be opened.
#[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
pub(super) fn pool_error(error: r2d2::Error) -> StorageError {
    StorageError::unavailable(SqliteError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_passes_and_a_refused_statement_does_not() {
        let failure = |code| rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        for code in [
            rusqlite::ffi::SQLITE_FULL,
            rusqlite::ffi::SQLITE_BUSY,
            rusqlite::ffi::SQLITE_IOERR,
            rusqlite::ffi::SQLITE_READONLY,
            rusqlite::ffi::SQLITE_CANTOPEN,
        ] {
            assert!(storage(failure(code)).is_unavailable(), "{code}");
        }
        for code in
            [rusqlite::ffi::SQLITE_CORRUPT, rusqlite::ffi::SQLITE_NOTADB, rusqlite::ffi::SQLITE_CONSTRAINT]
        {
            assert!(!storage(failure(code)).is_unavailable(), "{code}");
        }
        assert!(!storage(rusqlite::Error::QueryReturnedNoRows).is_unavailable());
    }
}
