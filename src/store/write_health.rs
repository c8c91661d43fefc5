//! Checks whether the database accepts writes. Successful reads do not show this: a full disk, a read-only file
//! system and a server that was demoted to a standby can be read.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::limits::REFUSED_WRITE_COUNTS;
use crate::base::storage::StorageError;

/// The outcomes of the latest writes.
#[derive(Default)]
pub(super) struct WriteHealth {
    refused_at: Mutex<Option<Instant>>,
}

impl WriteHealth {
    /// Records the outcome of a write, and returns it. A write that failed because of another transaction's lock
    /// shows nothing about the database.
    pub(super) fn note<T>(&self, done: Result<T, StorageError>) -> Result<T, StorageError> {
        if done.as_ref().is_err_and(|error| error.is_unavailable() && !error.is_contended()) {
            *self.refused_at.lock() = Some(Instant::now());
        }
        done
    }

    /// Checks, for a health check, whether writes are accepted as far as is known. A refused write counts for
    /// [`REFUSED_WRITE_COUNTS`]. After that time a `trial` write decides. Nothing is written unless a write was
    /// refused before.
    ///
    /// # Errors
    /// Returns an error if a write was refused recently, or if the trial was.
    pub(super) fn check(&self, trial: impl FnOnce() -> Result<(), StorageError>) -> Result<(), StorageError> {
        let Some(refused) = self.since_refusal() else { return Ok(()) };
        if refused < REFUSED_WRITE_COUNTS {
            let text = format!("a write was refused {} ms ago", refused.as_millis());
            return Err(StorageError::unavailable(text));
        }
        self.note(trial())?;
        *self.refused_at.lock() = None;
        Ok(())
    }

    /// Returns whether a write was refused, and no trial has succeeded since.
    pub(super) fn has_refusal(&self) -> bool {
        self.since_refusal().is_some()
    }

    fn since_refusal(&self) -> Option<Duration> {
        self.refused_at.lock().map(|at| at.elapsed())
    }
}
