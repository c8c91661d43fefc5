//! Costs, billing cycles and charges.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// One billing cycle: from `start` (inclusive) to `end` (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycle {
    /// The first moment of the cycle.
    pub start: Timestamp,
    /// The first moment of the next cycle.
    pub end: Timestamp,
}

impl Cycle {
    /// Returns the cycle that contains `now`, for an account with that `anchor`. For a moment before the anchor,
    /// returns the first cycle.
    pub fn at(anchor: Timestamp, now: Timestamp) -> Self {
        let from = anchor.to_zoned(TimeZone::UTC);
        let to = now.to_zoned(TimeZone::UTC);
        let months = (i32::from(to.year()) - i32::from(from.year())) * 12 + i32::from(to.month())
            - i32::from(from.month());
        // Each boundary is computed from the anchor, so that a short month does not shift the later ones.
        let boundary =
            |months: i32| from.checked_add(months.max(0).months()).map_or(anchor, |zoned| zoned.timestamp());
        let start = if boundary(months) > now { months - 1 } else { months }.max(0);
        Self { start: boundary(start), end: boundary(start + 1) }
    }
}

/// The cost of a standard search, in credits (`src/manual/accounts-and-keys.md`).
pub const STANDARD_COST: u64 = 1;

/// The cost of a premium username search, in credits (`src/manual/accounts-and-keys.md`).
pub const PREMIUM_COST: u64 = 2;

/// Returns the cost of a search in credits.
pub fn cost(is_premium: bool) -> u64 {
    if is_premium { PREMIUM_COST } else { STANDARD_COST }
}

/// The cost of a run, and the cycle that is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    /// The number of credits.
    pub credits: u64,
    /// The maximum number of credits that may be used in the cycle, or `None` if there is no limit.
    pub allowed: Option<u64>,
    /// The cycle that is charged.
    pub cycle: Cycle,
}

/// The credits of an account in one cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// The credits that were used in this cycle.
    pub used: u64,
    /// The credits of the plan, or `None` if there is no limit.
    pub allowed: Option<u64>,
    /// The current billing cycle.
    pub cycle: Cycle,
}

impl Balance {
    /// Returns the remaining credits, or `None` if there is no limit. The number is 0 after a change to a plan with
    /// fewer credits than were used.
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
    fn a_balance_is_never_negative_after_a_change_to_a_smaller_plan() {
        let cycle = Cycle::at(at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z"));
        assert_eq!(Balance { used: 90, allowed: Some(30), cycle }.remaining(), Some(0));
        assert_eq!(Balance { used: 90, allowed: None, cycle }.remaining(), None);
    }
}
