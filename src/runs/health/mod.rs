//! What real runs teach about each module: moving rates of its outcomes and its moving latency.
//!
//! A process keeps a [`Tally`] of the checks that it made itself and has not written down, beside the one
//! that the store had when it last looked. The housekeeper writes down what is new every five seconds and at
//! the shutdown, and reads what all processes have written: counts are added, never replaced (see [`tally`]). A
//! process that dies loses the last five seconds. A write whose answer is lost may be counted twice: these are
//! statistics, not books.
//!
//! What the simulated web taught is kept apart from what the real one did, and shown by processes that ask the
//! simulated web alone.

pub mod tally;
pub mod verdict;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use tally::Tally;
use verdict::ModuleHealth;

/// What a module without history is expected to need.
const UNKNOWN: Duration = Duration::from_millis(800);

/// Module ids with their tallies.
pub type Tallies = Vec<(Arc<str>, Tally)>;

/// The health of all modules. One for a process.
#[derive(Debug, Default)]
pub struct HealthTable {
    by_module: Mutex<HashMap<Arc<str>, Learnt>>,
}

#[derive(Debug, Clone, Default)]
struct Learnt {
    /// What the store had when it was last read.
    stored: Tally,
    /// What is just being written.
    writing: Tally,
    /// What has not been written.
    new: Tally,
}

impl Learnt {
    fn all(&self) -> Tally {
        self.stored.then(&self.writing).then(&self.new)
    }
}

impl HealthTable {
    /// Notes how a check ended, how long it took and when. What was skipped says nothing about the site.
    pub fn note(&self, module: &Arc<str>, outcome: Outcome, took: Duration, at: Timestamp) {
        if outcome == Outcome::Skipped {
            return;
        }
        let mut table = self.by_module.lock();
        let learnt = table.entry(Arc::clone(module)).or_default();
        learnt.new = learnt.new.then(&Tally::one(outcome, took, at));
    }

    /// How long the next check of a module is expected to take.
    pub fn expected(&self, module: &str) -> Duration {
        let table = self.by_module.lock();
        table.get(module).and_then(|learnt| learnt.all().latency()).unwrap_or(UNKNOWN)
    }

    /// The health of one module at `now`.
    pub fn of(&self, module: &str, now: Timestamp) -> ModuleHealth {
        let learnt = self.by_module.lock().get(module).map(Learnt::all).unwrap_or_default();
        ModuleHealth::of(&learnt, now)
    }

    /// The health of each of these modules at `now`.
    pub fn of_all<'m>(&self, modules: &'m [Arc<Module>], now: Timestamp) -> Vec<(&'m Module, ModuleHealth)> {
        let table = self.by_module.lock();
        let health = |module: &Module| {
            let learnt = table.get(module.id()).map(Learnt::all).unwrap_or_default();
            ModuleHealth::of(&learnt, now)
        };
        modules.iter().map(|module| (&**module, health(module))).collect()
    }

    /// What has to be written, by module id. Followed by [`Self::written`] or [`Self::not_written`]; one
    /// write at a time.
    pub fn to_write(&self) -> Tallies {
        let mut table = self.by_module.lock();
        let mut dirty = Vec::new();
        for (module, learnt) in table.iter_mut().filter(|(_, learnt)| learnt.new.checks > 0) {
            learnt.writing = learnt.writing.then(&std::mem::take(&mut learnt.new));
            dirty.push((Arc::clone(module), learnt.writing.clone()));
        }
        // Processes that write at the same time take the rows in the same order.
        dirty.sort_by(|one, other| one.0.cmp(&other.0));
        dirty
    }

    /// The store has what was to be written, and this is what it has in all. A module that it does not name
    /// keeps what is known of it.
    pub fn written(&self, stored: Tallies) {
        let mut table = self.by_module.lock();
        for learnt in table.values_mut() {
            let writing = std::mem::take(&mut learnt.writing);
            learnt.stored = learnt.stored.then(&writing);
        }
        for (module, tally) in stored {
            table.entry(module).or_default().stored = tally;
        }
    }

    /// The store did not take it: it is tried again with what is learnt meanwhile.
    pub fn not_written(&self) {
        for learnt in self.by_module.lock().values_mut() {
            learnt.new = std::mem::take(&mut learnt.writing).then(&learnt.new);
        }
    }
}

/// What one run teaches. A timeout or an error may be our own network's: it counts once any module of the run
/// has come to a conclusion by asking. What a list at hand says teaches nothing: nobody was asked. Nor does a
/// pause that another check brought on: it came between this one's admission and its turn.
#[derive(Debug)]
pub struct Lessons {
    has_conclusion: bool,
    held_back: Vec<(Arc<str>, Outcome, Duration, Timestamp)>,
}

impl Lessons {
    /// Of a run; `has_conclusion`: some site had come to one before.
    pub fn new(has_conclusion: bool) -> Self {
        Self { has_conclusion, held_back: Vec::new() }
    }

    /// Whether some module came to a conclusion by asking somebody, so that our own network was there.
    pub fn has_conclusion(&self) -> bool {
        self.has_conclusion
    }

