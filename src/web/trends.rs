//! [`Trends`]: the figures of this instance over the last 24 hours, in memory. They begin anew with each start.
//!
//! The day is divided into intervals of ten minutes, which begin at whole multiples of ten minutes. For each, the totals at
//! its end are kept. The figure of an interval is the difference to the totals before.

use std::collections::VecDeque;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::http::Traffic;
use crate::modules::outcome::Outcome;
use crate::runs::figures::Figures;

/// The length of an interval in seconds.
pub(super) const INTERVAL_SECS: i64 = 10 * 60;
/// The number of intervals in 24 hours.
pub(super) const INTERVALS: usize = 144;

/// Totals since the start, or those of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Searches that were started.
    pub searches: u64,
    /// Checks that ended, without those that were skipped.
    pub checks: u64,
    /// Checks that ended with a hit or a miss.
    pub conclusive: u64,
    /// Checks that ended with an error or a timeout.
    pub errors: u64,
    /// Requests to the API and the web app that were answered.
    pub requests: u64,
}

impl Totals {
    /// Returns the totals of this process.
    pub fn of(figures: &Figures, traffic: [&Traffic; 2]) -> Self {
        let checks = |fits: fn(Outcome) -> bool| {
            figures.checks().filter(|(_, outcome, _)| fits(*outcome)).map(|(_, _, count)| count).sum()
        };
        Self {
            searches: figures.started().map(|(_, count)| count).sum(),
            checks: checks(|outcome| outcome != Outcome::Skipped),
            conclusive: checks(Outcome::is_conclusive),
            errors: checks(|outcome| matches!(outcome, Outcome::Error | Outcome::Timeout)),
            requests: traffic.into_iter().map(Traffic::total).sum(),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            searches: self.searches.saturating_sub(before.searches),
            checks: self.checks.saturating_sub(before.checks),
            conclusive: self.conclusive.saturating_sub(before.conclusive),
            errors: self.errors.saturating_sub(before.errors),
            requests: self.requests.saturating_sub(before.requests),
        }
    }

    /// Returns the sum of these totals and others.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            searches: self.searches + other.searches,
            checks: self.checks + other.checks,
            conclusive: self.conclusive + other.conclusive,
            errors: self.errors + other.errors,
            requests: self.requests + other.requests,
        }
    }
}

/// The figures of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    /// The number of the interval since 1970.
    pub(super) number: i64,
    pub(super) totals: Totals,
}

/// The totals of the last 24 hours.
pub struct Trends {
    /// The start of the process.
    pub(super) since: Timestamp,
    /// The totals at the ends of the intervals, oldest first. There is one more than is shown, to calculate differences.
    ends: Mutex<VecDeque<Interval>>,
}

/// Returns the number of the interval of a moment.
pub(super) fn number_of(at: Timestamp) -> i64 {
    at.as_second().div_euclid(INTERVAL_SECS)
}

impl Trends {
    /// Creates empty trends. `since` is the start of the process.
    pub fn new(since: Timestamp) -> Self {
        Self { since, ends: Mutex::default() }
    }

    /// Records the current totals. The maintenance thread calls this about once a second.
    pub fn note(&self, now: Timestamp, totals: Totals) {
        let (mut ends, number) = (self.ends.lock(), number_of(now));
        match ends.back_mut() {
            // The time of day may have been set back.
            Some(last) if last.number >= number => last.totals = totals,
            _ => ends.push_back(Interval { number, totals }),
        }
        if ends.len() > INTERVALS + 1 {
            ends.pop_front();
        }
    }

    /// Returns the figures of the intervals of the last 24 hours, oldest first. There is none for the time before the
    /// start.
    pub(super) fn intervals(&self, now: Timestamp) -> Vec<Interval> {
        let ends = self.ends.lock();
        let oldest = number_of(now) - INTERVALS as i64;
        let mut before = Totals::default();
        let mut intervals = Vec::new();
        for end in ends.iter() {
            if end.number > oldest {
                intervals.push(Interval { number: end.number, totals: end.totals.since(before) });
            }
            before = end.totals;
        }
        intervals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 * INTERVAL_SECS + minutes * 60).unwrap()
    }

    fn searches(searches: u64) -> Totals {
        Totals { searches, ..Totals::default() }
    }

    fn shown(trends: &Trends, minutes: i64) -> Vec<(i64, u64)> {
        let first = number_of(at(0));
        let intervals = trends.intervals(at(minutes));
        intervals.iter().map(|interval| (interval.number - first, interval.totals.searches)).collect()
    }

    #[test]
    fn an_interval_has_what_was_added_in_it() {
        let trends = Trends::new(at(1));
        assert_eq!(shown(&trends, 1), []);
        for (minutes, total) in [(1, 0), (9, 3), (10, 4), (19, 4), (40, 10)] {
            trends.note(at(minutes), searches(total));
        }
        assert_eq!(shown(&trends, 40), [(0, 3), (1, 1), (4, 6)]);
        trends.note(at(30), searches(11));
        assert_eq!(shown(&trends, 40), [(0, 3), (1, 1), (4, 7)], "the clock was set back");
    }

    #[test]
    fn a_day_is_kept_and_no_more() {
        let trends = Trends::new(at(0));
        for minutes in 0..3 * 24 * 60 {
            trends.note(at(minutes), searches(minutes as u64 + 1));
        }
        let shown = shown(&trends, 3 * 24 * 60 - 1);
        assert_eq!((shown.len(), shown[0], shown[143]), (144, (288, 10), (431, 10)));
        assert_eq!(trends.ends.lock().len(), INTERVALS + 1);
    }
}
