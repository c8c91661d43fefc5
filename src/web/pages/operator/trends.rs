//! The figures of the last 24 hours as charts, and as a table. The server calculates the coordinates of the SVG.

use jiff::Timestamp;

use crate::web::show::Moment;
use crate::web::trends::{INTERVAL_SECS, INTERVALS, Interval, Totals, number_of};

/// The height of a drawing, in its own units. An interval is one unit wide.
const HEIGHT: u64 = 40;
/// The number of intervals in an hour.
const IN_AN_HOUR: i64 = 3600 / INTERVAL_SECS;

/// A chart with a bar for each interval.
pub(super) struct Trend {
    pub(super) name: &'static str,
    /// The figure of all 24 hours.
    pub(super) sum: String,
    /// The height of the chart: the highest bar, or 100%.
    pub(super) most: String,
    pub(super) bars: Vec<Bar>,
}

/// A bar of a chart.
pub(super) struct Bar {
    pub(super) x: i64,
    pub(super) y: u64,
    pub(super) height: u64,
}

/// The figures of an hour.
pub(super) struct Hour {
    pub(super) start: Moment,
    pub(super) totals: Totals,
    pub(super) conclusive: String,
}

/// The charts and the table.
pub(super) struct TrendView {
    pub(super) charts: [Trend; 4],
    /// The hours since the start, newest first.
    pub(super) hours: Vec<Hour>,
    /// The start of the process.
    pub(super) since: Moment,
    /// Whether the process started within these 24 hours.
    pub(super) is_partial: bool,
    pub(super) width: usize,
    pub(super) height: u64,
    /// The x of the first interval of which something is known.
    pub(super) known_from: i64,
}

impl TrendView {
    pub(super) fn new(since: Timestamp, intervals: &[Interval], now: Timestamp) -> Self {
        let first = number_of(now) - INTERVALS as i64 + 1;
        let sum = intervals.iter().fold(Totals::default(), |sum, interval| sum.and(interval.totals));
        let counts = |name, of: fn(&Totals) -> u64| {
            let most = intervals.iter().map(|interval| of(&interval.totals)).max().unwrap_or_default();
            let bars = bars(first, intervals, |totals| (of(totals), most));
            Trend { name, sum: of(&sum).to_string(), most: format!("{most} in 10 minutes"), bars }
        };
        let conclusive = Trend {
            name: "conclusive checks",
            sum: share(&sum),
            most: "100%".to_owned(),
            bars: bars(first, intervals, |totals| (totals.conclusive, totals.checks)),
        };
        let start = number_of(since);
        Self {
            charts: [
                counts("searches", |totals| totals.searches),
                conclusive,
                counts("errors and timeouts of checks", |totals| totals.errors),
                counts("requests", |totals| totals.requests),
            ],
            hours: hours(intervals),
            since: Moment(since),
            is_partial: start >= first,
            width: INTERVALS,
            height: HEIGHT,
            known_from: (start - first).max(0),
        }
    }
}

/// Returns the bars of the intervals, each with a value and its maximum.
fn bars(first: i64, intervals: &[Interval], of: impl Fn(&Totals) -> (u64, u64)) -> Vec<Bar> {
    let bar = |interval: &Interval| {
        let (value, most) = of(&interval.totals);
        // A value above 0 is visible.
        let height = (value * HEIGHT).checked_div(most)?.max(u64::from(value > 0));
        (height > 0).then_some(Bar { x: interval.number - first, y: HEIGHT - height, height })
    };
    intervals.iter().filter_map(bar).collect()
}

/// Returns the share of conclusive checks, or a dash without any check.
fn share(totals: &Totals) -> String {
    (totals.conclusive * 100)
        .checked_div(totals.checks)
        .map_or_else(|| "–".to_owned(), |share| format!("{share}%"))
}

fn hours(intervals: &[Interval]) -> Vec<Hour> {
    let mut hours: Vec<(i64, Totals)> = Vec::new();
    for interval in intervals.iter().rev() {
        let hour = interval.number.div_euclid(IN_AN_HOUR);
        match hours.last_mut() {
            Some((last, totals)) if *last == hour => *totals = totals.and(interval.totals),
            _ => hours.push((hour, interval.totals)),
        }
    }
    let hour = |(hour, totals): (i64, Totals)| Hour {
        start: Moment(Timestamp::from_second(hour * 3600).unwrap_or_default()),
        conclusive: share(&totals),
        totals,
    };
    hours.into_iter().map(hour).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charts_begin_with_the_process_and_the_table_has_hours() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let interval = |text: &str, searches, checks, conclusive| {
            let totals = Totals { searches, checks, conclusive, ..Totals::default() };
            Interval { number: number_of(at(text)), totals }
        };
        let intervals = [
            interval("2026-03-01T10:50:00Z", 1, 10, 5),
            interval("2026-03-01T11:00:00Z", 200, 0, 0),
            interval("2026-03-01T11:10:00Z", 4, 10, 10),
        ];
        let view = TrendView::new(at("2026-03-01T10:55:00Z"), &intervals, at("2026-03-01T11:15:00Z"));
        assert_eq!((view.known_from, view.is_partial), (141, true));
        let bars = |at: usize| -> Vec<_> {
            view.charts[at].bars.iter().map(|bar| (bar.x, bar.y, bar.height)).collect()
        };
        assert_eq!(bars(0), [(141, 39, 1), (142, 0, 40), (143, 39, 1)]);
        assert_eq!(bars(1), [(141, 20, 20), (143, 0, 40)], "no bar without a check");
        assert_eq!((view.charts[0].sum.as_str(), view.charts[1].sum.as_str()), ("205", "75%"));
        let hours: Vec<_> = view
            .hours
            .iter()
            .map(|hour| (hour.start.iso(), hour.totals.searches, hour.conclusive.as_str()))
            .collect();
        assert_eq!(
            hours,
            [
                ("2026-03-01T11:00:00.000Z".to_owned(), 204, "100%"),
                ("2026-03-01T10:00:00.000Z".to_owned(), 1, "50%")
            ]
        );
        let later = TrendView::new(at("2026-03-01T10:55:00Z"), &[], at("2026-03-03T11:15:00Z"));
        assert_eq!((later.known_from, later.is_partial, later.charts[1].sum.as_str()), (0, false, "–"));
    }
}
