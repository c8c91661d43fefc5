//! [`Cache`]: values by key that expire, in bounded memory. Concurrent callers that need the same value share one
//! computation.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The bounds of a cache.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The greatest number of values.
    pub entries: usize,
    /// The greatest sum of the values' weights.
    pub weight: usize,
}

/// A computed value, with the time for which it is cached.
#[derive(Debug)]
pub struct Computed<V> {
    /// The value.
    pub value: V,
    /// The time for which the value is cached. If it is zero, only the caller that computed the value gets it.
    pub ttl: Duration,
    /// The cost of the value against [`Bounds::weight`]. A value that is heavier than the bound is not cached.
    pub weight: usize,
}

/// A cache of values by key.
///
/// When a bound is exceeded, expired values are evicted first, then the least recently used ones.
#[derive(Debug)]
pub struct Cache<K, V> {
    bounds: Bounds,
    state: Mutex<State<K, V>>,
}

#[derive(Debug)]
struct State<K, V> {
    entries: HashMap<K, Entry<V>>,
    weight: usize,
    /// The keys whose values are being computed. Callers wait until there is a value, or the computation has ended.
    pending: HashMap<K, Arc<Condvar>>,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    expires_at: Instant,
    used_at: Instant,
    weight: usize,
}

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    /// Creates an empty cache.
    pub fn new(bounds: Bounds) -> Self {
        let state = State { entries: HashMap::new(), weight: 0, pending: HashMap::new() };
        Self { bounds, state: Mutex::new(state) }
    }

    /// Returns the value of `key`: a cached one, the one that another thread is computing, or the result of
    /// `compute`. Returns `None` if the deadline passes while another thread is computing it.
    ///
    /// If the other thread panics or its value is not cached, one of the waiting callers computes the value.
    pub fn get_or_compute(
        &self,
        key: &K,
        deadline: Instant,
        compute: impl FnOnce() -> Computed<V>,
    ) -> Option<V> {
        let mut state = self.state.lock();
        loop {
            if let Some(value) = state.get(key) {
                return Some(value);
            }
            let Some(ended) = state.pending.get(key).cloned() else { break };
            if ended.wait_until(&mut state, deadline).timed_out() {
                return state.get(key);
            }
        }
        state.pending.insert(key.clone(), Arc::default());
        drop(state);
        let _computation = Computation { cache: self, key };
        let computed = compute();
        let value = computed.value.clone();
        self.insert(key, computed);
        Some(value)
    }

    /// Waits until no other thread is computing the value of `key`, or the deadline passes.
    pub fn wait(&self, key: &K, deadline: Instant) {
        let mut state = self.state.lock();
        while let Some(ended) = state.pending.get(key).cloned() {
            if ended.wait_until(&mut state, deadline).timed_out() {
                return;
            }
        }
    }

    /// Returns the value of `key` if it is cached and has not expired.
    pub fn get(&self, key: &K) -> Option<V> {
        self.state.lock().get(key)
    }

    /// Caches a value of `key`, and replaces the former one. Callers that wait for another thread get it.
    pub fn insert(&self, key: &K, Computed { value, ttl, weight }: Computed<V>) {
        let (mut state, now) = (self.state.lock(), Instant::now());
        state.remove(key);
        if !ttl.is_zero() && weight <= self.bounds.weight {
            state.weight += weight;
            let entry = Entry { value, expires_at: now + ttl, used_at: now, weight };
            state.entries.insert(key.clone(), entry);
            state.evict(self.bounds);
        }
        if let Some(ended) = state.pending.get(key) {
            ended.notify_all();
        }
    }

    /// Removes the value of `key` if `is_removed` returns `true` for it. A computation in progress continues, and its value
    /// is cached.
    pub fn remove_if(&self, key: &K, is_removed: impl FnOnce(&V) -> bool) {
        let mut state = self.state.lock();
        if state.entries.get(key).is_some_and(|entry| is_removed(&entry.value)) {
            state.remove(key);
        }
    }

    /// Removes the values for which `is_kept` returns `false`.
    pub fn retain(&self, is_kept: impl Fn(&K, &V) -> bool) {
        self.state.lock().retain(|key, entry| is_kept(key, &entry.value));
    }

    /// Removes the values that have expired at `now`. Without it, an expired value stays in memory until it is
    /// replaced or evicted.
    pub fn sweep(&self, now: Instant) {
        self.state.lock().retain(|_, entry| entry.expires_at > now);
    }

    /// Returns the number of values and their weight.
    #[cfg(test)]
    pub(crate) fn size(&self) -> (usize, usize) {
        let state = self.state.lock();
        let sum: usize = state.entries.values().map(|entry| entry.weight).sum();
        assert_eq!(sum, state.weight);
        (state.entries.len(), sum)
    }
}

