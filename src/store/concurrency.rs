//! Bounds the number of callers that wait for the database at once, and their waiting time.
//!
//! A request that waits for a lock holds one of the server's request workers. Without a bound, all of them would wait
//! for one lock, and requests that need no lock would not be answered. Therefore each caller needs one of a limited
//! number of permits, and requests stop waiting for one as soon as its holders make no progress. After a holder was
//! blocked for long, a single caller at a time tries whether the lock is released, and all other requests fail at
//! once.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::limits::{BACKGROUND_WAIT, CROWDED_WAIT, POOL_WAIT, STANDSTILL, WAITING_REQUESTS};
use crate::base::storage::StorageError;

/// The time for which a caller waits for a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitLimit {
    /// A request waits as long as the holders of permits make progress.
    Request,
    /// A thread that serves no request waits for [`BACKGROUND_WAIT`].
    Background,
    /// The caller waits at most this long.
    Within(Duration),
}

/// A limit on concurrent callers, which refuses further ones while its callers are blocked.
pub(super) struct ConcurrencyLimit {
    permits: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    held: usize,
    waiting: usize,
    /// The time at which a permit was last given out or returned.
    moved_at: Instant,
    /// The time at which a caller last succeeded.
    succeeded_at: Option<Instant>,
    is_blocked: bool,
}

/// The error of a caller that got no permit. The holders have made no progress for the contained time.
#[derive(Debug, thiserror::Error)]
#[error("other statements have waited for a lock or for the disk for {} ms", .0.as_millis())]
struct Refused(Duration);

impl ConcurrencyLimit {
    /// Creates a limit of that many callers at once, at least one.
    pub(super) fn new(permits: usize) -> Self {
        let state =
            State { held: 0, waiting: 0, moved_at: Instant::now(), succeeded_at: None, is_blocked: false };
        Self { permits: permits.max(1), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits for a permit, which is returned on drop.
    ///
    /// # Errors
    /// Returns an error if the caller got no permit in time. The error is [contended](StorageError::is_contended).
    pub(super) fn acquire(&self, wait_limit: WaitLimit) -> Result<Permit<'_>, StorageError> {
        let arrived_at = Instant::now();
        let mut state = self.state.lock();
        let mut has_waited = false;
        loop {
            // Callers that wait already come first.
            if state.held < self.open_permits(&state) && (has_waited || state.waiting == 0) {
                return Ok(self.grant(&mut state));
            }
            let now = Instant::now();
            let until = deadline(&state, wait_limit, arrived_at);
            if until.is_none_or(|until| now >= until) {
                let still = now.duration_since(state.moved_at);
                return Err(StorageError::contended(Refused(still)));
            }
            state.waiting += 1;
            self.changed.wait_until(&mut state, until.unwrap_or(now));
            state.waiting -= 1;
            has_waited = true;
        }
    }

    fn grant(&self, state: &mut State) -> Permit<'_> {
        state.held += 1;
        state.moved_at = Instant::now();
        if state.held < self.open_permits(state) && state.waiting > 0 {
            self.changed.notify_one();
        }
        Permit { limit: self, granted_at: state.moved_at, is_trial: state.is_blocked, outcome: None }
    }

    fn open_permits(&self, state: &State) -> usize {
        if state.is_blocked { 1 } else { self.permits }
    }

    /// Returns the number of permits that are held.
    pub(super) fn held(&self) -> usize {
        self.state.lock().held
    }
}

/// Returns the time until which a caller that arrived at `arrived_at` waits, or `None` if it does not wait.
fn deadline(state: &State, wait_limit: WaitLimit, arrived_at: Instant) -> Option<Instant> {
    match wait_limit {
        WaitLimit::Background => Some(arrived_at + BACKGROUND_WAIT),
        WaitLimit::Within(wait) => Some(arrived_at + wait),
        WaitLimit::Request if state.is_blocked => None,
        WaitLimit::Request => {
            let still = if state.waiting < WAITING_REQUESTS { STANDSTILL } else { CROWDED_WAIT };
            Some((state.moved_at + still).min(arrived_at + POOL_WAIT))
        }
    }
}

/// The right to use the database.
pub(super) struct Permit<'a> {
    limit: &'a ConcurrencyLimit,
    granted_at: Instant,
    is_trial: bool,
    outcome: Option<bool>,
}

