//! [`Turns`]: the modules of a run that wait for a host.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use crate::runs::host_limiter::Waker;

/// Which modules of a round wait for their turn at a host, and whose turn has come.
#[derive(Default)]
pub(super) struct Turns {
    round: usize,
    /// The wakers of the modules that have found a host busy.
    wakers: HashMap<usize, Waker>,
    /// The modules that are not tried before their turn.
    waiting: HashSet<usize>,
    /// The modules whose turn has come.
    come: Vec<usize>,
    /// The first time at which a module with a rate may be tried again.
    not_before: Option<Instant>,
}

impl Turns {
    /// Returns the number of the round. The places of its modules mean other modules in other rounds.
    pub(super) fn round(&self) -> usize {
        self.round
    }

    /// Begins the next round, in which no module waits.
    pub(super) fn next_round(&mut self) {
        *self = Self { round: self.round + 1, ..Self::default() };
    }

    /// Returns the waker of a module: always the same one as long as it waits, because it is its place in the queue.
    pub(super) fn waker(&self, place: usize, make: impl FnOnce() -> Waker) -> Waker {
        self.wakers.get(&place).cloned().unwrap_or_else(make)
    }

    /// Returns whether a module waits for its turn.
    pub(super) fn is_awaited(&self, place: usize) -> bool {
        self.waiting.contains(&place)
    }

    /// Lets a module wait until its waker is called.
    pub(super) fn wait(&mut self, place: usize, waker: Waker) {
        self.wakers.insert(place, waker);
        self.waiting.insert(place);
    }

    /// Notes that a module may be tried again at a time.
    pub(super) fn wait_until(&mut self, at: Instant) {
        self.not_before = Some(self.not_before.map_or(at, |known| known.min(at)));
    }

    /// Returns the first time at which a module may be tried again, if one waits for a time.
    pub(super) fn not_before(&self) -> Option<Instant> {
        self.not_before
    }

    /// Forgets the times, because all modules are tried now.
    pub(super) fn forget_times(&mut self) {
        self.not_before = None;
    }

    /// Notes that the turn of a module has come. A turn of an earlier round comes too late.
    pub(super) fn come(&mut self, round: usize, place: usize) {
        if round == self.round {
            self.come.push(place);
        }
    }

    /// Returns the modules whose turn has come since the last call.
    pub(super) fn take(&mut self) -> Vec<usize> {
        let come = std::mem::take(&mut self.come);
        for place in &come {
            self.waiting.remove(place);
        }
        come
    }

    /// Lets all waiting modules be tried. They keep their places in the queues.
    pub(super) fn try_all(&mut self) {
        self.waiting.clear();
    }

    /// Removes a module that has begun or has ended.
    pub(super) fn remove(&mut self, place: usize) {
        self.wakers.remove(&place);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_turn_of_an_earlier_round_is_none_of_a_later_one() {
        let mut turns = Turns::default();
        for is_read_before_the_round_ends in [true, false] {
            let ended = turns.round();
            turns.wait(7, Arc::new(|| {}));
            if is_read_before_the_round_ends {
                turns.come(ended, 7);
            }
            turns.next_round();
            turns.come(ended, 7);
            assert!(!turns.is_awaited(7) && turns.take().is_empty());
            turns.come(turns.round(), 3);
            assert_eq!(turns.take(), [3]);
        }
    }
}
