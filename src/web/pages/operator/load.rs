//! How busy this process is now, as tiles of the page and as what its script asks for every other second.

use serde_json::{Map, Value};

use crate::http::Load;
use crate::runs::service::Runs;

/// A figure and what it can come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Figure {
    /// Its name for the script.
    pub(super) key: &'static str,
    /// Its name for people.
    pub(super) name: &'static str,
    /// Now.
    pub(super) value: u64,
    /// At most; none: it has no end.
    pub(super) most: Option<u64>,
}

impl Figure {
    fn new(key: &'static str, name: &'static str, value: usize, most: usize) -> Self {
        Self { key, name, value: value as u64, most: Some(most as u64) }
    }

    fn endless(key: &'static str, name: &'static str, value: u64) -> Self {
        Self { key, name, value, most: None }
    }

    /// Share of what there can be, 0 to 100. What is there at all is seen.
    pub(super) fn percent(&self) -> u64 {
        let most = self.most.unwrap_or_default().max(1);
        let share = (self.value * 100).div_ceil(most);
        share.min(100)
    }
}

/// All figures: of searches, of the server, of what was done since the start.
pub(super) fn figures(runs: &Runs, server: &Load) -> Vec<Figure> {
    let (driven, waiting) = runs.counts();
    let (checks, workers) = runs.workers();
    let (pages, sessions) = runs.browsers();
    let done = runs.figures();
    vec![
        Figure::endless("runs_driven", "searches under way", driven as u64),
        Figure::endless("runs_waiting", "searches waiting", waiting as u64),
        Figure::new("checks", "checks under way", checks, workers),
        Figure::endless("checks_waiting", "checks waiting", runs.checks_waiting() as u64),
        Figure::new("browsers", "pages in browsers", pages, sessions),
        Figure::new("requests", "requests at work", server.workers_busy, server.workers_max),
        Figure::new(
            "requests_waiting",
            "requests waiting",
            server.requests_queued,
            server.requests_queued_max,
        ),
        Figure::new("streams", "streams and waits", server.streams_open, server.streams_max),
        Figure::new("connections", "connections", server.connections, server.connections_max),
        Figure::endless("refused", "requests refused so far", server.refused_total),
        Figure::endless("started", "searches so far", done.started().map(|(_, count)| count).sum()),
        Figure::endless("failed", "of them failed", done.failed.get()),
    ]
}

/// `{"checks": {"value": 3, "percent": 1}, …}`.
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
    fn a_share_is_seen_and_never_more_than_all() {
        for (value, most, want) in [(0, 512, 0), (1, 512, 1), (256, 512, 50), (600, 512, 100), (0, 0, 0)] {
            assert_eq!(Figure::new("a", "b", value, most).percent(), want, "{value} of {most}");
        }
    }
}
