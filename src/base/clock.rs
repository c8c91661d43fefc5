//! Time: the only file that reads the system's clock.
//!
//! Rules take `now` as an argument, and their callers ask a [`Clock`]. Tests set one by hand, which lets them reach month
//! ends and leap days without waiting.

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Serialize, Serializer};

/// Returns the time of day in UTC. Deadlines inside one process use [`std::time::Instant`] instead.
pub trait Clock: Send + Sync + 'static {
    /// Returns the present moment in whole milliseconds, the precision of the API and the store.
    fn now(&self) -> Timestamp;
}

/// The clock of the machine.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        truncate_to_millis(Timestamp::now())
    }
}

/// A clock that shows a time until it is set, for tests.
impl Clock for Mutex<Timestamp> {
    fn now(&self) -> Timestamp {
        truncate_to_millis(*self.lock())
    }
}

/// Returns `at` truncated to whole milliseconds.
pub fn truncate_to_millis(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}

/// Formats a moment as RFC 3339 in UTC with exactly three decimals and a `Z`, so that text order is time order.
pub fn rfc3339_millis(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Formats a moment to the second for people, as in `2026-05-06 07:08:09 UTC`.
pub fn to_the_second(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Serializes a moment, which may be absent, as [`rfc3339_millis`] text or `null`. Use it with
/// `#[serde(serialize_with = "millis")]`.
pub fn millis<S: Serializer>(at: &(impl Copy + Into<Option<Timestamp>>), to: S) -> Result<S::Ok, S::Error> {
    let at: Option<Timestamp> = (*at).into();
    at.map(rfc3339_millis).serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_have_three_decimals_whatever_the_fraction() {
        for (text, want) in [
            ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00.000Z"),
            ("2026-03-01T00:00:00.1Z", "2026-03-01T00:00:00.100Z"),
            ("2026-03-01T00:00:00.123456Z", "2026-03-01T00:00:00.123Z"),
        ] {
            assert_eq!(rfc3339_millis(truncate_to_millis(text.parse().unwrap())), want);
        }
    }
}
