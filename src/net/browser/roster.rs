//! How many sessions each endpoint has: those that are open, and those that somebody is opening.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// See the file's head.
pub(super) struct Roster {
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    counts: Vec<Count>,
    /// Sessions that have ended so far.
    ended: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    claimed: usize,
    open: usize,
}

impl Roster {
    /// One for so many endpoints.
    pub(super) fn new(endpoints: usize) -> Self {
        let state = State { counts: vec![Count::default(); endpoints], ended: 0 };
        Self { state: Mutex::new(state), ended: Condvar::new() }
    }

    /// Claims a session of the endpoint that ranks lowest, of several the one with the fewest. Those without a rank
    /// are left out.
    pub(super) fn claim<K: Ord>(self: &Arc<Self>, rank: impl Fn(usize) -> Option<K>) -> Option<Claim> {
        let mut state = self.state.lock();
        let ranked = state.counts.iter().enumerate();
        let ranked = ranked.filter_map(|(index, count)| Some((rank(index)?, count.claimed, index)));
        let (_, _, endpoint) = ranked.min()?;
        state.counts[endpoint].claimed += 1;
        drop(state);
        Some(Claim { roster: Arc::clone(self), endpoint, is_open: false })
    }

    /// Sessions that are open.
    pub(super) fn open(&self) -> usize {
        self.state.lock().counts.iter().map(|count| count.open).sum()
    }

    /// Sessions of an endpoint that are open or being opened.
    pub(super) fn claimed(&self, endpoint: usize) -> usize {
        self.state.lock().counts[endpoint].claimed
    }

    /// How many sessions have ended so far.
    pub(super) fn ended(&self) -> u64 {
        self.state.lock().ended
    }

    /// Waits until more than `ended` have, or until then, or until it is woken.
    pub(super) fn wait_for_end(&self, ended: u64, until: Instant) {
        let mut state = self.state.lock();
        if state.ended == ended {
            self.ended.wait_until(&mut state, until);
        }
    }

    /// Wakes all who wait.
    pub(super) fn wake(&self) {
        self.ended.notify_all();
    }
}

/// One session's place in it.
pub(super) struct Claim {
    roster: Arc<Roster>,
    endpoint: usize,
    is_open: bool,
}

impl Claim {
    /// Whose session it is.
    pub(super) fn endpoint(&self) -> usize {
        self.endpoint
    }

    /// Whether that endpoint has, or is opening, other sessions of ours.
    pub(super) fn has_company(&self) -> bool {
        self.roster.claimed(self.endpoint) > 1
    }

    /// The session is open.
    pub(super) fn note_open(&mut self) {
        self.roster.state.lock().counts[self.endpoint].open += 1;
        self.is_open = true;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.roster.state.lock();
        let count = &mut state.counts[self.endpoint];
        count.claimed -= 1;
        if self.is_open {
            count.open -= 1;
            state.ended += 1;
            self.roster.ended.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_ranked_and_then_the_least_used_endpoint_is_claimed() {
        let roster = Arc::new(Roster::new(3));
        let claim = |ranks: [Option<u8>; 3]| roster.claim(|index| ranks[index]);
        let first = claim([Some(1), Some(0), Some(0)]).unwrap();
        let mut second = claim([Some(1), Some(0), Some(0)]).unwrap();
        assert_eq!((first.endpoint(), second.endpoint(), first.has_company()), (1, 2, false));
        let third = claim([None, Some(0), None]).unwrap();
        assert!(claim([None; 3]).is_none() && first.has_company());
        assert_eq!((roster.open(), roster.ended()), (0, 0));
        second.note_open();
        drop((first, third));
        assert_eq!((roster.open(), roster.ended()), (1, 0), "what was not open does not end");
        drop(second);
        assert_eq!((roster.open(), roster.ended()), (0, 1));
    }
}
