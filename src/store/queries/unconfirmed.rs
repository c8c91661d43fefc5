//! What was stored for a caller who may not know it, because the answer to the commit may have been lost.
//!
//! Runs, batches and watches whose request cannot be repeated with the same outcome are stored as unconfirmed. As soon as
//! the process that stores one knows of the commit, it confirms it, and tells the caller. Nothing unconfirmed is worked on:
//! a run is ended and refunded by the instance that takes it over, and a batch or a watch is deleted. So a caller who was
//! refused is not charged, even if the process was killed in between.

use std::time::Duration;

use uuid::Uuid;

use super::take_over::end_as_failed;
use crate::base::ids::{BatchId, RunId, WatchId};
use crate::base::storage::StorageError;
use crate::store::Store;
use crate::store::backend::Operation;
use crate::store::document::not_confirmed;
use crate::store::value::values;

/// Selects runs that wait, unconfirmed, for longer than it takes to confirm them.
const WAITING: &str = "SELECT id FROM runs WHERE unconfirmed AND status = 'running' AND owner IS NULL \
     AND created_at < now() - ms(?1) LIMIT 100 /*pg FOR NO KEY UPDATE SKIP LOCKED */";
const DELETE_BATCHES: &str = "DELETE FROM batches WHERE unconfirmed AND created_at < now() - ms(?1)";
const DELETE_WATCHES: &str = "DELETE FROM watches WHERE unconfirmed AND created_at < now() - ms(?1)";

impl Store {
    /// Records that the caller gets the run.
    pub fn confirm_run(&self, RunId(id): RunId) {
        self.confirm("UPDATE runs SET unconfirmed = false WHERE id = ?1", id);
    }

    /// Records that the caller gets the batch.
    pub fn confirm_batch(&self, BatchId(id): BatchId) {
        self.confirm("UPDATE batches SET unconfirmed = false WHERE id = ?1", id);
    }

    /// Records that the caller gets the watch.
    pub fn confirm_watch(&self, WatchId(id): WatchId) {
        self.confirm("UPDATE watches SET unconfirmed = false WHERE id = ?1", id);
    }

    /// If this fails, what was stored is undone later, and not charged.
    fn confirm(&self, sql: &'static str, id: Uuid) {
        let confirmed = self.change(Operation::new("confirm").light(), sql, values![id]);
        if let Err(error) = confirmed {
            log::warn!("{id} was stored, but could not be confirmed, and may be undone: {error}");
        }
    }

    /// Ends waiting runs, and deletes batches and watches, that have been unconfirmed for that long.
    pub fn undo_unconfirmed(&self, age: Duration) -> Result<(), StorageError> {
        self.write(Operation::new("undo_unconfirmed").in_background(), |statements| {
            for run in statements.all(WAITING, values![age])? {
                end_as_failed(statements, run, &not_confirmed())?;
            }
            statements.execute(DELETE_BATCHES, values![age])?;
            statements.execute(DELETE_WATCHES, values![age]).map(drop)
        })
    }
}