impl<K: Hash + Eq + Clone, V: Clone> State<K, V> {
    fn get(&mut self, key: &K) -> Option<V> {
        let now = Instant::now();
        let entry = self.entries.get_mut(key).filter(|entry| entry.expires_at > now)?;
        entry.used_at = now;
        Some(entry.value.clone())
    }

    fn remove(&mut self, key: &K) {
        self.weight -= self.entries.remove(key).map_or(0, |entry| entry.weight);
    }

    fn retain(&mut self, is_kept: impl Fn(&K, &Entry<V>) -> bool) {
        let weight = &mut self.weight;
        self.entries.retain(|key, entry| {
            let is_kept = is_kept(key, entry);
            *weight -= if is_kept { 0 } else { entry.weight };
            is_kept
        });
    }

    /// Evicts values until the bounds hold: expired values, then the least recently used ones.
    fn evict(&mut self, bounds: Bounds) {
        if self.is_within(bounds) {
            return;
        }
        let now = Instant::now();
        self.retain(|_, entry| entry.expires_at > now);
        let used = self.entries.iter().map(|(key, entry)| (entry.used_at, key.clone()));
        let mut used: Vec<(Instant, K)> = used.collect();
        used.sort_unstable_by_key(|(used_at, _)| *used_at);
        // The newest value fits alone.
        used.pop();
        // A tenth is evicted at once, so that a full cache is not sorted for each new value.
        let left = |bound: usize| bound - bound / 10;
        let spare = Bounds { entries: left(bounds.entries), weight: left(bounds.weight) };
        for (_, key) in used {
            if self.is_within(spare) {
                return;
            }
            self.remove(&key);
        }
    }

    fn is_within(&self, bounds: Bounds) -> bool {
        self.entries.len() <= bounds.entries && self.weight <= bounds.weight
    }
}

/// The computation of a value. When it ends, also by a panic, a waiting caller computes the value if there is none.
struct Computation<'c, K: Hash + Eq + Clone, V> {
    cache: &'c Cache<K, V>,
    key: &'c K,
}

