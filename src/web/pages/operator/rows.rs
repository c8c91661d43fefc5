//! The rows of the operator's tables.

use jiff::Timestamp;

use super::table::Row;
use crate::runs::health::verdict::Verdict;
use crate::web::show::ago;

/// The share from which a cell is highlighted.
const HIGHLIGHT_FROM: f64 = 0.2;

/// A module in the table.
pub(super) struct ModuleRow<'m> {
    pub(super) platform: &'m str,
    pub(super) id: &'m str,
    pub(super) health: &'static str,
    /// The CSS class of the badge.
    pub(super) tone: &'static str,
    pub(super) search_type: &'static str,
    /// Whether searches use the module.
    pub(super) is_asked: bool,
    /// The reason why searches do not use it, with its date. Empty if there is none.
    pub(super) why_off: String,
    /// The kind and the date of the evidence for the module's rules.
    pub(super) verified: String,
    pub(super) hits: String,
    pub(super) misses: String,
    pub(super) blocked: String,
    pub(super) blocked_much: bool,
    pub(super) errors: String,
    pub(super) errors_much: bool,
    pub(super) latency: String,
    /// The learnt deadline.
    pub(super) deadline: String,
    pub(super) checks: u64,
    pub(super) last_hit: String,
}

impl<'m> ModuleRow<'m> {
    /// Returns the row of a module at `now`.
    pub(super) fn of((module, health): &Row<'m>, now: Timestamp) -> Self {
        let entry = module.entry();
        let rate = |share: f64| if health.sample == 0 { NOTHING.to_owned() } else { percent(share) };
        Self {
            platform: module.platform(),
            id: module.id(),
            health: health.status.as_str(),
            tone: tone(health.status),
            search_type: module.search_type().as_str(),
            is_asked: entry.enabled,
            why_off: entry
                .off
                .as_ref()
                .map_or_else(String::new, |off| format!("{}: {}", off.date, off.reason)),
            verified: entry
                .verified
                .as_ref()
                .map_or_else(|| NOTHING.to_owned(), |it| format!("{} {}", it.by.as_str(), it.date)),
            hits: rate(health.hit_rate),
            misses: rate(health.miss_rate),
            blocked: rate(health.blocked_rate),
            blocked_much: health.blocked_rate >= HIGHLIGHT_FROM,
            errors: rate(health.error_rate),
            errors_much: health.error_rate >= HIGHLIGHT_FROM,
            latency: health.latency_ms.map_or_else(|| NOTHING.to_owned(), duration),
            deadline: health.deadline_ms.map_or_else(|| NOTHING.to_owned(), duration),
            checks: health.checks,
            last_hit: health.last_hit_at.map_or_else(|| NOTHING.to_owned(), |at| ago(at, now)),
        }
    }
}

const NOTHING: &str = "–";

/// Returns the CSS class of the badge for a verdict.
pub(super) fn tone(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "good",
        Verdict::Degraded => "warn",
        Verdict::Blocked | Verdict::Broken => "bad",
        Verdict::Unknown => "",
    }
}

/// Formats a share as whole percent. A share above 0 is never shown as 0.
fn percent(share: f64) -> String {
    match (share * 100.0).round() as u64 {
        0 if share > 0.0 => "<1%".to_owned(),
        whole => format!("{whole}%"),
    }
}

pub(super) fn duration(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{:.1} s", ms as f64 / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_correctly_rounded() {
        for (share, want) in [(0.0, "0%"), (0.001, "<1%"), (0.354, "35%"), (1.0, "100%")] {
            assert_eq!(percent(share), want);
        }
        assert_eq!((duration(999), duration(1250)), ("999 ms".to_owned(), "1.2 s".to_owned()));
    }
}
