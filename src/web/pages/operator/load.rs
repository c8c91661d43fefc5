//! The load of this process, as tiles on the page and as JSON for its script.

use serde_json::{Map, Value};

use crate::http::Load;
use crate::runs::service::Runs;

/// A figure with its maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Figure {
    /// The key of the figure in the JSON for the script.
    pub(super) key: &'static str,
    /// The name of the figure on the page.
    pub(super) name: &'static str,
    /// The current value of the figure.
    pub(super) value: u64,
    /// The maximum, or `None` if there is none.
    pub(super) most: Option<u64>,
}

impl Figure {
    fn new(key: &'static str, name: &'static str, value: usize, most: usize) -> Self {
        Self { key, name, value: value as u64, most: Some(most as u64) }
    }

    fn without_maximum(key: &'static str, name: &'static str, value: u64) -> Self {
        Self { key, name, value, most: None }
    }

    /// Returns the share of the maximum, 0 to 100. It is at least 1 for a value above 0.
    pub(super) fn percent(&self) -> u64 {
        let most = self.most.unwrap_or_default().max(1);
        let share = (self.value * 100).div_ceil(most);
        share.min(100)
    }
}

/// Returns all figures: those of searches, those of the server, and counts since the start.
pub(super) fn figures(runs: &Runs, server: &Load) -> Vec<Figure> {
    let (driven, waiting) = runs.load();
    let (checks, workers) = runs.scheduler().load();
    let (pages, sessions) = (runs.scheduler().busy_in_browsers(), runs.browsing().sessions());
    let done = runs.figures();
    vec![
        Figure::without_maximum("runs_driven", "running searches", driven as u64),
        Figure::without_maximum("runs_waiting", "waiting searches", waiting as u64),
        Figure::new("checks", "running checks", checks, workers),
        Figure::without_maximum("checks_waiting", "waiting checks", runs.scheduler().waiting() as u64),
        Figure::new("browsers", "pages in browsers", pages, sessions),
        Figure::new("requests", "running requests", server.workers_busy, server.workers_max),
        Figure::new(
            "requests_waiting",
            "waiting requests",
            server.requests_queued,
            server.requests_queued_max,
        ),
        Figure::new("streams", "streams and waits", server.streams_open, server.streams_max),
        Figure::without_maximum("refused", "refused requests since the start", server.refused_total),
        Figure::without_maximum(
            "started",
            "searches since the start",
            done.started().map(|(_, count)| count).sum(),
        ),
        Figure::without_maximum("failed", "failed searches since the start", done.failed.get()),
    ]
}

/// Returns the figures as JSON: `{"checks": {"value": 3, "percent": 1}, …}`.
pub(super) fn as_json(figures: &[Figure]) -> Value {
    let member = |figure: &Figure| {
        let value = serde_json::json!({"value": figure.value, "percent": figure.percent()});
        (figure.key.to_owned(), value)
    };
    Value::Object(figures.iter().map(member).collect::<Map<String, Value>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_visible_and_at_most_full() {
        for (value, most, want) in [(0, 512, 0), (1, 512, 1), (256, 512, 50), (600, 512, 100), (0, 0, 0)] {
            assert_eq!(Figure::new("a", "b", value, most).percent(), want, "{value} of {most}");
        }
    }
}
