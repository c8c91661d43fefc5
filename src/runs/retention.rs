//! Retention: removes the queries, results and modules of old runs. Their charges stay booked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp, ToSpan};
use log::{info, log, warn};
use parking_lot::Mutex;

use crate::base::clock::{Clock, rfc3339_millis};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::retention::{BATCH, HELD_FOR, RemovalResult};
use crate::store::Store;

/// The interval of searches for old runs when none is left.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The longest duration of one round. The maintenance thread has to renew leases too.
const ROUND: Duration = Duration::from_millis(250);

/// The longest pause that counts as usual.
const SHORT_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// The interval at which it is recorded that the server runs, unless its clock was set meanwhile.
const NOTE_EVERY: Duration = Duration::from_secs(60 * 60);

/// The maximum difference between the clock and the elapsed time that does not count as a change of the clock.
const CLOCK_DRIFT: SignedDuration = SignedDuration::from_secs(60);

/// The last record of the fact that the server runs.
#[derive(Debug, Clone, Copy)]
struct RunningRecord {
    since: Timestamp,
    noted: Timestamp,
    noted_at: Instant,
}

impl RunningRecord {
    /// Returns whether the record is recent enough by the clock.
    fn holds(&self, now: Timestamp) -> bool {
        let passed = self.noted_at.elapsed();
        let drift = now.duration_since(self.noted) - SignedDuration::try_from(passed).unwrap_or_default();
        passed < NOTE_EVERY && drift.abs() < CLOCK_DRIFT
    }
}

/// A task that removes runs that ended a number of days ago, in small steps.
///
/// A clock that jumps ahead makes all runs old at once. The jump looks like a long pause in which no server ran.
/// Therefore, after a pause longer than half the retention time, nothing is removed for [`HELD_FOR`], and a warning
/// is logged. An operator can correct the clock meanwhile. After a real pause, removal continues by itself.
pub struct RetentionTask {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    days: u32,
    trusts_clock: bool,
    running: Mutex<Option<RunningRecord>>,
    due: Mutex<Instant>,
    wipe_due: Mutex<Instant>,
}

impl RetentionTask {
    /// Creates a task that keeps runs for `days` days after their end, or without limit if `days` is 0. With
    /// `trusts_clock`, removal continues even after a long pause.
    pub fn new(store: Arc<Store>, clock: Arc<dyn Clock>, days: u32, trusts_clock: bool) -> Self {
        let (due, wipe_due) = (Mutex::new(Instant::now()), Mutex::new(Instant::now()));
        Self { store, clock, days, trusts_clock, running: Mutex::new(None), due, wipe_due }
    }

    /// Removes runs that are due, for a short time. The maintenance thread calls this about once a second. Returns
    /// the number of removed runs.
    pub fn sweep(&self) -> u64 {
        let mut due = self.due.lock();
        if self.days == 0 || Instant::now() < *due {
            return 0;
        }
        match self.is_held() {
            Ok(false) => {}
            Ok(true) => {
                *due = Instant::now() + POLL_INTERVAL;
                return 0;
            }
            Err(error) => {
                log!(error.log_level(), "cannot remove old runs: {error}");
                *due = Instant::now() + POLL_INTERVAL;
                return 0;
            }
        }
        let until = Instant::now() + ROUND;
        let mut removed = 0;
        let is_clean = loop {
            match self.sweep_once() {
                Ok(RemovalResult::Runs(0) | RemovalResult::Busy) => break true,
                Ok(RemovalResult::Runs(runs)) => removed += runs,
                Err(error) => {
                    log!(error.log_level(), "cannot remove old runs: {error}");
                    break true;
                }
            }
            if Instant::now() >= until {
                break false;
            }
        };
        if is_clean {
            *due = Instant::now() + POLL_INTERVAL;
        }
        if removed > 0 {
            info!("removed {removed} runs that ended more than {} days ago", self.days);
        }
        removed
    }

    /// Removes the data of deleted runs from other places of the store. The maintenance thread calls this about once
    /// a second.
    pub fn wipe(&self) {
        let mut due = self.wipe_due.lock();
        if Instant::now() < *due {
            return;
        }
        if let Err(error) = self.store.wipe() {
            log!(error.log_level(), "cannot wipe deleted data from the database's log: {error}");
            *due = Instant::now() + POLL_INTERVAL;
        }
    }

    /// Returns whether removal is suspended.
    fn is_held(&self) -> Result<bool, StorageError> {
        let now = self.clock.now();
        let mut running = self.running.lock();
        let known = running.filter(|known| known.holds(now));
        let since = match known {
            Some(known) => known.since,
            None => {
                let kept = Duration::from_secs(u64::from(self.days) * 24 * 60 * 60);
                let since = self.store.note_running(now, (kept / 2).max(SHORT_PAUSE))?;
                let was_held = running.is_some_and(|before| before.since == since);
                *running = Some(RunningRecord { since, noted: now, noted_at: Instant::now() });
                if !was_held && !self.trusts_clock && is_young(since, now) {
                    self.tell_held(since);
                }
                since
            }
        };
        Ok(!self.trusts_clock && is_young(since, now))
    }

    fn tell_held(&self, since: Timestamp) {
        let until = since.checked_add(HELD_FOR).unwrap_or(Timestamp::MAX);
        warn!(
            "the clock leapt ahead, or no server ran for long: searches that ended more than {} days ago are kept until \
             {}. Set the clock if it is wrong; to remove them now start with --trust-clock",
            self.days,
            rfc3339_millis(until)
        );
    }

    fn sweep_once(&self) -> Result<RemovalResult, StorageError> {
        let now = self.clock.now();
        // `Timestamp` arithmetic uses hours rather than days. A day always has 24 of them here.
        let before = now.checked_sub((i64::from(self.days) * 24).hours()).unwrap_or(Timestamp::MIN);
        self.store.sweep(before, BATCH, now, &Origin::SYSTEM)
    }
}

/// Returns whether servers have run for less than [`HELD_FOR`] since then.
fn is_young(since: Timestamp, now: Timestamp) -> bool {
    now.duration_since(since) < HELD_FOR
}
