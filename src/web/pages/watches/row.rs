//! A watch as a row of a table.

use jiff::Timestamp;

use crate::base::ids::RunId;
use crate::model::watch::{Interval, PauseReason, Watch, WatchActivity};
use crate::web::show::Moment;

/// A watch in a table, and on its own page.
#[derive(Debug, Clone)]
pub(super) struct WatchRow {
    pub(super) watch: Watch,
    pub(super) activity: WatchActivity,
    pub(super) now: Timestamp,
}

impl WatchRow {
    /// Returns why no runs are started, as sentences.
    pub(super) fn paused(&self) -> Option<&'static str> {
        self.watch.paused.map(|reason| match reason {
            PauseReason::User => "You have paused it.",
            PauseReason::Credits => {
                "The account cannot pay for a run: too few credits, or a plan without premium searches. The watch \
                 becomes active again when it can."
            }
        })
    }

    /// Returns the moment of the next run, if it lies in the future.
    pub(super) fn next(&self) -> Option<Moment> {
        Some(self.watch.next_at).filter(|next| *next > self.now).map(Moment)
    }

    /// Returns the last run, unless it was deleted.
    pub(super) fn last(&self) -> Option<(RunId, Moment)> {
        self.watch.last_run.zip(self.activity.last_run_at.map(Moment))
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
