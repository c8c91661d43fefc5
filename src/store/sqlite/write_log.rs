//! The log of writes (WAL), emptied: what was deleted is overwritten in the file, and still stands in its log until that
//! is written over, which on a quiet server may be never.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::Connection;

use super::Database;
use super::error::storage;
use crate::base::storage::StorageError;
use crate::store::limits::{SQLITE_BUSY, WIPE_WAIT};

/// Whether the log may hold what was deleted.
pub(super) struct Leftovers(AtomicBool);

impl Leftovers {
    /// Of a file that was just opened: a process that was killed may have left some.
    pub(super) fn unknown() -> Self {
        Self(AtomicBool::new(true))
    }

    fn note(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

impl Database {
    /// Passes on what became of a deletion, and remembers it: also one whose commit failed, which may stand in the log.
    pub(super) fn noting_removal<T>(&self, done: Result<T, StorageError>) -> Result<T, StorageError> {
        self.leftovers.note();
        done
    }

    /// Empties the log if it may hold what was deleted, unless somebody is in the way. Whether it holds no more of it.
    pub(super) fn wipe_log(&self) -> Result<bool, StorageError> {
        if !self.leftovers.take() {
            return Ok(true);
        }
        let wiped = self.writer.try_lock().map_or(Ok(false), |writer| truncate(&writer, WIPE_WAIT));
        if !matches!(wiped, Ok(true)) {
            self.leftovers.note();
        }
        wiped
    }

    /// The same for a command, which has no later: waits as long as any write does.
    pub(super) fn wipe_log_now(&self) -> Result<bool, StorageError> {
        truncate(&self.writer.lock(), SQLITE_BUSY)
    }
}

/// Whether nobody was in the way for so long. Writers wait meanwhile.
fn truncate(writer: &Connection, wait: Duration) -> Result<bool, StorageError> {
    writer.busy_timeout(wait).map_err(storage)?;
    let busy = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    writer.busy_timeout(SQLITE_BUSY).map_err(storage)?;
    match busy {
        Ok(busy) => Ok(busy == 0),
        // A rollback failed and left a transaction open: the next write ends it.
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseLocked) => Ok(false),
        Err(error) => Err(storage(error)),
    }
}
