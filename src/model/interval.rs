//! [`Interval`]: how often a watch searches.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::base::ids::WatchId;

const MINUTE: u32 = 60;

const HOUR: u32 = 60 * MINUTE;

const DAY: u32 = 24 * HOUR;

const UNITS: [(char, u32); 3] = [('d', DAY), ('h', HOUR), ('m', MINUTE)];

/// The range over which the moments of watches that were created at once are spread, in milliseconds.
const SPREAD_MS: u64 = HOUR as u64 * 1000;

/// The time between two runs: 1 hour to 30 days, in whole minutes. Its text is a number with a unit, such as `12h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval(u32);

impl Interval {
    /// The shortest interval.
    pub const SHORTEST: Self = Self(HOUR);
    /// The longest interval.
    pub const LONGEST: Self = Self(30 * DAY);

    /// Returns the interval of that many seconds, or `None` if it is not allowed.
    pub fn from_secs(secs: u64) -> Option<Self> {
        let interval = u32::try_from(secs).ok().filter(|secs| secs % MINUTE == 0).map(Self)?;
        (Self::SHORTEST..=Self::LONGEST).contains(&interval).then_some(interval)
    }

    /// Returns the number of seconds.
    pub fn secs(self) -> u32 {
        self.0
    }

    /// Returns the first moment after `now` at which a run of the watch is due. The moments lie one interval apart. The
    /// first one is one interval after the creation, and up to an hour later: that part follows from the id, so that
    /// watches which were created at once do not start their runs at once.
    pub fn next_after(self, watch: WatchId, created_at: Timestamp, now: Timestamp) -> Timestamp {
        // The lower half of an id of version 7 is random.
        let random = watch.0.as_u64_pair().1 & (u64::MAX >> 2);
        let jitter = i64::try_from(random % SPREAD_MS).unwrap_or_default();
        let first = created_at.as_millisecond().saturating_add(jitter);
        let every = i64::from(self.0) * 1000;
        let passed = now.as_millisecond().saturating_sub(first).div_euclid(every).max(0);
        let next = first.saturating_add(every.saturating_mul(passed + 1));
        Timestamp::from_millisecond(next).unwrap_or(Timestamp::MAX)
    }
}

impl From<Interval> for Duration {
    fn from(interval: Interval) -> Self {
        Self::from_secs(interval.0.into())
    }
}

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, secs) =
            UNITS.into_iter().find(|(_, secs)| self.0.is_multiple_of(*secs)).unwrap_or(('m', MINUTE));
        write!(f, "{}{unit}", self.0 / secs)
    }
}

impl FromStr for Interval {
    type Err = String;

    /// The error names the text, which is cut if it is long.
    fn from_str(text: &str) -> Result<Self, String> {
        let shown: String = text.chars().take(20).filter(|c| !c.is_control()).collect();
        let unit =
            text.chars().next_back().and_then(|last| UNITS.into_iter().find(|(unit, _)| *unit == last));
        let number = unit.and_then(|(unit, _)| text.strip_suffix(unit));
        let number = number.filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
        let why = match number.zip(unit) {
            None => "not a number with the unit m, h or d, such as 12h".to_owned(),
            // Only a number that is too large fails to parse.
            Some((number, (_, secs))) => match number.parse::<u32>().ok().and_then(|n| n.checked_mul(secs)) {
                Some(secs) if Self(secs) < Self::SHORTEST => {
                    format!("below the minimum of {}", Self::SHORTEST)
                }
                Some(secs) if Self(secs) <= Self::LONGEST => return Ok(Self(secs)),
                _ => format!("above the maximum of {}", Self::LONGEST),
            },
        };
        Err(format!("invalid `every`: {shown} is {why}"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_interval_is_one_hour_to_thirty_days() {
        for (text, shown) in
            [("1h", "1h"), ("60m", "1h"), ("90m", "90m"), ("24h", "1d"), ("30d", "30d"), ("007d", "7d")]
        {
            let interval: Interval = text.parse().unwrap();
            assert_eq!(interval.to_string(), shown);
            assert_eq!(Interval::from_secs(interval.secs().into()), Some(interval));
        }
        for (text, message) in [
            ("30m", "invalid `every`: 30m is below the minimum of 1h"),
            ("0d", "invalid `every`: 0d is below the minimum of 1h"),
            ("31d", "invalid `every`: 31d is above the maximum of 30d"),
            ("99999999999d", "invalid `every`: 99999999999d is above the maximum of 30d"),
            ("1", "invalid `every`: 1 is not a number with the unit m, h or d, such as 12h"),
            ("1 d", "invalid `every`: 1 d is not a number with the unit m, h or d, such as 12h"),
            ("+1d", "invalid `every`: +1d is not a number with the unit m, h or d, such as 12h"),
            ("d", "invalid `every`: d is not a number with the unit m, h or d, such as 12h"),
            ("", "invalid `every`:  is not a number with the unit m, h or d, such as 12h"),
        ] {
            assert_eq!(text.parse::<Interval>().unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn ten_thousand_watches_of_one_moment_are_spread_over_an_hour() {
        let created_at = Timestamp::from_second(1_800_000_000).unwrap();
        let mut minutes: BTreeMap<i64, usize> = BTreeMap::new();
        for _ in 0..10_000 {
            let next = Interval::SHORTEST.next_after(WatchId::new(), created_at, created_at);
            *minutes.entry((next.as_second() - created_at.as_second()) / 60).or_default() += 1;
        }
        assert_eq!((minutes.keys().next(), minutes.keys().next_back()), (Some(&60), Some(&119)));
        // 167 are expected in each minute. More than twice as many have a probability below 10^-30.
        assert!(minutes.values().all(|count| *count < 334), "{minutes:?}");
    }

    proptest! {
        /// The moments are fixed: whenever the next one is computed, it is one of a single series.
        #[test]
        fn the_next_moment_is_fixed_and_at_most_one_interval_away(
            random in any::<u64>(), minutes in 60u64..=43_200, created in 0i64..4_000_000_000_000, later in 0i64..400_000_000_000,
        ) {
            let every = Interval::from_secs(minutes * 60).unwrap();
            let watch = WatchId(uuid::Uuid::from_u64_pair(7, random));
            let created_at = Timestamp::from_millisecond(created).unwrap();
            let now = Timestamp::from_millisecond(created + later).unwrap();
            let first = every.next_after(watch, created_at, created_at);
            let next = every.next_after(watch, created_at, now);
            let every_ms = i64::try_from(minutes * 60_000).unwrap();
            prop_assert!(next > now);
            prop_assert!(next.as_millisecond() - now.as_millisecond() <= every_ms + 3_600_000);
            prop_assert!(next == first || next.as_millisecond() - now.as_millisecond() <= every_ms);
            prop_assert_eq!((next.as_millisecond() - first.as_millisecond()) % every_ms, 0);
        }
    }
}
