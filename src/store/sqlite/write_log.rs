//! Empties the write-ahead log (WAL). Deleted data is overwritten in the database file, but stays in its log until
//! that is overwritten, which may never happen on a quiet server.

use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;

use super::error::storage_error;
use crate::base::storage::StorageError;

/// Whether the log may contain deleted data.
pub(super) struct LogState(AtomicBool);

impl LogState {
    /// Returns the state for a file that was just opened. A process that was killed may have left deleted data in its
    /// log.
    pub(super) fn unknown() -> Self {
        Self(AtomicBool::new(true))
    }

    /// Records that the log may contain deleted data from now on.
    pub(super) fn note_deletion(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Empties the log with `truncate` if it may contain deleted data. Returns whether it contains none now.
    pub(super) fn wipe(
        &self,
        truncate: impl FnOnce() -> Result<bool, StorageError>,
    ) -> Result<bool, StorageError> {
        if !self.0.swap(false, Ordering::SeqCst) {
            return Ok(true);
        }
        let wiped = truncate();
        if !matches!(wiped, Ok(true)) {
            self.note_deletion();
        }
        wiped
    }
}

/// Empties the log while all writers wait. Returns `false` if readers blocked this until the connection's time limit.
pub(super) fn truncate(writer: &Connection) -> Result<bool, StorageError> {
    match writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)) {
        Ok(busy) => Ok(busy == 0),
        // A rollback failed and left a transaction open. The next write ends it.
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseLocked) => Ok(false),
        Err(error) => Err(storage_error(error)),
    }
}
