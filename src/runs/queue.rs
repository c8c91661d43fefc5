//! [`Queue`]: the last known state of the queue of runs without a driver, which is in the store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::journal::Journal;
use super::run::count;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;

/// The time after an outage of the store in which no run with an expired lease is taken over. Leases expire during
/// the outage, and their drivers, which try every second or two, have this time to renew them.
const RENEWAL_TIME: Duration = Duration::from_secs(10);
/// The time for which the order of the queue is cached.
const ORDER_GOOD_FOR: Duration = Duration::from_secs(1);

/// The last known state of the queue.
pub(super) struct Queue {
    /// The last known number of waiting runs.
    waiting: AtomicUsize,
    order: Mutex<Option<Order>>,
    pub(super) expired: Mutex<ExpiredLeases>,
}

/// The order of the queue at one moment.
struct Order {
    at: Instant,
    positions: HashMap<RunId, u32>,
}

impl Default for Queue {
    fn default() -> Self {
        let expired = ExpiredLeases { was_away: false, not_before: Instant::now() };
        Self { waiting: AtomicUsize::new(0), order: Mutex::default(), expired: Mutex::new(expired) }
    }
}

impl Queue {
    /// Returns the last known number of waiting runs of all instances.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(super) fn note_queued(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_taken(&self) {
        let one_less = |waiting: usize| waiting.checked_sub(1);
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
    }

    /// Returns a run's position in the queue, from 1. Returns `None` if the run is not waiting any more or the store
    /// does not answer.
    pub(super) fn position(&self, run: RunId, journal: &dyn Journal, simulated: bool) -> Option<u32> {
        let mut order = self.order.lock();
        let known = order.as_ref().filter(|order| order.at.elapsed() < ORDER_GOOD_FOR);
        if let Some(position) = known.and_then(|order| order.positions.get(&run)) {
            return Some(*position);
        }
        self.read(&mut order, journal, simulated).ok()?;
        order.as_ref()?.positions.get(&run).copied()
    }

    /// Reads the order of the queue from the store.
    pub(super) fn refresh(&self, journal: &dyn Journal, simulated: bool) -> Result<(), StorageError> {
        self.read(&mut self.order.lock(), journal, simulated)
    }

    fn read(
        &self,
        order: &mut Option<Order>,
        journal: &dyn Journal,
        simulated: bool,
    ) -> Result<(), StorageError> {
        let at = Instant::now();
        let runs = journal.queue(simulated)?;
        self.waiting.store(runs.len(), Ordering::Relaxed);
        let positions = runs.into_iter().enumerate().map(|(at, run)| (run, count(at + 1))).collect();
        *order = Some(Order { at, positions });
        Ok(())
    }
}

/// The decision whether runs with an expired lease may be taken over.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpiredLeases {
    /// Whether the last read of the store failed.
    was_away: bool,
    not_before: Instant,
}

impl ExpiredLeases {
    /// Records that the store does not answer. Returns whether it answered before.
    pub(super) fn store_is_away(&mut self) -> bool {
        !std::mem::replace(&mut self.was_away, true)
    }

    /// Records that the store answers.
    pub(super) fn store_answers(&mut self, now: Instant) {
        if std::mem::take(&mut self.was_away) {
            self.not_before = now + RENEWAL_TIME;
        }
    }

    /// Returns whether the store has answered for long enough that drivers of expired leases count as gone.
    pub(super) fn are_lost(&self, now: Instant) -> bool {
        !self.was_away && now >= self.not_before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_renew_leases_begins_when_the_store_is_available_again() {
        let start = Instant::now();
        let mut expired = ExpiredLeases { was_away: false, not_before: start };
        assert!(expired.are_lost(start));
        assert!(expired.store_is_away());
        assert!(!expired.are_lost(start), "the store has not answered again");
        // The store was unavailable for much longer than that time.
        let back = start + 10 * RENEWAL_TIME;
        expired.store_answers(back);
        assert!(!expired.are_lost(back));
        expired.store_answers(back + RENEWAL_TIME / 2);
        assert!(!expired.are_lost(back + RENEWAL_TIME / 2));
        assert!(expired.are_lost(back + RENEWAL_TIME));
        // The store becomes unavailable again.
        assert!(expired.store_is_away());
        assert!(!expired.store_is_away());
        expired.store_answers(back + 2 * RENEWAL_TIME);
        assert!(!expired.are_lost(back + 2 * RENEWAL_TIME));
        assert!(expired.are_lost(back + 3 * RENEWAL_TIME));
    }
}
