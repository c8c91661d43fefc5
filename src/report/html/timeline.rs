//! The timeline as a drawing, in which each dot leads to its year in the table below it.

use crate::report::graph::drawing::whole;
use crate::report::timeline::{Event, EventKind, Timeline};
use crate::runs::record::RunRecord;

/// The width of the drawing, in its own units.
pub(super) const WIDTH: f64 = 720.0;
/// The height of a lane.
const LANE: usize = 30;
/// The width of the names of the lanes, and the space to the right of the last year.
pub(super) const NAMES: f64 = 130.0;
const MARGIN: f64 = 24.0;
/// The radius of a dot for one event, and of the largest one.
const SMALLEST: f64 = 4.0;
const LARGEST: f64 = 12.0;
/// The most years that have a label.
const MOST_LABELS: i16 = 12;

/// The drawing and its events.
pub(super) struct Chart {
    pub(super) events: Vec<Event>,
    /// The years that have a label, with their coordinates.
    pub(super) years: Vec<(i16, u32)>,
    /// The kinds that have events, one below the other.
    pub(super) lanes: Vec<Lane>,
}

/// The events of a kind.
pub(super) struct Lane {
    pub(super) kind: EventKind,
    pub(super) y: usize,
    pub(super) dots: Vec<Dot>,
}

/// The events of a kind in a year.
pub(super) struct Dot {
    pub(super) year: i16,
    pub(super) x: u32,
    pub(super) count: usize,
}

impl Chart {
    /// Returns `None` if the run tells of fewer than two events.
    pub(super) fn of(run: &RunRecord) -> Option<Self> {
        let timeline = Timeline::of(&run.results, run.as_of);
        let (first, last) = timeline.years().filter(|_| timeline.events.len() > 1)?;
        let step = (WIDTH - NAMES - 2.0 * MARGIN) / f64::from((last - first).max(1));
        let x = |year: i16| whole(NAMES + MARGIN + step * f64::from(year - first));
        let every = ((last - first) / MOST_LABELS + 1).max(1);
        let labels = (first..=last).filter(|year| (year - first) % every == 0);
        let counts = timeline.counts();
        let dots = |kind: EventKind| -> Vec<Dot> {
            let of_kind = counts.iter().filter(|((it, _), _)| *it == kind);
            of_kind.map(|((_, year), count)| Dot { year: *year, x: x(*year), count: *count }).collect()
        };
        let kinds = EventKind::ALL.map(|kind| (kind, dots(kind))).into_iter();
        let used = kinds.filter(|(_, dots)| !dots.is_empty()).enumerate();
        let lanes = used.map(|(lane, (kind, dots))| Lane { kind, y: lane * LANE + LANE / 2, dots }).collect();
        Some(Self { years: labels.map(|year| (year, x(year))).collect(), lanes, events: timeline.events })
    }

    pub(super) fn height(&self) -> usize {
        (self.lanes.len() + 1) * LANE
    }

    /// Returns the events. The first one of a year comes with the year.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&Event, Option<i16>)> {
        let mut last = None;
        self.events.iter().map(move |event| {
            let year = event.day.year();
            (event, (last.replace(year) != Some(year)).then_some(year))
        })
    }
}

impl Dot {
    /// Returns the radius: the area grows with the number of events.
    #[expect(clippy::cast_precision_loss, reason = "the number is small")]
    pub(super) fn radius(&self) -> u32 {
        whole((SMALLEST * (self.count as f64).sqrt()).min(LARGEST))
    }
}
