//! Old runs are removed: their queries, results and modules. What was charged stays booked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{Timestamp, ToSpan};
use log::{info, warn};
use parking_lot::Mutex;

use crate::account::audit::Origin;
use crate::base::clock::Clock;
use crate::base::storage::StorageError;

/// How often old runs are looked for when there were none left.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How long one round may take: the housekeeper has leases to renew too.
const ROUND: Duration = Duration::from_millis(250);
/// The most that one transaction removes: other writers wait for it, on SQLite all of them.
pub const BATCH: BatchSize = BatchSize { runs: 50, results: 1000 };

/// How much one transaction removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSize {
    /// At most so many runs.
    pub runs: usize,
    /// At most so many results together, unless one run alone has more.
    pub results: u64,
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swept {
    /// So many runs were removed; 0: none was old enough.
    Runs(u64),
    /// Another instance is at it.
    Busy,
}

/// Removes old runs from storage.
pub trait Retention: Send + Sync {
    /// Removes the runs that ended longest ago, before `ended_before`: a batch of them. Never two instances
    /// at once. Notes it in the audit unless there was nothing to do.
    fn sweep(
        &self,
        ended_before: Timestamp,
        most: BatchSize,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Swept, StorageError>;

    /// Removes what was deleted from wherever the store itself has noted it beside its tables, without holding others up
    /// for more than a moment. `false`: somebody was in the way; it is to be tried again. (A PostgreSQL server looks after
    /// its own log.)
    fn wipe(&self) -> Result<bool, StorageError>;
}

/// Removes runs that ended so many days ago, bit by bit.
pub struct Sweeper {
    store: Arc<dyn Retention>,
    clock: Arc<dyn Clock>,
    days: u32,
    due: Mutex<Instant>,
    wipe_due: Mutex<Instant>,
}

impl Sweeper {
    /// Keeps runs for so many days after their end; 0: for ever.
    pub fn new(store: Arc<dyn Retention>, clock: Arc<dyn Clock>, days: u32) -> Self {
        Self { store, clock, days, due: Mutex::new(Instant::now()), wipe_due: Mutex::new(Instant::now()) }
    }

    /// Removes what is due, for a moment; the housekeeper calls it about once a second. Gives the number of
    /// runs removed.
    pub fn keep_house(&self) -> u64 {
        let mut due = self.due.lock();
        if self.days == 0 || Instant::now() < *due {
            return 0;
        }
        let until = Instant::now() + ROUND;
        let mut removed = 0;
        let is_clean = loop {
            match self.sweep_once() {
                Ok(Swept::Runs(0) | Swept::Busy) => break true,
                Ok(Swept::Runs(runs)) => removed += runs,
                Err(error) => {
                    warn!("old runs were not removed: {error}");
                    break true;
                }
            }
            if Instant::now() >= until {
                break false;
            }
        };
        if is_clean {
            *due = Instant::now() + LOOK_EVERY;
        }
        if removed > 0 {
            info!("removed {removed} runs that ended more than {} days ago", self.days);
        }
        removed
    }

    /// Wipes out what is left of deleted runs, whoever deleted them; the housekeeper calls it about once a second. Where
    /// somebody is in the way, it is tried again each time.
    pub fn wipe(&self) {
        let mut due = self.wipe_due.lock();
        if Instant::now() < *due {
            return;
        }
        if let Err(error) = self.store.wipe() {
            warn!("what was deleted still stands in the database's log: {error}");
            *due = Instant::now() + LOOK_EVERY;
        }
    }

    fn sweep_once(&self) -> Result<Swept, StorageError> {
        let now = self.clock.now();
        // A timestamp takes hours, not days: a day here is always 24 of them.
        let before = now.checked_sub((i64::from(self.days) * 24).hours()).unwrap_or(Timestamp::MIN);
        self.store.sweep(before, BATCH, now, &Origin::SYSTEM)
    }
}
