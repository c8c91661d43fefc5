//! [`Changes`]: a wake-up for the readers that wait for changes of a run.
//!
//! Thousands of readers may wait for the same run. The condition variables of `parking_lot` move all woken threads to the
//! queue of the lock, which wakes the next one only when the previous one releases it. Those of the standard library wake
//! all of them at once, and each then takes the lock briefly. Several locks keep them from meeting there.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The number of groups into which waiting threads are divided. With one, the last of 2,000 woken readers got a frame
/// three times later.
const GROUPS: usize = 16;

/// The number of the last change of a run, on which threads can wait.
pub(super) struct Changes {
    last: AtomicU64,
    groups: [Group; GROUPS],
    /// The number of waits that have begun, which gives each its group.
    begun: AtomicUsize,
}

/// Threads that wait for the same run.
#[derive(Default)]
struct Group {
    /// Their number. To wake nobody is a system call, too.
    waiting: Mutex<usize>,
    changed: Condvar,
}

/// Returns a number that is unique in the process. Therefore a remembered number never means another state, even of a run
/// that was taken over and came back.
fn next_number() -> u64 {
    static NEWEST: AtomicU64 = AtomicU64::new(1);
    NEWEST.fetch_add(1, Ordering::Relaxed)
}

impl Default for Changes {
    fn default() -> Self {
        Self { last: AtomicU64::new(next_number()), groups: Default::default(), begun: AtomicUsize::new(0) }
    }
}

impl Changes {
    /// Returns the number of the last change. Read it before the state, so that no change in between is missed.
    pub(super) fn last(&self) -> u64 {
        self.last.load(Ordering::SeqCst)
    }

    /// Wakes all waiting threads. Must be called after the change is visible.
    pub(super) fn notify_all(&self) {
        self.last.store(next_number(), Ordering::SeqCst);
        for group in &self.groups {
            // A thread that has not seen the new number holds this lock until it sleeps.
            let waiting = *group.lock();
            if waiting > 0 {
                group.changed.notify_all();
            }
        }
    }

    /// Waits until the last change is another one than `seen`, and returns `true`. Returns `false` if the moment is reached
    /// first.
    pub(super) fn wait(&self, seen: u64, until: Instant) -> bool {
        let group = &self.groups[self.begun.fetch_add(1, Ordering::Relaxed) % GROUPS];
        let mut waiting = group.lock();
        *waiting += 1;
        let left = until.saturating_duration_since(Instant::now());
        let waited = group.changed.wait_timeout_while(waiting, left, |_| self.last() == seen);
        let (mut waiting, end) = waited.unwrap_or_else(PoisonError::into_inner);
        *waiting -= 1;
        !end.timed_out()
    }
}

impl Group {
    /// Locks the number of threads that wait. No thread can panic while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, usize> {
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
        let (changes, state) = (Changes::default(), AtomicU32::new(0));
        let until = Instant::now() + Duration::from_secs(60);
        thread::scope(|scope| {
            for _ in 0..48 {
                scope.spawn(|| {
                    loop {
                        let seen = changes.last();
                        if state.load(Ordering::SeqCst) == 200 {
                            break;
                        }
                        // A missed change would be seen at the deadline only.
                        assert!(changes.wait(seen, until) && Instant::now() < until, "a change was missed");
                    }
                });
            }
            for _ in 0..200 {
                state.fetch_add(1, Ordering::SeqCst);
                changes.notify_all();
            }
        });
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        let changes = Changes::default();
        assert!(!changes.wait(changes.last(), Instant::now()));
        changes.notify_all();
        assert!(changes.wait(0, Instant::now()), "the change has happened already");
    }
}
