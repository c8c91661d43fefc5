//! [`Verdict`] and [`ModuleHealth`]: the health of a module as `GET /v1/modules` shows it.

use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use serde::Serialize;
use utoipa::ToSchema;

use crate::base::clock::millis;
use crate::base::words::words;
use crate::model::health::{Cause, FailedControl, Opening};
use crate::model::tally::{FORGOTTEN_HOURS, Tally};
use crate::modules::outcome::{ControlAnswer, OpenCircuit, Outcome};

/// The minimum number of checks for a verdict.
const LEAST_CHECKS: u64 = 3;
/// The minimum share of conclusive checks with which a module is `ok`.
const OK: f64 = 0.8;
/// The minimum share of conclusive checks with which a module is `degraded` rather than failing.
const OF_USE: f64 = 0.5;

words! {
    /// The health of a module in one word: `unknown` (fewer than 3 checks, or none within 30 days), `ok` (a hit or a miss
    /// in at least 80% of the last checks), `degraded` (in at least half of them), else `blocked` (most of the others were
    /// blocked or rate-limited) or `broken` (most of the others were errors, timeouts or unreliable).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = ModuleHealthStatus)]
    pub enum Verdict {
        /// In less than half, and most of the others were errors, timeouts or unreliable.
        Broken = "broken",
        /// In less than half, and most of the others were blocked or rate-limited.
        Blocked = "blocked",
        /// In at least half of them.
        Degraded = "degraded",
        /// Fewer than 3 checks, or none within 30 days.
        Unknown = "unknown",
        /// A hit or a miss in at least 80% of the last checks.
        Ok = "ok",
    }
}

/// The recent health of a module. Rates are 0.0 to 1.0, over about the last twenty checks; all are 0.0 without any.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ModuleHealth {
    /// The health in one word.
    pub status: Verdict,
    /// Number of counted checks, over all processes and restarts.
    pub checks: u64,
    /// The number of checks on which the rates are based, at most twenty.
    #[schema(maximum = 20)]
    pub sample: u32,
    /// Share of hits.
    #[schema(minimum = 0, maximum = 1)]
    pub hit_rate: f64,
    /// Share of misses.
    #[schema(minimum = 0, maximum = 1)]
    pub miss_rate: f64,
    /// Share of checks that the site blocked or rate-limited.
    #[schema(minimum = 0, maximum = 1)]
    pub blocked_rate: f64,
    /// Share of errors, timeouts, and failed control checks.
    #[schema(minimum = 0, maximum = 1)]
    pub error_rate: f64,
    /// The moving mean of the latency in milliseconds, over about the last five checks; null without any.
    pub latency_ms: Option<u64>,
    /// The deadline in milliseconds that was learned from earlier answers. A check without an answer by then ends as a
    /// timeout with the reason `learnt_deadline`. Null with fewer than 5 hits and misses within 30 days, and for a
    /// module that needs a browser: the configured deadline applies.
    #[schema(required, minimum = 1)]
    pub deadline_ms: Option<u64>,
    /// The last check: RFC 3339, UTC, milliseconds; null where there was none.
    #[serde(serialize_with = "millis")]
    pub last_checked_at: Option<Timestamp>,
    /// The last hit; null where there was none.
    #[serde(serialize_with = "millis")]
    pub last_hit_at: Option<Timestamp>,
    /// The last hit or miss; null where there was none.
    #[serde(serialize_with = "millis")]
    pub last_conclusive_at: Option<Timestamp>,
    /// Present while searches do not ask the module's first host, because it gave no answer to the last checks; null
    /// otherwise.
    pub circuit: Option<OpenCircuit>,
    /// Present while searches do not ask the module, because it failed its last control checks; null otherwise.
    pub quarantine: Option<Quarantine>,
}

/// The quarantine of a module that failed its last control checks.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = ModuleQuarantine)]
pub struct Quarantine {
    /// The failure: `control_hit` (a made-up name is a hit) or `known_missed` (a known account is a miss).
    #[schema(pattern = "^(control_hit|known_missed)$")]
    pub reason: &'static str,
    /// Number of control checks in a row that failed.
    #[schema(minimum = 1)]
    pub failures: u32,
    /// Answer to the last control check that passed before; null where none is known.
    pub before: Option<ControlAnswer>,
    /// Answer to the last control check that failed.
    pub after: ControlAnswer,
    /// The time since which the module is not asked: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub open_since: Timestamp,
    /// The time from which one check may repeat the control check: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub next_try_at: Timestamp,
}

impl Quarantine {
    /// Returns the quarantine of a module with this open breaker.
    pub(super) fn of(opening: Opening) -> Option<Self> {
        let OpenCircuit { open_since, next_try_at } = opening.times();
        let Cause::Control(FailedControl { direction, before, after, .. }) = opening.cause else {
            return None;
        };
        let (reason, failures) = (direction.failure().as_str(), opening.failures);
        Some(Self { reason, failures, before, after, open_since, next_try_at })
    }
}

impl ModuleHealth {
    /// Computes the health from a tally at `now`. `deadline` is the learned deadline of the module.
    pub fn of(tally: &Tally, now: Timestamp, deadline: Option<Duration>) -> Self {
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
            latency_ms: tally.latency().map(whole_millis),
            deadline_ms: deadline.map(whole_millis),
            last_checked_at: tally.last_checked,
            last_hit_at: tally.last_hit,
            last_conclusive_at: tally.last_conclusive,
            circuit: None,
            quarantine: None,
        }
    }
}

fn whole_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(outcomes: &[(Outcome, usize)], days_ago: i64) -> ModuleHealth {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let at = now - (days_ago * 24).hours();
        let mut tally = Tally::default();
        for (outcome, count) in outcomes {
            for _ in 0..*count {
                tally = tally.then(&Tally::one(*outcome, Duration::from_millis(100), at));
            }
        }
        ModuleHealth::of(&tally, now, None)
    }

    #[test]
    fn each_verdict_has_its_threshold() {
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
    fn each_verdict_is_serialized_as_its_word() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
        }
    }
}
