//! What stands in the rows of the operator's tables.

use jiff::Timestamp;

use super::table::Row;
use crate::runs::health::verdict::Verdict;
use crate::web::show::ago;

/// Share from which on a row's cell stands out.
const MUCH: f64 = 0.2;

/// A module as it is shown.
pub(super) struct ModuleRow<'m> {
    pub(super) platform: &'m str,
    pub(super) id: &'m str,
    pub(super) health: &'static str,
    /// Class of the badge.
    pub(super) tone: &'static str,
    pub(super) search_type: &'static str,
    /// Whether searches ask it at all.
    pub(super) is_asked: bool,
    pub(super) hits: String,
    pub(super) misses: String,
    pub(super) blocked: String,
    pub(super) blocked_much: bool,
    pub(super) errors: String,
    pub(super) errors_much: bool,
    pub(super) latency: String,
    pub(super) checks: u64,
    pub(super) last_hit: String,
}

impl<'m> ModuleRow<'m> {
    /// The row of a module at `now`.
    pub(super) fn of((module, health): &Row<'m>, now: Timestamp) -> Self {
        let rate = |share: f64| if health.sample == 0 { NOTHING.to_owned() } else { percent(share) };
        Self {
            platform: module.platform(),
            id: module.id(),
            health: health.status.as_str(),
            tone: tone(health.status),
            search_type: module.search_type().as_str(),
            is_asked: module.entry().enabled,
            hits: rate(health.hit_rate),
            misses: rate(health.miss_rate),
            blocked: rate(health.blocked_rate),
            blocked_much: health.blocked_rate >= MUCH,
            errors: rate(health.error_rate),
            errors_much: health.error_rate >= MUCH,
            latency: health.latency_ms.map_or_else(|| NOTHING.to_owned(), duration),
            checks: health.checks,
            last_hit: health.last_hit_at.map_or_else(|| NOTHING.to_owned(), |at| ago(at, now)),
        }
    }
}

const NOTHING: &str = "–";

/// The class of a badge that says it.
pub(super) fn tone(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "good",
        Verdict::Degraded => "warn",
        Verdict::Blocked | Verdict::Broken => "bad",
        Verdict::Unknown => "",
    }
}

/// 0 to 1 as whole percent; what is there at all is not shown as nothing.
fn percent(share: f64) -> String {
    match (share * 100.0).round() as u64 {
        0 if share > 0.0 => "<1%".to_owned(),
        whole => format!("{whole}%"),
    }
}

fn duration(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{:.1} s", ms as f64 / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_true() {
        for (share, want) in [(0.0, "0%"), (0.001, "<1%"), (0.354, "35%"), (1.0, "100%")] {
            assert_eq!(percent(share), want);
        }
        assert_eq!((duration(999), duration(1250)), ("999 ms".to_owned(), "1.2 s".to_owned()));
    }
}