impl Permit<'_> {
    /// Returns whether this caller is the one that tries whether the lock is released. Others are refused meanwhile.
    pub(super) fn is_trial(&self) -> bool {
        self.is_trial
    }

    /// Records that the caller waits for a lock that another process holds. Requests stop waiting for permits.
    pub(super) fn note_blocked(&self) {
        let mut state = self.limit.state.lock();
        if !state.is_blocked {
            state.is_blocked = true;
            self.limit.changed.notify_all();
        }
    }

    /// Records whether the database did the caller's work or answered it.
    pub(super) fn note(&mut self, succeeded: bool) {
        self.outcome = Some(succeeded);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.limit.state.lock();
        let now = Instant::now();
        state.held -= 1;
        state.moved_at = now;
        match self.outcome {
            Some(true) => {
                state.succeeded_at = Some(now);
                state.is_blocked = false;
            }
            // If other callers succeeded in the meantime, only some rows are locked.
            Some(false) if state.succeeded_at.is_none_or(|at| at < self.granted_at) => {
                state.is_blocked |= now.duration_since(self.granted_at) >= STANDSTILL;
            }
            _ => {}
        }
        // One permit became free for one caller; a change of the limit's state concerns all of them.
        if self.is_trial || state.is_blocked {
            self.limit.changed.notify_all();
        } else {
            self.limit.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const WITHOUT_WAITING: WaitLimit = WaitLimit::Within(Duration::ZERO);

    fn blocked(permits: usize) -> ConcurrencyLimit {
        let limit = ConcurrencyLimit::new(permits);
        let mut permit = limit.acquire(WITHOUT_WAITING).unwrap();
        permit.note_blocked();
        permit.note(false);
        drop(permit);
        limit
    }

    #[test]
    fn without_a_free_permit_callers_are_refused() {
        let limit = ConcurrencyLimit::new(2);
        let (first, _second) =
            (limit.acquire(WITHOUT_WAITING).unwrap(), limit.acquire(WITHOUT_WAITING).unwrap());
        assert!(limit.acquire(WITHOUT_WAITING).err().unwrap().is_contended());
        drop(first);
        assert!(limit.acquire(WITHOUT_WAITING).is_ok());
    }

    #[test]
    fn while_blocked_one_caller_tries_and_requests_are_refused_at_once() {
        let limit = blocked(3);
        let mut trial = limit.acquire(WaitLimit::Request).unwrap();
        assert!(trial.is_trial());
        // On a busy machine one of them may take long.
        let refusals = (0..3).map(|_| {
            let began = Instant::now();
            assert!(limit.acquire(WaitLimit::Request).err().unwrap().is_contended());
            began.elapsed()
        });
        assert!(refusals.min().unwrap() < STANDSTILL);
        trial.note(true);
        drop(trial);
        let all: Vec<_> = (0..3).map(|_| limit.acquire(WaitLimit::Request).unwrap()).collect();
        assert!(all.iter().all(|permit| !permit.is_trial()));
    }

    #[test]
    fn a_blocked_holder_fails_waiting_requests_but_not_background_threads() {
        let limit = ConcurrencyLimit::new(1);
        let permit = limit.acquire(WITHOUT_WAITING).unwrap();
        thread::scope(|scope| {
            let request = scope.spawn(|| limit.acquire(WaitLimit::Request).err());
            let driver = scope.spawn(|| limit.acquire(WaitLimit::Background).map(|_| ()));
            while limit.state.lock().waiting < 2 {
                thread::yield_now();
            }
            permit.note_blocked();
            assert!(request.join().unwrap().expect("the lock is held").is_contended());
            drop(permit);
            driver.join().unwrap().expect("it waited for its turn");
        });
    }

    #[test]
    fn waiting_callers_get_permits_in_order() {
        let limit = ConcurrencyLimit::new(2);
        let entered = std::sync::atomic::AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..32 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let mut permit = limit.acquire(WaitLimit::Background).unwrap();
                        assert!(limit.held() <= 2);
                        entered.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        permit.note(true);
                    }
                });
            }
        });
        assert_eq!(entered.into_inner(), 32 * 50);
    }
}
