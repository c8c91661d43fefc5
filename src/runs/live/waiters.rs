//! [`Waiters`]: a wake-up for the readers that wait for changes of a run.
//!
//! Thousands of readers may wait for the same run, and they must not contend for one lock when they are woken. The
//! condition variables of `parking_lot` move all woken threads to the queue of the lock, which wakes the next one
//! only when the previous one releases it. Those of the standard library wake all of them at once. The threads wait
//! in groups, on locks that are held only briefly.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The number of groups: a few for each processor of a large machine. A wake-up takes one lock for each group.
const GROUPS: usize = 16;

/// A counter of changes on which threads can wait.
#[derive(Default)]
pub(super) struct Waiters {
    changes: AtomicU64,
    next_group: AtomicUsize,
    groups: [Group; GROUPS],
}

#[derive(Default)]
struct Group {
    /// The number of threads that wait. To wake nobody is a system call, too, and most groups have no thread.
    waiting: Mutex<usize>,
    changed: Condvar,
}

impl Waiters {
    /// Returns the number of changes. Read it before the state, so that no change in between is missed.
    pub(super) fn count(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Wakes all waiting threads. Must be called after the change is visible.
    pub(super) fn notify_all(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
        for group in &self.groups {
            // A thread that has not seen the new number holds this lock until it sleeps.
            let waiting = *group.enter();
            if waiting > 0 {
                group.changed.notify_all();
            }
        }
    }

    /// Waits until the number of changes differs from `seen`, and returns `true`. Returns `false` if the moment is
    /// reached first.
    pub(super) fn wait(&self, seen: u64, until: Instant) -> bool {
        let group = &self.groups[self.next_group.fetch_add(1, Ordering::Relaxed) % GROUPS];
        let mut waiting = group.enter();
        while self.count() == seen {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            *waiting += 1;
            waiting = group.changed.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
            *waiting -= 1;
        }
        true
    }
}

impl Group {
    /// Enters the group. No thread can panic while it holds the lock.
    fn enter(&self) -> MutexGuard<'_, usize> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_waiter_misses_a_change() {
        let (waiters, state) = (Waiters::default(), AtomicU32::new(0));
        let until = Instant::now() + Duration::from_secs(60);
        thread::scope(|scope| {
            for _ in 0..3 * GROUPS {
                scope.spawn(|| {
                    loop {
                        let count = waiters.count();
                        if state.load(Ordering::SeqCst) == 200 {
                            break;
                        }
                        // A missed change would be seen at the deadline only.
                        assert!(waiters.wait(count, until) && Instant::now() < until, "a change was missed");
                    }
                });
            }
            for _ in 0..200 {
                state.fetch_add(1, Ordering::SeqCst);
                waiters.notify_all();
            }
        });
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        let waiters = Waiters::default();
        assert!(!waiters.wait(waiters.count(), Instant::now()));
        waiters.notify_all();
        assert!(waiters.wait(0, Instant::now()), "the change has happened already");
    }
}
