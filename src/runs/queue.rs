//! [`Queue`]: the last known state of the queue of runs without a driver, which is in the store.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The time after an outage of the store in which no run with an expired lease is taken over. Leases expire during
/// the outage, and their drivers, which try every second or two, have this time to renew them.
const RENEWAL_TIME: Duration = Duration::from_secs(10);

/// The last known state of the queue.
pub(super) struct Queue {
    /// The last known number of waiting runs.
    waiting: AtomicUsize,
    pub(super) expired: Mutex<ExpiredLeases>,
}

impl Default for Queue {
    fn default() -> Self {
        let expired = ExpiredLeases { was_away: false, not_before: Instant::now(), is_due: false };
        Self { waiting: AtomicUsize::new(0), expired: Mutex::new(expired) }
    }
}

impl Queue {
    /// Returns the last known number of waiting runs of all instances.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Returns whether a claim may find a run: one that waits, or one that was interrupted before the last periodic
    /// search, for which no driver was free.
    pub(super) fn may_have_runs(&self) -> bool {
        self.waiting() > 0 || self.expired.lock().is_due
    }

    /// Records the number that was read from the store.
    pub(super) fn note_length(&self, length: usize) {
        self.waiting.store(length, Ordering::Relaxed);
    }

    pub(super) fn note_queued(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_taken(&self) {
        let one_less = |waiting: usize| waiting.checked_sub(1);
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
    }
}

/// The decision whether runs with an expired lease may be taken over.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpiredLeases {
    /// Whether the last read of the store failed.
    was_away: bool,
    not_before: Instant,
    /// Whether the next claim looks for such runs. One claim does after each periodic search, since it reads all runs
    /// that have a driver.
    is_due: bool,
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

    /// Makes the next claim look for runs that have a lease.
    pub(super) fn request_look(&mut self) {
        self.is_due = true;
    }

    /// Returns whether a claim that begins now looks for runs with an expired lease. Further claims do not.
    pub(super) fn take_look(&mut self, now: Instant) -> bool {
        std::mem::take(&mut self.is_due) && self.are_lost(now)
    }

    /// Returns whether the store has answered for long enough that drivers of expired leases count as gone.
    fn are_lost(&self, now: Instant) -> bool {
        !self.was_away && now >= self.not_before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_renew_leases_begins_when_the_store_is_available_again() {
        let start = Instant::now();
        let mut expired = ExpiredLeases { was_away: false, not_before: start, is_due: false };
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
