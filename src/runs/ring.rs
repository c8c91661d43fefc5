//! [`Ring`]: the last writes of a run, for readers that keep up with them.

use std::collections::VecDeque;

/// A bounded queue of the newest writes, in the order of their revisions.
#[derive(Debug)]
pub struct Ring<T> {
    writes: VecDeque<(u64, T)>,
    /// The first revision from which on no write is missing.
    first: u64,
    capacity: usize,
}

impl<T> Ring<T> {
    /// Creates an empty ring that keeps the last `capacity` writes, at least one. The first of them will have the revision
    /// `first` or a later one.
    pub fn new(first: u64, capacity: usize) -> Self {
        Self { writes: VecDeque::new(), first, capacity: capacity.max(1) }
    }

    /// Adds a write. Removes the oldest one if the ring is full.
    pub fn push(&mut self, revision: u64, write: T) {
        if self.writes.len() == self.capacity
            && let Some((removed, _)) = self.writes.pop_front()
        {
            self.first = removed + 1;
        }
        self.writes.push_back((revision, write));
    }

    /// Returns the writes from revision `next` on. Returns `None` if some of them were removed.
    pub fn since(&self, next: u64) -> Option<impl Iterator<Item = &(u64, T)>> {
        let at = self.writes.partition_point(|(revision, _)| *revision < next);
        (next >= self.first).then(|| self.writes.range(at..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Checks that readers of any speed get every write in order, or detect that they lag.
        #[test]
        fn a_reader_misses_no_write_without_knowing(
            capacity in 1usize..20,
            steps in prop::collection::vec((0u64..12, 1u64..3, 1usize..8), 1..60),
        ) {
            let mut ring = Ring::new(1, capacity);
            let (mut written, mut next): (Vec<u64>, u64) = (Vec::new(), 1);
            for (writes, skip, limit) in steps {
                for _ in 0..writes {
                    let revision = written.last().copied().unwrap_or(0) + skip;
                    ring.push(revision, revision);
                    written.push(revision);
                }
                let unread: Vec<u64> = written.iter().copied().filter(|revision| *revision >= next).collect();
                match ring.since(next) {
                    Some(read) => {
                        let read: Vec<u64> = read.take(limit).map(|(_, write)| *write).collect();
                        prop_assert_eq!(&read[..], &unread[..limit.min(unread.len())]);
                        next = read.last().map_or(next, |last| last + 1);
                    }
                    None => {
                        prop_assert!(unread.len() > capacity);
                        next = written.last().map_or(1, |last| last + 1);
                    }
                }
            }
        }
    }
}
