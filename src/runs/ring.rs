//! [`Ring`]: a bounded queue that keeps the newest of its numbered events. Each reader holds its own cursor.

use std::collections::VecDeque;

/// The last events, numbered from 0 without gaps.
#[derive(Debug)]
pub struct Ring<T> {
    events: VecDeque<T>,
    first: u64,
    capacity: usize,
}

/// The error for a reader that has fallen behind: some events that it has not read were removed.
#[derive(Debug, PartialEq, Eq)]
pub struct Lagged;

impl<T: Clone> Ring<T> {
    /// Creates an empty ring that keeps the last `capacity` events, at least one.
    pub fn new(capacity: usize) -> Self {
        Self { events: VecDeque::new(), first: 0, capacity: capacity.max(1) }
    }

    /// Adds an event. Removes the oldest event if the ring is full.
    pub fn push(&mut self, event: T) {
        if self.events.len() == self.capacity {
            self.events.pop_front();
            self.first += 1;
        }
        self.events.push_back(event);
    }

    /// Returns the number of the next event.
    pub fn next_number(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// Returns at most `limit` events, starting with number `cursor`.
    ///
    /// Returns [`Lagged`] if the event with that number was removed.
    pub fn read(&self, cursor: u64, limit: usize) -> Result<Vec<T>, Lagged> {
        let skip = cursor.checked_sub(self.first).ok_or(Lagged)?;
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        Ok(self.events.iter().skip(skip).take(limit).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Checks that readers of any speed get every event in order, or detect that they lag. They never get a wrong
        /// event.
        #[test]
        fn a_reader_misses_no_event_without_an_error(
            capacity in 1usize..20,
            steps in prop::collection::vec((0u64..12, 1usize..8), 1..60),
        ) {
            let mut ring = Ring::new(capacity);
            let (mut written, mut cursor) = (0u64, 0u64);
            for (writes, limit) in steps {
                for _ in 0..writes {
                    ring.push(written);
                    written += 1;
                }
                prop_assert_eq!(ring.next_number(), written);
                match ring.read(cursor, limit) {
                    Ok(events) => {
                        let want = (written - cursor).min(limit as u64);
                        prop_assert_eq!(events.clone(), (cursor..cursor + want).collect::<Vec<_>>());
                        cursor += events.len() as u64;
                    }
                    Err(Lagged) => {
                        prop_assert!(written - cursor > capacity as u64);
                        cursor = ring.next_number();
                    }
                }
            }
        }
    }

    #[test]
    fn a_cursor_ahead_of_the_ring_reads_nothing() {
        let mut ring = Ring::new(2);
        ring.push('a');
        assert_eq!(ring.read(5, 10), Ok(vec![]));
    }
}