    /// Takes how a check ended, how long it took and when.
    pub fn take(
        &mut self,
        table: &HealthTable,
        module: &Arc<str>,
        report: &Report,
        took: Duration,
        at: Timestamp,
    ) {
        let is_conclusive = report.outcome.is_conclusive();
        let was_cut_short = report.reason.as_deref() == Some(super::driver::RUN_DEADLINE);
        let is_at_hand = is_conclusive && report.evidence.requests == 0;
        if was_cut_short || is_at_hand || report.was_kept_away() {
            return;
        }
        self.has_conclusion |= is_conclusive;
        let may_be_ours = matches!(report.outcome, Outcome::Timeout | Outcome::Error);
        if may_be_ours && !self.has_conclusion {
            self.held_back.push((Arc::clone(module), report.outcome, took, at));
            return;
        }
        if self.has_conclusion {
            for (module, outcome, took, at) in self.held_back.drain(..) {
                table.note(&module, outcome, took, at);
            }
        }
        table.note(module, report.outcome, took, at);
    }
}

#[cfg(test)]
mod tests {
    use super::verdict::Verdict;
    use super::*;
    use crate::modules::outcome::{Evidence, Pause, RETRY_AFTER};
    use crate::runs::driver::bare_report;

    fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_module_that_begins_to_be_blocked_shows_it() {
        let (table, module): (_, Arc<str>) = (HealthTable::default(), "m".into());
        let of = || table.of("m", now());
        assert_eq!(of().status, Verdict::Unknown);
        table.note(&module, Outcome::Skipped, Duration::ZERO, now());
        assert_eq!(of().checks, 0);
        for _ in 0..10 {
            table.note(&module, Outcome::Miss, Duration::from_millis(100), now());
        }
        assert_eq!((of().status, of().latency_ms), (Verdict::Ok, Some(100)));
        for _ in 0..30 {
            table.note(&module, Outcome::Blocked, Duration::from_millis(300), now());
        }
        assert_eq!(of().status, Verdict::Blocked);
        assert!(of().blocked_rate > 0.7 && of().latency_ms.unwrap() > 290, "{:?}", of());
        assert!(table.expected("m") > table.expected("other") / 4);
    }

    #[test]
    fn nothing_is_lost_or_doubled_between_writes() {
        let (table, module): (_, Arc<str>) = (HealthTable::default(), "m".into());
        let note = || table.note(&module, Outcome::Hit, Duration::from_millis(100), now());
        let checks = || table.of("m", now()).checks;
        note();
        assert_eq!(table.to_write().len(), 1);
        note();
        assert_eq!(checks(), 2, "what is being written is shown");
        table.not_written();
        note();
        let writing = table.to_write();
        assert_eq!((writing[0].1.checks, checks()), (3, 3));
        note();
        // Another process had five.
        let theirs = (0..5).fold(Tally::default(), |sum, _| {
            sum.then(&Tally::one(Outcome::Miss, Duration::from_millis(50), now()))
        });
        table.written(vec![(Arc::clone(&module), theirs.then(&writing[0].1))]);
        assert_eq!(checks(), 5 + 4);
        assert_eq!(table.to_write()[0].1.checks, 1, "only what is new");
        // A store that keeps nothing takes nothing away.
        table.written(Vec::new());
        assert_eq!(checks(), 9);
        assert!(table.to_write().is_empty());
    }

    #[test]
    fn a_network_that_is_down_is_not_held_against_the_sites() {
        let report = |outcome, reason: Option<&str>, requests| Report {
            outcome,
            reason: reason.map(Into::into),
            evidence: Evidence { requests, ..Evidence::default() },
            findings: Vec::new(),
            pauses: Vec::new(),
        };
        let (table, module): (_, Arc<str>) = (HealthTable::default(), "m".into());
        let checks = || table.of("m", now()).checks;
        let mut lessons = Lessons::new(false);
        let mut take_of = |outcome, reason, requests| {
            let report = report(outcome, reason, requests);
            lessons.take(&table, &module, &report, Duration::from_secs(1), now());
            lessons.has_conclusion()
        };
        assert!(!take_of(Outcome::Hit, None, 0), "a list at hand proves no network");
        let mut take = |outcome, reason| take_of(outcome, reason, 1);
        take(Outcome::Error, Some("dns"));
        take(Outcome::Timeout, Some("timeout_connect"));
        take(Outcome::Timeout, Some(crate::runs::driver::RUN_DEADLINE));
        assert_eq!(checks(), 0);
        take(Outcome::Blocked, Some("captcha"));
        assert_eq!(checks(), 1, "a block is the site's own word");
        assert!(take(Outcome::Miss, None));
        assert_eq!(checks(), 4, "the network was there, and so were the others' faults");
        take(Outcome::Error, Some("dns"));
        take(Outcome::Timeout, Some(crate::runs::driver::RUN_DEADLINE));
        assert_eq!(checks(), 5);
        take_of(Outcome::Miss, None, 0);
        assert_eq!(checks(), 5, "nor does it count");
    }

    #[test]
    fn a_pause_counts_for_the_check_that_brought_it_on_alone() {
        let (table, module): (_, Arc<str>) = (HealthTable::default(), "m".into());
        let mut lessons = Lessons::new(true);
        let mut take = |pauses| {
            let report = Report { pauses, ..bare_report(Outcome::RateLimited, RETRY_AFTER) };
            lessons.take(&table, &module, &report, Duration::ZERO, now());
            table.of("m", now()).checks
        };
        assert_eq!(take(Vec::new()), 0);
        assert_eq!(take(vec![Pause { host: "m.example".into(), secs: 60 }]), 1);
    }
}
