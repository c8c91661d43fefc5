//! Counts the sessions of each endpoint, both the open ones and those that are being opened.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// The numbers of sessions of all endpoints.
pub(super) struct SessionCounts {
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    counts: Vec<Count>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    claimed: usize,
    open: usize,
    /// The number of sessions that were open and have ended so far.
    ended: u64,
}

impl State {
    fn ended(&self) -> u64 {
        self.counts.iter().map(|count| count.ended).sum()
    }
}

impl SessionCounts {
    /// Creates counts for that many endpoints.
    pub(super) fn new(endpoints: usize) -> Self {
        let state = State { counts: vec![Count::default(); endpoints] };
        Self { state: Mutex::new(state), ended: Condvar::new() }
    }

    /// Claims a session of the endpoint with the lowest rank. Among endpoints with equal ranks, uses the one with the
    /// fewest sessions. Skips endpoints without a rank.
    pub(super) fn claim<K: Ord>(self: &Arc<Self>, rank: impl Fn(usize) -> Option<K>) -> Option<Claim> {
        let mut state = self.state.lock();
        let ranked = state.counts.iter().enumerate();
        let ranked = ranked.filter_map(|(index, count)| Some((rank(index)?, count.claimed, index)));
        let (_, _, endpoint) = ranked.min()?;
        let count = &mut state.counts[endpoint];
        count.claimed += 1;
        let ended_before = count.ended;
        drop(state);
        Some(Claim { counts: Arc::clone(self), endpoint, ended_before, is_open: false })
    }

    /// Returns the number of open sessions.
    pub(super) fn open(&self) -> usize {
        self.state.lock().counts.iter().map(|count| count.open).sum()
    }

    /// Returns the number of sessions of an endpoint that are open or being opened.
    pub(super) fn claimed(&self, endpoint: usize) -> usize {
        self.state.lock().counts[endpoint].claimed
    }

    /// Returns the number of sessions that have ended so far.
    pub(super) fn ended(&self) -> u64 {
        self.state.lock().ended()
    }

    /// Waits until more than `ended` sessions have ended, the thread is woken, or `until` has passed.
    pub(super) fn wait_for_end(&self, ended: u64, until: Instant) {
        let mut state = self.state.lock();
        if state.ended() == ended {
            self.ended.wait_until(&mut state, until);
        }
    }

    /// Wakes all waiting threads.
    pub(super) fn wake(&self) {
        self.ended.notify_all();
    }
}

/// One counted session.
pub(super) struct Claim {
    counts: Arc<SessionCounts>,
    endpoint: usize,
    /// The number of sessions of the endpoint that had ended before this one was claimed.
    ended_before: u64,
    is_open: bool,
}

impl Claim {
    /// Returns the index of the session's endpoint.
    pub(super) fn endpoint(&self) -> usize {
        self.endpoint
    }

    /// Returns whether the session's endpoint has other sessions that are open or being opened, or had one since this one
    /// was claimed: it may have ended before a refusal was read that it had caused.
    pub(super) fn is_shared(&self) -> bool {
        let count = self.counts.state.lock().counts[self.endpoint];
        count.claimed > 1 || count.ended > self.ended_before
    }

    /// Counts the session as open.
    pub(super) fn note_open(&mut self) {
        self.counts.state.lock().counts[self.endpoint].open += 1;
        self.is_open = true;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.counts.state.lock();
        let count = &mut state.counts[self.endpoint];
        count.claimed -= 1;
        if self.is_open {
            count.open -= 1;
            count.ended += 1;
            self.counts.ended.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_with_the_lowest_rank_and_then_the_fewest_sessions_is_claimed() {
        let counts = Arc::new(SessionCounts::new(3));
        let claim = |ranks: [Option<u8>; 3]| counts.claim(|index| ranks[index]);
        let first = claim([Some(1), Some(0), Some(0)]).unwrap();
        let mut second = claim([Some(1), Some(0), Some(0)]).unwrap();
        assert_eq!((first.endpoint(), second.endpoint(), first.is_shared()), (1, 2, false));
        let third = claim([None, Some(0), None]).unwrap();
        assert!(claim([None; 3]).is_none() && first.is_shared());
        assert_eq!((counts.open(), counts.ended()), (0, 0));
        second.note_open();
        drop((first, third));
        assert_eq!(
            (counts.open(), counts.ended()),
            (1, 0),
            "a claim that was never open is not counted as ended"
        );
        drop(second);
        assert_eq!((counts.open(), counts.ended()), (0, 1));
    }

    #[test]
    fn an_endpoint_is_shared_with_a_session_that_has_ended_since_the_claim() {
        let counts = Arc::new(SessionCounts::new(1));
        let claim = || counts.claim(|_| Some(0)).unwrap();
        let mut other = claim();
        other.note_open();
        let refused = claim();
        drop(other);
        assert!(refused.is_shared());
        let (later, never_open) = (claim(), claim());
        drop((refused, never_open));
        assert!(!later.is_shared());
    }
}
