//! [`Drivers`]: the drivers of this process, the last known state of the queue of runs that wait for one, and the shutdown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// The time after an outage of the store in which no run with an expired lease is taken over. Leases expire during
/// the outage, and their drivers, which try every second or two, have this time to renew them.
const RENEWAL_TIME: Duration = Duration::from_secs(10);

/// What the parts share that start or end runs. There is one value for each process.
pub(super) struct Drivers {
    max: usize,
    queue: Mutex<Queue>,
    /// Notified when the maintenance thread is woken, a driver becomes free, or the shutdown begins.
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct Queue {
    is_shutting_down: bool,
    /// Whether the maintenance thread was woken.
    is_woken: bool,
    taken: usize,
    /// Whether a run may wait that no driver was free for.
    is_missed: bool,
    /// The last known number of waiting runs of all instances.
    pub(super) waiting: usize,
    /// Whether the last read of the store failed.
    pub(super) is_store_away: bool,
    /// The moment from which on drivers of expired leases count as gone.
    not_before: Option<Instant>,
    /// Whether the next claim looks for runs with an expired lease. One claim does after each periodic search, since it reads
    /// all runs that have a driver.
    pub(super) looks_for_expired: bool,
}

/// The right to drive runs, one after the other. Dropping the slot frees it.
pub(super) struct Slot(Arc<Drivers>);

impl Drivers {
    /// Allows at most `max` runs to be driven at once, but at least one.
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max: max.max(1), queue: Mutex::default(), changed: Condvar::new() })
    }

    /// Reserves at most `most` free slots. If there is none, the maintenance thread wakes as soon as one is free.
    pub(super) fn reserve(self: &Arc<Self>, most: usize) -> Vec<Slot> {
        let mut queue = self.queue.lock();
        let free = if queue.is_shutting_down { 0 } else { self.max.saturating_sub(queue.taken).min(most) };
        queue.taken += free;
        queue.is_missed |= free == 0;
        (0..free).map(|_| Slot(Arc::clone(self))).collect()
    }

    /// Returns whether the shutdown has begun.
    pub(super) fn is_shutting_down(&self) -> bool {
        self.queue.lock().is_shutting_down
    }

    /// Begins the shutdown, which cannot be undone.
    pub(super) fn shut_down(&self) {
        self.queue.lock().is_shutting_down = true;
        self.changed.notify_all();
    }

    /// Waits until all slots are free, at most until the given moment. Returns whether they are. Stop the runs first.
    pub(super) fn wait_for_all(&self, until: Instant) -> bool {
        let mut queue = self.queue.lock();
        while queue.taken > 0 && !self.changed.wait_until(&mut queue, until).timed_out() {}
        queue.taken == 0
    }

    /// Wakes the maintenance thread, because there may be runs without a driver.
    pub(super) fn wake_maintenance(&self) {
        self.queue.lock().is_woken = true;
        self.changed.notify_all();
    }

    /// Returns whether the maintenance thread was woken since the last call.
    pub(super) fn take_wake_up(&self) -> bool {
        std::mem::take(&mut self.queue.lock().is_woken)
    }

    /// Waits until the maintenance thread is woken, the shutdown begins, or the given moment is reached. Returns
    /// whether the shutdown has begun.
    pub(super) fn wait(&self, until: Instant) -> bool {
        let mut queue = self.queue.lock();
        while !queue.is_shutting_down
            && !queue.is_woken
            && !self.changed.wait_until(&mut queue, until).timed_out()
        {}
        queue.is_shutting_down
    }

    /// Returns the last known state of the queue.
    pub(super) fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }

    /// Returns the last known number of waiting runs of all instances.
    pub(super) fn waiting(&self) -> usize {
        self.queue.lock().waiting
    }

    /// Records that the store answers.
    pub(super) fn store_answers(&self, now: Instant) {
        let mut queue = self.queue.lock();
        if std::mem::take(&mut queue.is_store_away) {
            queue.not_before = Some(now + RENEWAL_TIME);
        }
    }

    /// Returns whether a claim that begins now looks for runs with an expired lease. Further claims do not. It does not
    /// unless the store has answered for long enough that their drivers count as gone.
    pub(super) fn take_look(&self, now: Instant) -> bool {
        let mut queue = self.queue.lock();
        let is_time = !queue.is_store_away && queue.not_before.is_none_or(|at| now >= at);
        std::mem::take(&mut queue.looks_for_expired) && is_time
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        queue.taken -= 1;
        queue.is_woken |= std::mem::take(&mut queue.is_missed);
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_renew_leases_begins_when_the_store_is_available_again() {
        let drivers = Drivers::new(1);
        let are_lost = |at| {
            drivers.queue().looks_for_expired = true;
            drivers.take_look(at)
        };
        let start = Instant::now();
        assert!(are_lost(start) && !drivers.take_look(start), "one claim looks for them");
        drivers.queue().is_store_away = true;
        assert!(!are_lost(start), "the store has not answered again");
        // The store was unavailable for much longer than that time.
        let back = start + 10 * RENEWAL_TIME;
        drivers.store_answers(back);
        assert!(!are_lost(back));
        drivers.store_answers(back + RENEWAL_TIME / 2);
        assert!(!are_lost(back + RENEWAL_TIME / 2));
        assert!(are_lost(back + RENEWAL_TIME));
        // The store becomes unavailable again.
        drivers.queue().is_store_away = true;
        drivers.store_answers(back + 2 * RENEWAL_TIME);
        assert!(!are_lost(back + 2 * RENEWAL_TIME));
        assert!(are_lost(back + 3 * RENEWAL_TIME));
    }
}
