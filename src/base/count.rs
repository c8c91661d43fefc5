//! Counters without locks: events, present numbers and durations. Readers may read at any time; figures that belong
//! together may then be a moment apart.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of events since the start.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds one.
    pub fn one(&self) {
        self.add(1);
    }

    /// Adds `times`.
    pub fn add(&self, times: u64) {
        self.0.fetch_add(times, Ordering::Relaxed);
    }

    /// Returns the number of events.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The number of things that exist now. Each of them holds a reference.
#[derive(Debug, Default)]
pub struct ActiveCount(Arc<()>);

impl ActiveCount {
    /// Adds one until the returned value is dropped.
    pub fn enter(&self) -> Arc<()> {
        Arc::clone(&self.0)
    }

    /// Returns the present number.
    pub fn get(&self) -> u64 {
        Arc::strong_count(&self.0) as u64 - 1
    }
}

/// Upper bounds of the buckets of [`DurationHistogram`], in seconds: from the time of a cached answer to that of a
/// long wait in the queue. All histograms share them, so that any two can be compared.
pub const BOUNDS: [f64; 18] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 300.0,
    600.0,
];

/// A histogram of durations.
#[derive(Debug, Default)]
pub struct DurationHistogram {
    /// One bucket for each bound, and one for longer durations.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    /// The sum in nanoseconds, which is enough for 584 years.
    nanos: AtomicU64,
}

impl DurationHistogram {
    /// Adds a duration.
    pub fn note(&self, took: Duration) {
        let bucket = BOUNDS.partition_point(|bound| *bound < took.as_secs_f64());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns, for each bound, the number of durations that were not longer, and at last the number of all.
    pub fn up_to(&self) -> [u64; BOUNDS.len() + 1] {
        let mut count = 0;
        self.buckets.each_ref().map(|bucket| {
            count += bucket.load(Ordering::Relaxed);
            count
        })
    }

    /// Returns the sum of the durations in seconds.
    pub fn seconds(&self) -> f64 {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed)).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_the_first_bucket_that_includes_it() {
        let durations = DurationHistogram::default();
        for took in [
            Duration::ZERO,
            Duration::from_micros(500),
            Duration::from_nanos(500_001),
            Duration::from_secs(120),
            Duration::from_secs(601),
        ] {
            durations.note(took);
        }
        let up_to = durations.up_to();
        assert_eq!((up_to[0], up_to[1]), (2, 3));
        assert_eq!((up_to[14], up_to[17], up_to[18]), (3, 4, 5));
        assert!((durations.seconds() - 721.001_000_001).abs() < 1e-6, "{}", durations.seconds());
    }

    #[test]
    fn a_dropped_guard_no_longer_counts() {
        let level = ActiveCount::default();
        let present = [level.enter(), level.enter()];
        assert_eq!(level.get(), 2);
        drop(present);
        assert_eq!(level.get(), 0);
    }
}
