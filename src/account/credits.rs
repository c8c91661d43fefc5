//! Credits: billing cycles, charges, balances.
//!
//! A cycle is a month from the account's own anchor: same day and time of day, UTC; a day that a month
//! does not have becomes its last one (31 January → 28 February → 31 March).

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// One billing cycle: from `start` (inclusive) to `end` (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycle {
    /// First moment.
    pub start: Timestamp,
    /// First moment of the next one.
    pub end: Timestamp,
}

impl Cycle {
    /// The cycle of an account with `anchor` in which `now` lies. Before the anchor: the first one.
    pub fn at(anchor: Timestamp, now: Timestamp) -> Self {
        let from = anchor.to_zoned(TimeZone::UTC);
        let to = now.to_zoned(TimeZone::UTC);
        let months = (i32::from(to.year()) - i32::from(from.year())) * 12 + i32::from(to.month())
            - i32::from(from.month());
        // Each boundary is counted from the anchor itself, so that a short month costs no day for ever.
        let boundary =
            |months: i32| from.checked_add(months.max(0).months()).map_or(anchor, |zoned| zoned.timestamp());
        let start = if boundary(months) > now { months - 1 } else { months }.max(0);
        Self { start: boundary(start), end: boundary(start + 1) }
    }
}

/// Credits of a standard search (section 8 of the contract).
pub const STANDARD_COST: u64 = 1;
/// Credits of a premium username search (section 8).
pub const PREMIUM_COST: u64 = 2;

/// What a run costs, and where it is booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    /// Credits.
    pub credits: u64,
    /// The most that may be used in the cycle; `None`: no cap.
    pub allowed: Option<u64>,
    /// The cycle that pays.
    pub cycle: Cycle,
}

/// The state of an account's pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// Used in this cycle.
    pub used: u64,
    /// The cap; `None`: none.
    pub allowed: Option<u64>,
    /// The cycle.
    pub cycle: Cycle,
}

impl Balance {
    /// What is left; `None`: no cap. Never negative, even after a change to a smaller plan.
    pub fn remaining(&self) -> Option<u64> {
        self.allowed.map(|allowed| allowed.saturating_sub(self.used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn cycles_keep_the_anchor_day_over_short_months_leap_days_and_year_ends() {
        for (anchor, now, start, end) in [
            ("2026-01-31T10:00:00Z", "2026-02-01T00:00:00Z", "2026-01-31T10:00:00Z", "2026-02-28T10:00:00Z"),
            ("2026-01-31T10:00:00Z", "2026-02-28T09:59:59Z", "2026-01-31T10:00:00Z", "2026-02-28T10:00:00Z"),
            ("2026-01-31T10:00:00Z", "2026-02-28T10:00:00Z", "2026-02-28T10:00:00Z", "2026-03-31T10:00:00Z"),
            ("2026-01-31T10:00:00Z", "2026-04-30T10:00:00Z", "2026-04-30T10:00:00Z", "2026-05-31T10:00:00Z"),
            ("2028-01-30T00:00:00Z", "2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-30T00:00:00Z"),
            ("2028-02-29T00:00:00Z", "2029-02-28T12:00:00Z", "2029-02-28T00:00:00Z", "2029-03-29T00:00:00Z"),
            (
                "2026-12-15T23:59:59.999Z",
                "2027-01-01T00:00:00Z",
                "2026-12-15T23:59:59.999Z",
                "2027-01-15T23:59:59.999Z",
            ),
            ("2026-12-31T00:00:00Z", "2027-02-28T00:00:00Z", "2027-02-28T00:00:00Z", "2027-03-31T00:00:00Z"),
            ("2026-05-05T00:00:00Z", "2026-05-05T00:00:00Z", "2026-05-05T00:00:00Z", "2026-06-05T00:00:00Z"),
            ("2026-05-05T00:00:00Z", "2026-04-01T00:00:00Z", "2026-05-05T00:00:00Z", "2026-06-05T00:00:00Z"),
        ] {
            let cycle = Cycle::at(at(anchor), at(now));
            assert_eq!(cycle, Cycle { start: at(start), end: at(end) }, "anchor {anchor}, now {now}");
        }
    }

    #[test]
    fn cycles_follow_each_other_without_a_gap_for_eight_years() {
        for day in 1..=31 {
            let anchor = at(&format!("2024-01-{day:02}T07:08:09.010Z"));
            let mut now = anchor;
            for _ in 0..96 {
                let cycle = Cycle::at(anchor, now);
                assert_eq!(cycle.start, now);
                assert_eq!(Cycle::at(anchor, cycle.end - 1.millisecond()), cycle);
                now = cycle.end;
            }
        }
    }

    #[test]
    fn a_smaller_plan_leaves_nothing_rather_than_less_than_nothing() {
        let cycle = Cycle::at(at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z"));
        assert_eq!(Balance { used: 90, allowed: Some(30), cycle }.remaining(), Some(0));
        assert_eq!(Balance { used: 90, allowed: None, cycle }.remaining(), None);
    }
}
