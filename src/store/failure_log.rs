//! Logs that the database is unavailable: one line when the failures begin, and one with their number when they are
//! over. Callers log such a failure at `debug` at most.

use std::time::{Duration, Instant};

use log::{info, warn};
use parking_lot::Mutex;

use super::limits::OUTAGE_OVER;
use crate::base::storage::StorageError;

/// The current series of failures, if there is one.
#[derive(Default)]
pub(super) struct FailureLog(Mutex<Option<Failures>>);

struct Failures {
    began_at: Instant,
    last_at: Instant,
    count: u64,
}

impl FailureLog {
    /// Records the outcome of an operation.
    pub(super) fn note<T>(&self, operation: &str, done: &Result<T, StorageError>) {
        self.note_at(operation, done.as_ref().err(), Instant::now());
    }

    fn note_at(&self, operation: &str, failure: Option<&StorageError>, now: Instant) {
        let mut failures = self.0.lock();
        match (failure.filter(|error| error.is_unavailable()), failures.as_mut()) {
            (Some(error), None) => {
                *failures = Some(Failures { began_at: now, last_at: now, count: 1 });
                drop(failures);
                warn!("{error} ({operation}); further failures are counted and logged at the end");
            }
            (Some(_), Some(known)) => {
                known.last_at = now;
                known.count += 1;
            }
            // Reads may succeed while writes fail: the series ends when nothing has failed for a while.
            (None, Some(known)) if failure.is_none() && now.duration_since(known.last_at) >= OUTAGE_OVER => {
                let (lasted, count) = (known.lasted(), known.count);
                *failures = None;
                drop(failures);
                info!(
                    "the store is available again: {count} operations failed within {} ms",
                    lasted.as_millis()
                );
            }
            _ => {}
        }
    }
}

impl Failures {
    fn lasted(&self) -> Duration {
        self.last_at.duration_since(self.began_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_ends_after_a_time_without_failures() {
        let outage = FailureLog::default();
        let count = || outage.0.lock().as_ref().map(|failures| failures.count);
        let (start, away) = (Instant::now(), StorageError::unavailable("away"));
        outage.note_at("run", Some(&StorageError::broken("a defect")), start);
        assert_eq!(count(), None);
        for second in 0..3 {
            outage.note_at("start", Some(&away), start + Duration::from_secs(second));
            outage.note_at("run", None, start + Duration::from_secs(second));
        }
        assert_eq!(count(), Some(3));
        let last = start + Duration::from_secs(2);
        outage.note_at("run", Some(&StorageError::broken("a defect")), last + OUTAGE_OVER);
        assert_eq!(count(), Some(3));
        outage.note_at("run", None, last + OUTAGE_OVER);
        assert_eq!(count(), None);
    }
}