impl<K: Hash + Eq + Clone, V> Drop for Computation<'_, K, V> {
    fn drop(&mut self) {
        if let Some(ended) = self.cache.state.lock().pending.remove(self.key) {
            ended.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;

    const LARGE: Bounds = Bounds { entries: 100, weight: 1_000 };

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn computed(value: u32, weight: usize) -> Computed<u32> {
        Computed { value, ttl: Duration::from_secs(60), weight }
    }

    #[test]
    fn a_value_is_computed_once_and_shared_by_waiting_callers() {
        let cache = Cache::new(LARGE);
        let count = AtomicUsize::new(0);
        let all: Vec<Option<u32>> = std::thread::scope(|scope| {
            let ask = || {
                cache.get_or_compute(&"a", soon(), || {
                    count.fetch_add(1, Ordering::SeqCst);
                    computed(7, 1)
                })
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!((all, count.into_inner()), (vec![Some(7); 8], 1));
        // Without a time to live, only the caller that computed the value gets it.
        let once = |value| Computed { value, ttl: Duration::ZERO, weight: 1 };
        assert_eq!(
            [1, 2].map(|value| cache.get_or_compute(&"b", soon(), || once(value))),
            [Some(1), Some(2)]
        );
        assert_eq!((cache.get(&"a"), cache.get(&"b"), cache.size()), (Some(7), None, (1, 1)));
    }

    #[test]
    fn waiting_callers_are_woken_by_a_panic_and_by_an_inserted_value() {
        let cache = Cache::new(LARGE);
        let wait = || cache.get_or_compute(&"a", soon(), || computed(1, 1));
        // The state has one reference, and each waiting caller has another one.
        let waiters = || cache.state.lock().pending.get(&"a").map_or(0, |ended| Arc::strong_count(ended) - 1);
        std::thread::scope(|scope| {
            let panicking = scope.spawn(|| {
                cache.get_or_compute(&"a", soon(), || {
                    while waiters() < 2 {
                        std::thread::yield_now();
                    }
                    panic!("a defect");
                })
            });
            while cache.state.lock().pending.is_empty() {
                std::thread::yield_now();
            }
            let waiting = [scope.spawn(wait), scope.spawn(wait)];
            assert!(panicking.join().is_err());
            assert_eq!(waiting.map(|thread| thread.join().unwrap()), [Some(1); 2]);
        });
        cache.remove_if(&"a", |_| true);
        std::thread::scope(|scope| {
            let first = cache.get_or_compute(&"a", soon(), || {
                let waiting = scope.spawn(wait);
                while waiters() < 1 {
                    std::thread::yield_now();
                }
                cache.insert(&"a", computed(2, 1));
                assert_eq!(waiting.join().unwrap(), Some(2));
                computed(3, 1)
            });
            assert_eq!((first, cache.get(&"a"), cache.size()), (Some(3), Some(3), (1, 1)));
        });
    }

    #[test]
    fn waiting_ends_at_the_deadline() {
        let cache = Cache::new(LARGE);
        let value = cache.get_or_compute(&"a", soon(), || {
            // A second caller asks while the value is being computed, and has no time left.
            assert_eq!(cache.get_or_compute(&"a", Instant::now(), || unreachable!()), None);
            computed(1, 1)
        });
        assert_eq!(value, Some(1));
    }

    #[test]
    fn the_least_recently_used_value_is_evicted_first() {
        let cache = Cache::new(Bounds { entries: 10, weight: 100 });
        let put = |key: u32, weight| cache.get_or_compute(&key, soon(), || computed(key, weight));
        put(1, 40);
        put(2, 40);
        put(1, 0);
        put(3, 40);
        assert!(cache.get(&1).is_some() && cache.get(&2).is_none() && cache.get(&3).is_some());
        // It is too heavy for the cache: it is returned to the caller, and no other value is removed.
        assert_eq!(put(4, 101), Some(4));
        assert_eq!(cache.size(), (2, 80));
    }

    #[test]
    fn expired_values_are_removed_and_pending_ones_stay() {
        let cache = Cache::new(LARGE);
        cache.insert(&"a", computed(1, 10));
        cache.insert(&"b", Computed { value: 2, ttl: Duration::from_secs(600), weight: 20 });
        cache.get_or_compute(&"c", soon(), || {
            cache.sweep(Instant::now());
            assert!(cache.get(&"a").is_some());
            cache.sweep(soon() + Duration::from_secs(1));
            assert_eq!(cache.size(), (1, 20));
            computed(3, 1)
        });
        assert!(cache.get(&"a").is_none() && cache.get(&"b").is_some() && cache.get(&"c").is_some());
        cache.insert(&"b", computed(4, 30));
        assert_eq!((cache.get(&"b"), cache.size()), (Some(4), (2, 31)));
        cache.retain(|_, value| *value != 4);
        assert_eq!((cache.get(&"b"), cache.size()), (None, (1, 1)));
    }

    proptest! {
        #[test]
        fn the_bounds_hold(steps in prop::collection::vec((0..40u32, 0..40usize, 0..3u64), 1..200)) {
            let bounds = Bounds { entries: 10, weight: 100 };
            let cache = Cache::new(bounds);
            for (key, weight, ttl) in steps {
                let ttl = Duration::from_secs(ttl);
                let value = cache.get_or_compute(&key, soon(), || Computed { value: key, ttl, weight });
                prop_assert_eq!(value, Some(key));
                let (entries, sum) = cache.size();
                prop_assert!(entries <= bounds.entries && sum <= bounds.weight);
            }
        }
    }
}
