//! Whether the database takes what is written: reading does not tell. A full disk can be read, and so can a
//! file system that went read-only, and a server that was demoted to a standby.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::limits::WRITES_DOUBTED;
use crate::base::storage::StorageError;

/// What became of the latest writes.
#[derive(Default)]
pub(super) struct Writes {
    refused_at: Mutex<Option<Instant>>,
}

impl Writes {
    /// Notes what became of a write, and hands it on. One that another one kept from a row says nothing of the
    /// database.
    pub(super) fn note<T>(&self, done: Result<T, StorageError>) -> Result<T, StorageError> {
        if done.as_ref().is_err_and(|error| error.is_unavailable() && !error.is_contended()) {
            *self.refused_at.lock() = Some(Instant::now());
        }
        done
    }

    /// For a health check: whether writes are taken, as far as is known. One that was refused counts for
    /// [`WRITES_DOUBTED`]; after that a `trial` write decides. Where no write was refused nothing is written.
    ///
    /// # Errors
    /// They are not.
    pub(super) fn check(&self, trial: impl FnOnce() -> Result<(), StorageError>) -> Result<(), StorageError> {
        let Some(refused) = self.since_refusal() else { return Ok(()) };
        if refused < WRITES_DOUBTED {
            let text = format!("a write was refused {} ms ago", refused.as_millis());
            return Err(StorageError::unavailable(text));
        }
        self.note(trial())?;
        *self.refused_at.lock() = None;
        Ok(())
    }

    /// Whether one was refused, and none was taken for a health check since.
    pub(super) fn are_doubted(&self) -> bool {
        self.since_refusal().is_some()
    }

    fn since_refusal(&self) -> Option<Duration> {
        self.refused_at.lock().map(|at| at.elapsed())
    }
}
