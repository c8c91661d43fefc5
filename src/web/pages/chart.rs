//! The chart of credits by billing cycle. The server calculates the coordinates of the SVG, so that no inline
//! style is needed.

use std::collections::BTreeMap;

use jiff::{Timestamp, ToSpan as _};

use crate::model::account::CycleUse;
use crate::model::credits::Cycle;
use crate::web::show::Moment;

/// The number of cycles in the chart: a year.
const MOST_CYCLES: usize = 12;
/// The size of the drawing, in its own units.
const WIDTH: u64 = 480;
const HEIGHT: u64 = 120;
/// The gap beside each bar, in units of the drawing.
const GAP: u64 = 8;

/// The drawing: one bar for each cycle, oldest first.
pub(super) struct Chart {
    pub(super) bars: Vec<Bar>,
    pub(super) width: u64,
    pub(super) height: u64,
}

/// The bar of a cycle.
pub(super) struct Bar {
    pub(super) start: Moment,
    pub(super) end: Moment,
    pub(super) used: u64,
    pub(super) is_present: bool,
    pub(super) x: u64,
    pub(super) y: u64,
    pub(super) width: u64,
    pub(super) height: u64,
}

impl Chart {
    /// Creates the chart of the cycles of an account up to `now`, with the credits used in each. The scale
    /// ends at the credits of a cycle, or at the highest use.
    pub(super) fn new(anchor: Timestamp, now: Timestamp, uses: &[CycleUse], allowed: Option<u64>) -> Self {
        let used: BTreeMap<Timestamp, u64> =
            uses.iter().map(|cycle| (cycle.cycle_start, cycle.used)).collect();
        let cycles = cycles(anchor, now);
        let most = used.values().copied().chain(allowed).max().unwrap_or(0).max(1);
        let step = WIDTH / cycles.len().max(1) as u64;
        let bar = |(index, cycle): (usize, &Cycle)| {
            let used = used.get(&cycle.start).copied().unwrap_or(0);
            let height = height_of(used, most);
            Bar {
                start: Moment(cycle.start),
                end: Moment(cycle.end),
                used,
                is_present: now < cycle.end,
                x: index as u64 * step + GAP / 2,
                y: HEIGHT - height,
                width: step.saturating_sub(GAP).min(64),
                height,
            }
        };
        Self { bars: cycles.iter().enumerate().map(bar).collect(), width: WIDTH, height: HEIGHT }
    }
}

/// Returns the height of a bar. It is at least 2 if any credit was used.
fn height_of(used: u64, most: u64) -> u64 {
    let height = u128::from(used) * u128::from(HEIGHT) / u128::from(most);
    u64::try_from(height).unwrap_or(HEIGHT).max(if used > 0 { 2 } else { 0 })
}

/// Returns the last cycles, oldest first.
fn cycles(anchor: Timestamp, now: Timestamp) -> Vec<Cycle> {
    let mut cycles = vec![Cycle::at(anchor, now)];
    while let Some(oldest) = cycles.last()
        && cycles.len() < MOST_CYCLES
        && oldest.start > anchor
    {
        let before = oldest.start.checked_sub(1.millisecond()).unwrap_or(anchor);
        cycles.push(Cycle::at(anchor, before));
    }
    cycles.reverse();
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn bars_have_the_height_of_the_used_share() {
        let (anchor, now) = (at("2026-01-31T00:00:00Z"), at("2026-03-15T00:00:00Z"));
        let used = |start, used| CycleUse { cycle_start: at(start), used };
        let uses = [used("2026-01-31T00:00:00Z", 50), used("2026-02-28T00:00:00Z", 1)];
        let chart = Chart::new(anchor, now, &uses, Some(100));
        let bars: Vec<_> =
            chart.bars.iter().map(|bar| (bar.used, bar.height, bar.y, bar.is_present)).collect();
        assert_eq!(bars, [(50, 60, 60, false), (1, 2, 118, true)]);
        // An account can have used more credits than its current plan has.
        assert_eq!(Chart::new(anchor, now, &uses, Some(10)).bars[0].height, HEIGHT);
        assert_eq!(Chart::new(anchor, now, &[], None).bars[1].height, 0);
    }

    #[test]
    fn a_year_of_cycles_fits_into_the_chart() {
        let chart = Chart::new(at("2020-01-01T00:00:00Z"), at("2026-06-15T00:00:00Z"), &[], Some(5));
        assert_eq!(chart.bars.len(), MOST_CYCLES);
        assert!(chart.bars.iter().all(|bar| bar.x + bar.width <= WIDTH));
        assert_eq!(chart.bars[11].start, Moment(at("2026-06-01T00:00:00Z")));
        assert_eq!(chart.bars[0].start, Moment(at("2025-07-01T00:00:00Z")));
    }
}
