//! [`Outage`]: what failed operations tell about the database.

use std::time::Instant;

use log::{info, warn};
use parking_lot::Mutex;

use super::error::Result;
use super::limits::{OUTAGE_OVER, REFUSED_WRITE_COUNTS};
use crate::base::storage::StorageError;

/// The failures of the database. One line is logged when they begin, and one with their number when they are over.
/// Callers log such a failure at `debug` at most.
#[derive(Default)]
pub(super) struct Outage(Mutex<State>);

#[derive(Default)]
struct State {
    failures: Option<Failures>,
    /// The time at which a write was last refused. Successful reads show nothing about this: a full disk, a read-only
    /// file system and a server that was demoted to a standby can be read.
    refused_write: Option<Instant>,
}

struct Failures {
    began_at: Instant,
    last_at: Instant,
    count: u64,
}

impl Outage {
    /// Records the outcome of an operation.
    pub(super) fn note(&self, operation: &str, writes: bool, failure: Option<&StorageError>, now: Instant) {
        let mut state = self.0.lock();
        let away = failure.filter(|error| error.is_unavailable());
        // The lock of another transaction shows nothing about the database.
        if writes && away.is_some_and(|error| !error.is_contended()) {
            state.refused_write = Some(now);
        }
        match (away, &mut state.failures) {
            (Some(error), None) => {
                state.failures = Some(Failures { began_at: now, last_at: now, count: 1 });
                drop(state);
                warn!("{error} ({operation}); further failures are counted and logged at the end");
            }
            (Some(_), Some(known)) => {
                known.last_at = now;
                known.count += 1;
            }
            // Reads may succeed while writes fail: the series ends when nothing has failed for a while.
            (None, Some(known)) if failure.is_none() && now.duration_since(known.last_at) >= OUTAGE_OVER => {
                let (millis, count) = (known.last_at.duration_since(known.began_at).as_millis(), known.count);
                state.failures = None;
                drop(state);
                info!("the store is available again: {count} operations failed within {millis} ms");
            }
            _ => {}
        }
    }

    /// Returns whether a write was refused, and no trial has succeeded since.
    pub(super) fn has_refused_write(&self) -> bool {
        self.0.lock().refused_write.is_some()
    }

    /// Checks, for a health check, whether writes are known to be accepted. A refused write counts for
    /// [`REFUSED_WRITE_COUNTS`]; after that time, a `trial` decides.
    pub(super) fn check(&self, trial: impl FnOnce() -> Result<(), StorageError>) -> Result<()> {
        let Some(refused_at) = self.0.lock().refused_write else { return Ok(()) };
        if refused_at.elapsed() < REFUSED_WRITE_COUNTS {
            let millis = refused_at.elapsed().as_millis();
            return Err(StorageError::unavailable(format!("a write was refused {millis} ms ago")));
        }
        trial()?;
        self.0.lock().refused_write = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_outage_ends_after_a_time_without_failures() {
        let outage = Outage::default();
        let count = || outage.0.lock().failures.as_ref().map(|failures| failures.count);
        let (start, away) = (Instant::now(), StorageError::unavailable("away"));
        outage.note("run", true, Some(&StorageError::broken("a defect")), start);
        assert_eq!(count(), None);
        for second in 0..3 {
            outage.note("start", false, Some(&away), start + Duration::from_secs(second));
            outage.note("run", false, None, start + Duration::from_secs(second));
        }
        assert_eq!(count(), Some(3));
        let last = start + Duration::from_secs(2);
        outage.note("run", false, Some(&StorageError::broken("a defect")), last + OUTAGE_OVER);
        assert_eq!(count(), Some(3));
        outage.note("run", false, None, last + OUTAGE_OVER);
        assert_eq!(count(), None);
        assert!(!outage.has_refused_write(), "only reads failed");
        outage.note("start", true, Some(&StorageError::contended("a lock")), last);
        assert!(!outage.has_refused_write());
        outage.note("start", true, Some(&away), last);
        assert!(outage.has_refused_write());
    }
}
