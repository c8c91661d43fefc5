//! Counting without locks: how often something happened, how many there are now, how long it took. Whoever shows
//! the figures reads them whenever it likes; figures that belong together may then be a moment apart.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often something happened since the start.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Once more.
    pub fn one(&self) {
        self.add(1);
    }

    /// So many times more.
    pub fn add(&self, times: u64) {
        self.0.fetch_add(times, Ordering::Relaxed);
    }

    /// How often.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many there are now.
#[derive(Debug, Clone, Default)]
pub struct Level(Arc<AtomicU64>);

/// One of them, as long as it lives.
#[derive(Debug)]
pub struct Present(Arc<AtomicU64>);

impl Level {
    /// One more, until what is returned is dropped.
    pub fn enter(&self) -> Present {
        self.0.fetch_add(1, Ordering::Relaxed);
        Present(Arc::clone(&self.0))
    }

    /// How many.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Upper bounds of the buckets of [`Durations`], in microseconds: from what a cached answer takes to the ceiling
/// of a run. One list for all of them, so that any two can be laid side by side.
pub const BOUNDS_MICROS: [u64; 16] = [
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    120_000_000,
];

/// How long something took, each time.
#[derive(Debug, Default)]
pub struct Durations {
    /// One for each bound, and one for what is beyond the last.
    buckets: [AtomicU64; BOUNDS_MICROS.len() + 1],
    /// Enough for 584 years.
    nanos: AtomicU64,
}

/// What [`Durations`] have come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// How many took at most as long as each bound.
    pub up_to: [u64; BOUNDS_MICROS.len()],
    /// How many there were.
    pub count: u64,
    /// How many seconds all of them took together.
    pub seconds: f64,
}

impl Durations {
    /// Notes one.
    pub fn note(&self, took: Duration) {
        // Rounded up: what took longer than a bound is beyond it.
        let micros = took.as_nanos().div_ceil(1000);
        let bucket = BOUNDS_MICROS.partition_point(|bound| u128::from(*bound) < micros);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// What they have come to.
    pub fn spread(&self) -> Spread {
        let mut count = 0;
        let mut up_to = [0; BOUNDS_MICROS.len()];
        for (bucket, cell) in self.buckets.iter().enumerate() {
            count += cell.load(Ordering::Relaxed);
            if let Some(cell) = up_to.get_mut(bucket) {
                *cell = count;
            }
        }
        let seconds = Duration::from_nanos(self.nanos.load(Ordering::Relaxed)).as_secs_f64();
        Spread { up_to, count, seconds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_falls_under_the_first_bound_that_holds_it() {
        let durations = Durations::default();
        for took in [
            Duration::ZERO,
            Duration::from_micros(500),
            Duration::from_nanos(500_001),
            Duration::from_secs(120),
            Duration::from_secs(121),
        ] {
            durations.note(took);
        }
        let spread = durations.spread();
        assert_eq!((spread.up_to[0], spread.up_to[1]), (2, 3));
        assert_eq!((spread.up_to[14], spread.up_to[15], spread.count), (3, 4, 5));
        assert!((spread.seconds - 241.001_000_001).abs() < 1e-6, "{}", spread.seconds);
    }

    #[test]
    fn bounds_rise() {
        assert!(BOUNDS_MICROS.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn who_leaves_no_longer_counts() {
        let level = Level::default();
        let present = [level.enter(), level.clone().enter()];
        assert_eq!(level.get(), 2);
        drop(present);
        assert_eq!(level.get(), 0);
    }
}
