//! In one word how a module does, and what `GET /v1/modules` shows beside it.

use jiff::{Timestamp, ToSpan};
use serde::Serialize;
use utoipa::ToSchema;

use super::tally::Tally;
use crate::base::clock::millis;
use crate::modules::outcome::Outcome;

/// Fewer checks than this say nothing.
const LEAST_CHECKS: u64 = 3;
/// Nor do checks of more than this many hours ago: 30 days.
const FORGOTTEN_HOURS: i64 = 30 * 24;
/// Share of conclusive checks from which on a module is in order.
const OK: f64 = 0.8;
/// Share of conclusive checks from which on it is of use.
const OF_USE: f64 = 0.5;

/// In one word how a module does: `unknown` (fewer than 3 checks, or none within 30 days), `ok` (a hit or a miss
/// in at least 80% of the last checks), `degraded` (in at least half of them), else `blocked` (most of the others
/// were blocked or limited) or `broken` (most of the others were errors, timeouts or unreliable).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ModuleHealthStatus)]
pub enum Verdict {
    /// Fewer than 3 checks, or none within 30 days.
    Unknown,
    /// A hit or a miss in at least 80% of the last checks.
    Ok,
    /// In at least half of them.
    Degraded,
    /// In less than half, and most of the others were blocked or limited.
    Blocked,
    /// In less than half, and most of the others were errors, timeouts or unreliable.
    Broken,
}

impl Verdict {
    /// All of them, the worst first.
    pub const ALL: [Self; 5] = [Self::Broken, Self::Blocked, Self::Degraded, Self::Unknown, Self::Ok];

    /// The word for it, as the contract has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Blocked => "blocked",
            Self::Broken => "broken",
        }
    }
}

/// How one module has done lately. Rates are 0.0 to 1.0, over about the last twenty checks; all are 0.0 where
/// there was none.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ModuleHealth {
    /// In one word.
    pub status: Verdict,
    /// Checks since they are counted, over all processes and restarts.
    #[schema(examples(1312))]
    pub checks: u64,
    /// How many checks the rates rest on, at most twenty.
    #[schema(maximum = 20, examples(20))]
    pub sample: u32,
    /// Share of hits.
    #[schema(minimum = 0, maximum = 1, examples(0.35))]
    pub hit_rate: f64,
    /// Share of misses.
    #[schema(minimum = 0, maximum = 1, examples(0.6))]
    pub miss_rate: f64,
    /// Share of checks that were blocked, or limited by the site.
    #[schema(minimum = 0, maximum = 1, examples(0.05))]
    pub blocked_rate: f64,
    /// Share of errors, timeouts, and a yes to made-up names.
    #[schema(minimum = 0, maximum = 1, examples(0.0))]
    pub error_rate: f64,
    /// Milliseconds: moving mean over about the last five checks; null where there was none.
    #[schema(required, examples(412))]
    pub latency_ms: Option<u64>,
    /// The last check: RFC 3339, UTC, milliseconds; null where there was none.
    #[serde(with = "millis::option")]
    #[schema(required, examples("2026-05-06T07:08:09.010Z"))]
    pub last_checked_at: Option<Timestamp>,
    /// The last hit; null where there was none.
    #[serde(with = "millis::option")]
    #[schema(required, examples("2026-05-06T07:08:09.010Z"))]
    pub last_hit_at: Option<Timestamp>,
    /// The last hit or miss; null where there was none.
    #[serde(with = "millis::option")]
    #[schema(required, examples("2026-05-06T07:08:09.010Z"))]
    pub last_conclusive_at: Option<Timestamp>,
}

