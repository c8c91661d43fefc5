//! The limit on memory for the parsed forms of all answers.
//!
//! The forms that are derived from an answer take many times as much memory as its bytes: its text in lower
//! case, its page, the values of its JSON and of its scripts, and the copies that extractors make of them. A
//! check reserves this memory before it reads answers and releases it before it waits for anything. It never
//! reserves more while it holds a reservation, so checks cannot deadlock.

use std::collections::VecDeque;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::json_size;
use super::probe::Response;

/// The default limit on memory for the parsed forms of all answers, in bytes.
pub const DEFAULT_ANSWER_MEMORY: usize = 256 * 1024 * 1024;

/// The estimated bytes for each byte of a body: its texts, the page and its elements.
const PER_BYTE: usize = 8;
/// The estimated bytes for each unit of [`json_size::cost`], parsed and copied once.
const PER_COST: usize = 300;

/// Estimates the memory that the parsed forms of an answer take, in bytes.
pub(crate) fn estimate(response: &Response) -> usize {
    // JSON-LD and scripts each have a limit of their own.
    let cost = json_size::upper_cost(&response.body).min(2 * json_size::MAX_COST);
    response.body.len() * PER_BYTE + cost * PER_COST
}

/// Memory that checks share. Reservations are granted in the order in which they were requested.
#[derive(Debug)]
pub(crate) struct AnswerMemory {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    reserved: usize,
    next_ticket: u64,
    waiting: VecDeque<u64>,
}

/// Reserved memory, which is released on drop.
#[derive(Debug)]
pub(crate) struct Reservation<'m> {
    memory: &'m AnswerMemory,
    bytes: usize,
}

impl AnswerMemory {
    /// Creates a store from which at most `limit` bytes can be reserved at a time.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Reserves `bytes`, or the whole limit if that is less. Returns `None` if the deadline passes first.
    pub(crate) fn reserve(&self, bytes: usize, deadline: Instant) -> Option<Reservation<'_>> {
        let bytes = bytes.min(self.limit);
        let mut state = self.state.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back(ticket);
        loop {
            let is_first = state.waiting.front() == Some(&ticket);
            let is_granted = is_first && state.reserved + bytes <= self.limit;
            if is_granted {
                state.reserved += bytes;
            } else if !self.changed.wait_until(&mut state, deadline).timed_out() {
                continue;
            }
            state.waiting.retain(|waiting| *waiting != ticket);
            self.changed.notify_all();
            // Not `then_some`: a reservation that is created and dropped here would lock the state again.
            return is_granted.then(|| Reservation { memory: self, bytes });
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.memory.state.lock().reserved -= self.bytes;
        self.memory.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn reservations_do_not_exceed_the_limit() {
        let memory = AnswerMemory::new(100);
        let (held, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for thread in 0..16usize {
                let (memory, held, most) = (&memory, &held, &most);
                scope.spawn(move || {
                    for round in 0..50usize {
                        let bytes = (thread * 31 + round * 17) % 130;
                        let reservation = memory.reserve(bytes, soon()).unwrap();
                        let now = held.fetch_add(bytes.min(100), Ordering::SeqCst) + bytes.min(100);
                        most.fetch_max(now, Ordering::SeqCst);
                        held.fetch_sub(bytes.min(100), Ordering::SeqCst);
                        drop(reservation);
                    }
                });
            }
        });
        assert!(most.into_inner() <= 100);
        let state = memory.state.lock();
        assert_eq!((state.reserved, state.waiting.len()), (0, 0));
    }

    #[test]
    fn a_waiter_times_out_without_blocking_others() {
        let memory = AnswerMemory::new(100);
        let first = memory.reserve(60, soon()).unwrap();
        assert!(memory.reserve(50, Instant::now()).is_none());
        let second = memory.reserve(40, Instant::now());
        assert!(second.is_some(), "who gave up is not waited for");
        drop((first, second));
        assert!(memory.reserve(1_000, Instant::now()).is_some(), "more than there is means all");
    }
}
