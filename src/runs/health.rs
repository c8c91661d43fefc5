//! What real runs teach about each module: moving rates of its outcomes and its moving latency.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;

use crate::modules::outcome::Outcome;

/// What a module without history is expected to need.
const UNKNOWN: Duration = Duration::from_millis(800);
/// Weight of the newest latency: about the last five checks count.
const NEWEST_LATENCY: f64 = 0.2;
/// Weight of the newest outcome: about the last twenty checks count.
const NEWEST_OUTCOME: f64 = 0.05;

/// The health of all modules. One for a process; learnt anew at each start.
#[derive(Debug, Default)]
pub struct HealthTable {
    by_module: Mutex<HashMap<Arc<str>, Learnt>>,
}

#[derive(Debug, Clone)]
struct Learnt {
    checks: u64,
    rates: [f64; Outcome::ALL.len()],
    latency_secs: f64,
}

/// In one word how a module does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Not asked yet.
    Unknown,
    /// Comes to a conclusion in at least half of its checks.
    Ok,
    /// Blocked or limited in at least half.
    Blocked,
    /// Anything else.
    Failing,
}

/// The health of one module, as `GET /v1/modules` shows it. Rates are 0.0 to 1.0, moving.
#[derive(Debug, Clone, Serialize)]
#[expect(missing_docs, reason = "rates are named after their outcomes")]
pub struct ModuleHealth {
    pub status: Verdict,
    /// Checks since the service started.
    pub checks: u64,
    pub hit_rate: f64,
    pub miss_rate: f64,
    pub blocked_rate: f64,
    pub error_rate: f64,
    /// Moving mean; null where there was no check.
    pub latency_ms: Option<u64>,
}

impl HealthTable {
    /// Notes how a check ended and how long it took. What was skipped says nothing about the site.
    pub fn note(&self, module: &Arc<str>, outcome: Outcome, took: Duration) {
        if outcome == Outcome::Skipped {
            return;
        }
        let mut table = self.by_module.lock();
        let learnt = table.entry(Arc::clone(module)).or_insert_with(|| Learnt {
            checks: 0,
            rates: Outcome::ALL.map(|known| f64::from(u8::from(known == outcome))),
            latency_secs: took.as_secs_f64(),
        });
        learnt.checks += 1;
        learnt.latency_secs += (took.as_secs_f64() - learnt.latency_secs) * NEWEST_LATENCY;
        for (rate, known) in learnt.rates.iter_mut().zip(Outcome::ALL) {
            let now = f64::from(u8::from(known == outcome));
            *rate += (now - *rate) * NEWEST_OUTCOME;
        }
    }

    /// How long the next check of a module is expected to take.
    pub fn expected(&self, module: &str) -> Duration {
        self.by_module
            .lock()
            .get(module)
            .map_or(UNKNOWN, |learnt| Duration::from_secs_f64(learnt.latency_secs))
    }

    /// The health of one module.
    pub fn of(&self, module: &str) -> ModuleHealth {
        let table = self.by_module.lock();
        let Some(learnt) = table.get(module) else {
            return ModuleHealth {
                status: Verdict::Unknown,
                checks: 0,
                hit_rate: 0.0,
                miss_rate: 0.0,
                blocked_rate: 0.0,
                error_rate: 0.0,
                latency_ms: None,
            };
        };
        learnt.show()
    }
}

impl Learnt {
    fn rate(&self, wanted: &[Outcome]) -> f64 {
        let sum: f64 = self
            .rates
            .iter()
            .zip(Outcome::ALL)
            .filter(|(_, known)| wanted.contains(known))
            .map(|(rate, _)| rate)
            .sum();
        (sum * 1000.0).round() / 1000.0
    }

    fn show(&self) -> ModuleHealth {
        let hit_rate = self.rate(&[Outcome::Hit]);
        let miss_rate = self.rate(&[Outcome::Miss]);
        let blocked_rate = self.rate(&[Outcome::Blocked, Outcome::RateLimited]);
        let status = if hit_rate + miss_rate >= 0.5 {
            Verdict::Ok
        } else if blocked_rate >= 0.5 {
            Verdict::Blocked
        } else {
            Verdict::Failing
        };
        ModuleHealth {
            status,
            checks: self.checks,
            hit_rate,
            miss_rate,
            blocked_rate,
            error_rate: self.rate(&[Outcome::Timeout, Outcome::Error, Outcome::Unreliable]),
            latency_ms: Some((self.latency_secs * 1000.0).round() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_begins_to_be_blocked_shows_it() {
        let (table, module): (_, Arc<str>) = (HealthTable::default(), "m".into());
        assert_eq!(table.of("m").status, Verdict::Unknown);
        table.note(&module, Outcome::Skipped, Duration::ZERO);
        assert_eq!(table.of("m").checks, 0);
        for _ in 0..10 {
            table.note(&module, Outcome::Miss, Duration::from_millis(100));
        }
        assert_eq!((table.of("m").status, table.of("m").latency_ms), (Verdict::Ok, Some(100)));
        for _ in 0..30 {
            table.note(&module, Outcome::Blocked, Duration::from_millis(300));
        }
        let health = table.of("m");
        assert_eq!(health.status, Verdict::Blocked);
        assert!(health.blocked_rate > 0.7 && health.latency_ms.unwrap() > 290, "{health:?}");
        assert!(table.expected("m") > table.expected("other") / 4);
    }
}