impl ModuleHealth {
    /// What a tally says at `now`.
    pub fn of(tally: &Tally, now: Timestamp) -> Self {
        let rate = |outcomes: &[Outcome]| (tally.rate(outcomes) * 1000.0).round() / 1000.0;
        let blocked_rate = rate(&[Outcome::Blocked, Outcome::RateLimited]);
        let error_rate = rate(&[Outcome::Timeout, Outcome::Error, Outcome::Unreliable]);
        let conclusive = rate(&[Outcome::Hit, Outcome::Miss]);
        let forgotten = now.saturating_sub(FORGOTTEN_HOURS.hours()).unwrap_or(Timestamp::MIN);
        let status = if tally.checks < LEAST_CHECKS || tally.last_checked < Some(forgotten) {
            Verdict::Unknown
        } else if conclusive >= OK {
            Verdict::Ok
        } else if conclusive >= OF_USE {
            Verdict::Degraded
        } else if blocked_rate >= error_rate {
            Verdict::Blocked
        } else {
            Verdict::Broken
        };
        Self {
            status,
            checks: tally.checks,
            sample: tally.sample().round() as u32,
            hit_rate: rate(&[Outcome::Hit]),
            miss_rate: rate(&[Outcome::Miss]),
            blocked_rate,
            error_rate,
            latency_ms: tally.latency().map(|mean| u64::try_from(mean.as_millis()).unwrap_or(u64::MAX)),
            last_checked_at: tally.last_checked,
            last_hit_at: tally.last_hit,
            last_conclusive_at: tally.last_conclusive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn health(outcomes: &[(Outcome, usize)], days_ago: i64) -> ModuleHealth {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let at = now - (days_ago * 24).hours();
        let mut tally = Tally::default();
        for (outcome, count) in outcomes {
            for _ in 0..*count {
                tally = tally.then(&Tally::one(*outcome, Duration::from_millis(100), at));
            }
        }
        ModuleHealth::of(&tally, now)
    }

    #[test]
    fn each_word_has_its_threshold() {
        use Outcome::{Blocked, Error, Hit, Miss, RateLimited, Timeout, Unreliable};
        for (outcomes, want) in [
            (&[][..], Verdict::Unknown),
            (&[(Miss, 2)], Verdict::Unknown),
            (&[(Miss, 3)], Verdict::Ok),
            (&[(Hit, 30), (Miss, 30)], Verdict::Ok),
            (&[(Miss, 60), (Error, 6)], Verdict::Degraded),
            (&[(Miss, 60), (Blocked, 6)], Verdict::Degraded),
            (&[(Miss, 60), (Blocked, 8), (RateLimited, 8)], Verdict::Blocked),
            (&[(Miss, 60), (Error, 8), (Timeout, 8)], Verdict::Broken),
            (&[(Unreliable, 10)], Verdict::Broken),
            (&[(Error, 60), (Miss, 40)], Verdict::Ok),
        ] {
            let health = health(outcomes, 0);
            assert_eq!(health.status, want, "{outcomes:?}: {health:?}");
        }
        assert_eq!(health(&[(Miss, 60)], 29).status, Verdict::Ok);
        assert_eq!(health(&[(Miss, 60)], 31).status, Verdict::Unknown, "nobody has asked for a month");
    }

    #[test]
    fn each_word_is_the_one_that_the_contract_has() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
        }
    }

    #[test]
    fn it_is_shown_with_what_it_rests_on() {
        let health = health(&[(Outcome::Hit, 1), (Outcome::Miss, 1), (Outcome::Error, 2)], 1);
        assert_eq!((health.checks, health.sample, health.latency_ms), (4, 4, Some(100)));
        let rates = [health.hit_rate, health.miss_rate, health.blocked_rate, health.error_rate];
        assert!((rates.iter().sum::<f64>() - 1.0).abs() < 0.01, "{rates:?}");
        let shown = serde_json::to_value(&health).unwrap();
        for (field, want) in [
            ("status", serde_json::json!("broken")),
            ("last_hit_at", serde_json::json!("2026-02-28T12:00:00.000Z")),
            ("last_conclusive_at", serde_json::json!("2026-02-28T12:00:00.000Z")),
        ] {
            assert_eq!(shown[field], want, "{field}");
        }
    }
}
