//! Those who wait for news of a run.
//!
//! Thousands may wait for the same run, and whoever wakes must not queue up for one lock. With `parking_lot` they would:
//! its condition variables hand all who are woken to the lock, which wakes the next one when the one before lets go,
//! and whoever is through with the news and wants to wait again queues up behind those who have not yet woken. The
//! standard library's wake everybody at once. They wait in groups, on locks that guard nothing and are held for no time.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A few for each processor of a large machine; telling costs a lock for each of them.
const GROUPS: usize = 16;

/// Waits and is told.
#[derive(Default)]
pub(super) struct Crowd {
    news: AtomicU64,
    next_group: AtomicUsize,
    groups: [Group; GROUPS],
}

#[derive(Default)]
struct Group {
    gate: Mutex<()>,
    told: Condvar,
}

impl Crowd {
    /// How often there was news. Ask before looking at what the news are of: news that come in between are not slept
    /// through.
    pub(super) fn heard(&self) -> u64 {
        self.news.load(Ordering::SeqCst)
    }

    /// Wakes everybody. To be called when what there is to see can be seen.
    pub(super) fn tell(&self) {
        self.news.fetch_add(1, Ordering::SeqCst);
        for group in &self.groups {
            // Whoever has not seen the new number holds this lock until it sleeps.
            drop(group.enter());
            group.told.notify_all();
        }
    }

    /// Waits for news beyond those that were heard (`true`), or until the moment has come (`false`).
    pub(super) fn wait(&self, heard: u64, until: Instant) -> bool {
        let group = &self.groups[self.next_group.fetch_add(1, Ordering::Relaxed) % GROUPS];
        let mut gate = group.enter();
        while self.heard() == heard {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            gate = group.told.wait_timeout(gate, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Group {
    /// There is nothing behind the lock that a panic could have spoilt.
    fn enter(&self) -> MutexGuard<'_, ()> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn nobody_sleeps_through_news() {
        let (crowd, seen) = (Crowd::default(), AtomicU32::new(0));
        let until = Instant::now() + Duration::from_secs(60);
        thread::scope(|scope| {
            for _ in 0..3 * GROUPS {
                scope.spawn(|| {
                    loop {
                        let heard = crowd.heard();
                        if seen.load(Ordering::SeqCst) == 200 {
                            break;
                        }
                        assert!(crowd.wait(heard, until), "news were slept through");
                    }
                });
            }
            for _ in 0..200 {
                seen.fetch_add(1, Ordering::SeqCst);
                crowd.tell();
            }
        });
    }

    #[test]
    fn a_moment_that_has_come_ends_the_wait() {
        let crowd = Crowd::default();
        assert!(!crowd.wait(crowd.heard(), Instant::now()));
        crowd.tell();
        assert!(crowd.wait(0, Instant::now()), "what is there is not waited for");
    }
}
