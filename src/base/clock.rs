//! Time: the one place that reads the system's clock.
//!
//! Rules take `now` as an argument; whoever calls them asks a [`Clock`]. Tests set a
//! [`ManualClock`] and so see month ends and leap days without waiting for them.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

/// Tells the time of day (UTC). Deadlines inside one process use [`std::time::Instant`] instead.
pub trait Clock: Send + Sync + 'static {
    /// The present moment, cut to whole milliseconds: what the contract shows and the store keeps.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        cut_to_millis(Timestamp::now())
    }
}

/// A clock that stands still until it is told to move.
#[derive(Debug, Clone)]
pub struct ManualClock {
    now: Arc<Mutex<Timestamp>>,
}

impl ManualClock {
    /// A clock that shows `now`.
    pub fn new(now: Timestamp) -> Self {
        Self { now: Arc::new(Mutex::new(cut_to_millis(now))) }
    }

    /// Shows `now` from here on.
    pub fn set(&self, now: Timestamp) {
        *self.now.lock() = cut_to_millis(now);
    }

    /// Moves forward by `step`.
    pub fn advance(&self, step: Duration) {
        let mut now = self.now.lock();
        *now = cut_to_millis(now.saturating_add(step).unwrap_or(*now));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.now.lock()
    }
}

/// `at` without what lies below a millisecond.
pub fn cut_to_millis(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}

/// RFC 3339 in UTC with exactly three decimals and a `Z`, so that text order is time order.
pub fn rfc3339_millis(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Serde form of a [`Timestamp`]: see [`rfc3339_millis`]. Use with `#[serde(with = "…")]`.
pub mod millis {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes the timestamp as RFC 3339 text with milliseconds.
    pub fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{at:.3}"))
    }

    /// Reads an RFC 3339 text.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }

    /// The same for a timestamp that may be absent (`null`).
    pub mod option {
        use super::{Deserialize, Deserializer, Error, Serializer, Timestamp};

        /// Writes `null` or the text.
        pub fn serialize<S: Serializer>(at: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
            match at {
                Some(at) => super::serialize(at, to),
                None => to.serialize_none(),
            }
        }

        /// Reads `null` or the text.
        pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
            Option::<String>::deserialize(from)?
                .map(|text| text.parse().map_err(D::Error::custom))
                .transpose()
        }
    }
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
            assert_eq!(rfc3339_millis(cut_to_millis(text.parse().unwrap())), want);
        }
    }

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::new("2026-02-28T23:59:59.999Z".parse().unwrap());
        assert_eq!(clock.now(), clock.now());
        clock.advance(Duration::from_millis(1));
        assert_eq!(rfc3339_millis(clock.now()), "2026-03-01T00:00:00.000Z");
    }
}
