//! A watch as a row of a table.

use jiff::Timestamp;

use crate::base::ids::{RunId, WatchId};
use crate::base::text::plain;
use crate::model::interval::Interval;
use crate::model::watch::{PauseReason, Watch, WatchActivity};
use crate::web::pages::run_row::kind;
use crate::web::show::Moment;

/// The data of a watch in a table, and on its own page.
#[derive(Debug, Clone)]
pub(super) struct WatchRow {
    pub(super) id: WatchId,
    pub(super) query: String,
    pub(super) kind: &'static str,
    pub(super) premium: bool,
    /// How often it runs, such as `every 12 hours`.
    pub(super) every: String,
    /// Why no runs are started, as sentences.
    pub(super) paused: Option<&'static str>,
    /// Whether its last run has not ended.
    pub(super) is_open: bool,
    /// The moment of the next run, if it lies in the future.
    pub(super) next: Option<Moment>,
    /// The last run, unless it was deleted.
    pub(super) last: Option<(RunId, Moment)>,
    pub(super) changes: u64,
    pub(super) created: Moment,
}

impl WatchRow {
    pub(super) fn new(watch: &Watch, activity: WatchActivity, now: Timestamp) -> Self {
        Self {
            id: watch.id,
            query: plain(&watch.query).into_owned(),
            kind: kind(watch.search_type),
            premium: watch.premium,
            every: repeated(watch.every),
            paused: watch.paused.map(|reason| match reason {
                PauseReason::User => "You have paused it.",
                PauseReason::Credits => {
                    "The account cannot pay for a run: too few credits, or a plan without premium searches. The watch \
                     becomes active again when it can."
                }
            }),
            is_open: watch.is_open,
            next: Some(watch.next_at).filter(|next| *next > now).map(Moment),
            last: watch.last_run.zip(activity.last_run_at.map(Moment)),
            changes: activity.changes,
            created: Moment(watch.created_at),
        }
    }
}

/// Returns how often a watch runs, such as `every day` or `every 12 hours`.
pub(super) fn repeated(every: Interval) -> String {
    let text = every.to_string();
    let (number, unit) = text.split_at(text.len() - 1);
    let unit = match unit {
        "d" => "day",
        "h" => "hour",
        _ => "minute",
    };
    if number == "1" { format!("every {unit}") } else { format!("every {number} {unit}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_shown_in_words() {
        for (every, want) in [("1d", "every day"), ("24h", "every day"), ("12h", "every 12 hours")] {
            assert_eq!(repeated(every.parse().unwrap()), want);
        }
    }
}
