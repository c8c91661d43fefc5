//! Retention: removes the queries, results and modules of old runs. Their charges stay booked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp, ToSpan};
use log::{error, info, log};

use crate::base::clock::{Clock, rfc3339_millis};
use crate::base::storage::StorageError;
use crate::model::account::BATCH;
use crate::store::Store;

/// The longest duration of one round. The maintenance thread also takes over runs and starts those of batches and watches.
const ROUND: Duration = Duration::from_millis(250);

/// The time for which nothing is removed after a jump of the clock.
const HELD_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// A task that removes runs that ended a number of days ago, in small steps.
///
/// A clock that jumps ahead makes all runs old at once. Therefore, if it jumped by more than half the retention time and
/// a day, nothing is removed for `HELD_FOR`, and an error is logged. An operator can correct the clock meanwhile. At
/// the start of a server, a long time without any event looks like a jump. Then, too, removal continues by itself.
pub struct RetentionTask {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    days: u32,
    /// The time of the last round by the clock. It is not known before the first one.
    last: Option<Timestamp>,
    held_until: Instant,
}

impl RetentionTask {
    /// Creates a task that keeps runs for `days` days after their end, or without limit if `days` is 0.
    pub fn new(store: Arc<Store>, clock: Arc<dyn Clock>, days: u32) -> Self {
        Self { store, clock, days, last: None, held_until: Instant::now() }
    }

    /// Removes runs that are due, for a short time. The maintenance thread calls this about once a second.
    pub fn sweep(&mut self) {
        if self.days == 0 || Instant::now() < self.held_until {
            return;
        }
        let mut removed = 0;
        if let Err(error) = self.run_round(&mut removed) {
            log!(error.log_level(), "cannot remove old runs: {error}");
        }
        if removed > 0 {
            info!("removed {removed} runs that ended more than {} days ago", self.days);
        }
    }

    /// Removes runs that are due until a round is over, and counts them.
    fn run_round(&mut self, removed: &mut u64) -> Result<(), StorageError> {
        // All of a round uses one time, so that a jump of the clock in the middle of it is noticed before the next one.
        let now = self.clock.now();
        if self.has_jumped(now)? {
            self.held_until = Instant::now() + HELD_FOR;
            return Ok(());
        }
        // `Timestamp` arithmetic uses hours rather than days. A day always has 24 of them here.
        let before = now.checked_sub((i64::from(self.days) * 24).hours()).unwrap_or(Timestamp::MIN);
        let until = Instant::now() + ROUND;
        while Instant::now() < until {
            match self.store.sweep(before, BATCH)? {
                Some(0) | None => break,
                Some(runs) => *removed += runs,
            }
        }
        Ok(())
    }

    /// Returns whether the clock jumped ahead since the last round, or since the last event before this server started.
    fn has_jumped(&mut self, now: Timestamp) -> Result<bool, StorageError> {
        let before = match self.last {
            Some(before) => before,
            // Events of the last day may be from a server whose clock had jumped already.
            None => self.store.last_event(now.checked_sub(24.hours()).unwrap_or(now))?.unwrap_or(now),
        };
        self.last = Some(now);
        let usual = SignedDuration::from_hours(i64::from(self.days) * 12 + 24);
        let has_jumped = now.duration_since(before) > usual;
        if has_jumped {
            error!(
                "the clock jumped ahead from {} to {}, or nothing happened between: searches that ended more than {} days \
                 ago are kept for another 24 hours. Set the clock if it is wrong; if it is right, there is nothing to do",
                rfc3339_millis(before),
                rfc3339_millis(now),
                self.days
            );
        }
        Ok(has_jumped)
    }
}
