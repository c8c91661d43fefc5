//! Values that are found out once and shared by all who ask for them at the same time, or soon after.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Who found out nothing for want of time, and had less than this, proves nothing to others.
pub(crate) const FAIR_TRY: Duration = Duration::from_secs(2);

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Values.
    pub(crate) entries: usize,
    /// Their weights together.
    pub(crate) weight: usize,
}

/// A value that was found out.
#[derive(Debug)]
pub(crate) struct Made<V> {
    pub(crate) value: V,
    /// How long it is believed; zero: it is for the one who asked alone.
    pub(crate) keep: Duration,
    /// What it counts against the bounds.
    pub(crate) weight: usize,
}

/// Values by key.
#[derive(Debug)]
pub(crate) struct Memo<K, V> {
    bounds: Bounds,
    shelf: Mutex<Shelf<K, V>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Shelf<K, V> {
    slots: HashMap<K, Slot<V>>,
    weight: usize,
}

#[derive(Debug)]
enum Slot<V> {
    /// Somebody finds it out.
    Running,
    Known(Known<V>),
}

#[derive(Debug)]
struct Known<V> {
    value: V,
    until: Instant,
    used: Instant,
    weight: usize,
}

impl<K: Hash + Eq + Clone, V: Clone> Memo<K, V> {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            shelf: Mutex::new(Shelf { slots: HashMap::new(), weight: 0 }),
            changed: Condvar::new(),
        }
    }

    /// The value for `key`: a known one, the one that another thread is finding out, or what `make` finds
    /// out. `None`: the deadline passed while another thread was at it.
    pub(crate) fn get(&self, key: &K, deadline: Instant, make: impl FnOnce() -> Made<V>) -> Option<V> {
        let mut shelf = self.shelf.lock();
        loop {
            let now = Instant::now();
            match shelf.slots.get_mut(key) {
                Some(Slot::Known(known)) if known.until > now => {
                    known.used = now;
                    return Some(known.value.clone());
                }
                Some(Slot::Running) => {
                    if self.changed.wait_until(&mut shelf, deadline).timed_out() {
                        return None;
                    }
                }
                _ => break,
            }
        }
        shelf.put(key, Some(Slot::Running));
        drop(shelf);
        let turn = Turn { memo: self, key };
        let made = make();
        let value = made.value.clone();
        turn.settle(made);
        Some(value)
    }

    /// Whether a value is known, for now.
    pub(crate) fn knows(&self, key: &K) -> bool {
        let now = Instant::now();
        matches!(self.shelf.lock().slots.get(key), Some(Slot::Known(known)) if known.until > now)
    }

    /// Drops what is believed no more at that moment.
    pub(crate) fn sweep(&self, now: Instant) {
        let mut shelf = self.shelf.lock();
        let is_over = |slot: &Slot<V>| matches!(slot, Slot::Known(known) if known.until <= now);
        let over: Vec<K> =
            shelf.slots.iter().filter(|(_, slot)| is_over(slot)).map(|(key, _)| key.clone()).collect();
        over.iter().for_each(|key| shelf.put(key, None));
    }

    fn end(&self, key: &K, slot: Option<Slot<V>>) {
        let mut shelf = self.shelf.lock();
        shelf.put(key, slot);
        shelf.make_room(self.bounds, key);
        drop(shelf);
        self.changed.notify_all();
    }
}

impl<K: Hash + Eq + Clone, V> Shelf<K, V> {
    fn put(&mut self, key: &K, slot: Option<Slot<V>>) {
        let old = self.slots.remove(key);
        self.weight -= old.map_or(0, |old| old.weight());
        if let Some(slot) = slot {
            self.weight += slot.weight();
            self.slots.insert(key.clone(), slot);
        }
    }

    /// Drops what is believed no more, then what was not used for the longest time; `newest` goes last.
    fn make_room(&mut self, bounds: Bounds, newest: &K) {
        let is_full = |shelf: &Self| shelf.slots.len() > bounds.entries || shelf.weight > bounds.weight;
        if !is_full(self) {
            return;
        }
        let now = Instant::now();
        let mut known: Vec<(bool, bool, Instant, K)> = self
            .slots
            .iter()
            .filter_map(|(key, slot)| match slot {
                Slot::Running => None,
                Slot::Known(known) => Some((key == newest, known.until > now, known.used, key.clone())),
            })
            .collect();
        known.sort_unstable_by_key(|(is_newest, is_fresh, used, _)| (*is_newest, *is_fresh, *used));
        // A tenth at once, so that a full shelf is not sorted for each new value.
        let spare = bounds.entries / 10;
        let keep = Bounds { entries: bounds.entries - spare, weight: bounds.weight };
        for (_, is_fresh, _, key) in known {
            let is_over = self.slots.len() > keep.entries || self.weight > keep.weight;
            if is_fresh && !is_over {
                break;
            }
            self.put(&key, None);
        }
    }
}

impl<V> Slot<V> {
    fn weight(&self) -> usize {
        match self {
            Self::Running => 0,
            Self::Known(known) => known.weight,
        }
    }
}

/// Held by the thread that finds out: whatever happens to it, nobody waits for it in vain.
struct Turn<'m, K: Hash + Eq + Clone, V: Clone> {
    memo: &'m Memo<K, V>,
    key: &'m K,
}

impl<K: Hash + Eq + Clone, V: Clone> Turn<'_, K, V> {
    fn settle(self, made: Made<V>) {
        let now = Instant::now();
        let Made { value, keep, weight } = made;
        let is_kept = !keep.is_zero() && weight <= self.memo.bounds.weight;
        let slot = is_kept.then(|| Known { value, until: now + keep, used: now, weight });
        self.memo.end(self.key, slot.map(Slot::Known));
        std::mem::forget(self);
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Drop for Turn<'_, K, V> {
    fn drop(&mut self) {
        self.memo.end(self.key, None);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;

    const ROOMY: Bounds = Bounds { entries: 100, weight: 1_000 };

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn made(value: u32, weight: usize) -> Made<u32> {
        Made { value, keep: Duration::from_secs(60), weight }
    }

    #[test]
    fn a_value_is_found_out_once_and_shared_by_those_who_wait() {
        let memo = Memo::new(ROOMY);
        let count = AtomicUsize::new(0);
        let all: Vec<Option<u32>> = std::thread::scope(|scope| {
            let ask = || {
                memo.get(&"a", soon(), || {
                    count.fetch_add(1, Ordering::SeqCst);
                    made(7, 1)
                })
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!((all, count.into_inner()), (vec![Some(7); 8], 1));
        assert!(memo.knows(&"a") && !memo.knows(&"b"));
    }

    #[test]
    fn what_is_not_kept_is_found_out_again() {
        let memo = Memo::new(ROOMY);
        let once = |value| Made { value, keep: Duration::ZERO, weight: 1 };
        assert_eq!(memo.get(&"a", soon(), || once(1)), Some(1));
        assert_eq!(memo.get(&"a", soon(), || once(2)), Some(2));
        assert!(!memo.knows(&"a"));
    }

    #[test]
    fn a_panic_leaves_the_next_one_its_turn() {
        let memo = Memo::new(ROOMY);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            memo.get(&"a", soon(), || panic!("a defect"))
        }));
        assert!(panicked.is_err());
        assert_eq!(memo.get(&"a", soon(), || made(1, 1)), Some(1));
    }

    #[test]
    fn waiting_ends_at_the_deadline() {
        let memo = Memo::new(ROOMY);
        let value = memo.get(&"a", soon(), || {
            // Another one comes while this one is at it, with no time left.
            assert_eq!(memo.get(&"a", Instant::now(), || unreachable!()), None);
            made(1, 1)
        });
        assert_eq!(value, Some(1));
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_goes_first() {
        let memo = Memo::new(Bounds { entries: 10, weight: 100 });
        let put = |key: u32, weight| memo.get(&key, soon(), || made(key, weight));
        put(1, 40);
        put(2, 40);
        put(1, 0);
        put(3, 40);
        assert!(memo.knows(&1) && !memo.knows(&2) && memo.knows(&3));
        // Too heavy for the shelf: it is handed out, and nothing else must go.
        assert_eq!(put(4, 101), Some(4));
        assert!(!memo.knows(&4));
    }

    #[test]
    fn what_is_believed_no_more_leaves_memory_and_what_is_found_out_stays() {
        let memo = Memo::new(ROOMY);
        memo.get(&"a", soon(), || made(1, 10));
        memo.get(&"b", soon(), || Made { value: 2, keep: Duration::from_secs(600), weight: 20 });
        memo.get(&"c", soon(), || {
            memo.sweep(Instant::now());
            assert!(memo.knows(&"a"));
            memo.sweep(soon() + Duration::from_secs(1));
            let shelf = memo.shelf.lock();
            assert_eq!((shelf.slots.len(), shelf.weight), (2, 20), "b, and c that is being found out");
            made(3, 1)
        });
        assert!(!memo.knows(&"a") && memo.knows(&"b") && memo.knows(&"c"));
    }

    proptest! {
        #[test]
        fn the_bounds_hold(steps in prop::collection::vec((0..40u32, 0..40usize, 0..3u64), 1..200)) {
            let bounds = Bounds { entries: 10, weight: 100 };
            let memo = Memo::new(bounds);
            for (key, weight, keep) in steps {
                let keep = Duration::from_secs(keep);
                let value = memo.get(&key, soon(), || Made { value: key, keep, weight });
                prop_assert_eq!(value, Some(key));
                let shelf = memo.shelf.lock();
                let sum: usize = shelf.slots.values().map(Slot::weight).sum();
                prop_assert!(shelf.slots.len() <= bounds.entries && sum <= bounds.weight);
                prop_assert_eq!(sum, shelf.weight);
            }
        }
    }
}
