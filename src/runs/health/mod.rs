//! The health of each module, as measured by real runs: moving rates of its outcomes and its moving latency.
//!
//! A process keeps a [`Tally`] of its own checks that are not stored yet, and the tally that it last read from the
//! store. The maintenance thread stores new counts every five seconds and at the shutdown, and reads those of all
//! processes. Counts are added, never replaced (see [`Tally`]). A process that crashes loses the last five seconds. A
//! write whose answer is lost may be counted twice, which is acceptable for statistics.
//!
//! The latencies of conclusive answers give each module a deadline of its own (see [`latencies`](crate::model::latencies)).
//!
//! Health that was measured on the simulated web is stored separately from that of the real web, and only processes
//! that query the simulated web show it.
//!
//! Besides, each host has a circuit breaker (see [`circuit`] and [`circuits`]), and each module has one for its control
//! checks (see [`quarantines`]).

pub mod circuit;

pub mod circuit_table;

pub mod circuits;

pub mod quarantines;

pub mod verdict;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::base::ids::RunId;
use crate::model::health::Tallies;
use crate::model::tally::Tally;
use crate::modules::control_check::{ControlCheck, ControlVerdict};
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::reason::Reason;
use circuits::{Circuits, LONG};
use quarantines::Quarantines;
use verdict::{ModuleHealth, Quarantine};

/// The expected latency of a module without earlier checks.
const UNKNOWN: Duration = Duration::from_millis(800);

/// The health of all modules, their circuits and those of their hosts. There is one table for each process.
pub struct HealthTable {
    /// The configured deadline of a check, which no learnt deadline exceeds.
    check_timeout: Duration,
    by_module: Mutex<HashMap<Arc<str>, ModuleTallies>>,
    /// The circuit breakers of the hosts.
    pub circuits: Arc<Circuits>,
    /// The modules in quarantine.
    pub quarantines: Arc<Quarantines>,
}

#[derive(Debug, Clone, Default)]
struct ModuleTallies {
    /// The tally that was last read from the store.
    stored: Tally,
    /// The counts that are being written.
    writing: Tally,
    /// The counts that are not written yet.
    new: Tally,
}

impl ModuleTallies {
    fn all(&self) -> Tally {
        self.stored.then(&self.writing).then(&self.new)
    }
}

impl HealthTable {
    /// Creates a table without any checks. `check_timeout` is the configured deadline of a check.
    pub fn new(check_timeout: Duration, circuits: Arc<Circuits>, quarantines: Arc<Quarantines>) -> Self {
        Self { check_timeout, by_module: Mutex::default(), circuits, quarantines }
    }

    /// Returns the configured deadline of a check, which applies to a module without a learnt deadline.
    pub fn check_timeout(&self) -> Duration {
        self.check_timeout
    }

    /// Records the outcome of a check, the time until its answer, and its end. A skipped check is ignored, because it
    /// shows nothing about the site.
    pub fn note(&self, module: &Arc<str>, outcome: Outcome, took: Duration, at: Timestamp) {
        if outcome.health_outcome().is_none() {
            return;
        }
        self.add(module, &Tally::one(outcome, took, at));
    }

    fn add(&self, module: &Arc<str>, newer: &Tally) {
        let mut table = self.by_module.lock();
        let tallies = table.entry(Arc::clone(module)).or_default();
        tallies.new = tallies.new.then(newer);
    }

    /// Returns the expected duration of the next check of a module.
    pub fn expected(&self, module: &str) -> Duration {
        let table = self.by_module.lock();
        table.get(module).and_then(|tallies| tallies.all().latency()).unwrap_or(UNKNOWN)
    }

    /// Returns the deadline of a check of a module that was learnt from its answers. A module that needs a browser has
    /// none, because its latency depends on this machine.
    pub fn deadline(&self, module: &Module, now: Timestamp) -> Option<Duration> {
        let tally = self.by_module.lock().get(module.id()).map(ModuleTallies::all)?;
        self.deadline_of(module, &tally, now)
    }

    fn deadline_of(&self, module: &Module, tally: &Tally, now: Timestamp) -> Option<Duration> {
        if module.is_premium() { None } else { tally.latencies.deadline(now, self.check_timeout) }
    }

    /// Returns the health of each of these modules at `now`.
    pub fn of_all<'m>(&self, modules: &'m [Arc<Module>], now: Timestamp) -> Vec<(&'m Module, ModuleHealth)> {
        let table = self.by_module.lock();
        let health = |module: &Module| {
            let tally = table.get(module.id()).map(ModuleTallies::all).unwrap_or_default();
            let circuit = self.circuits.of(module.first_hosts());
            let quarantine = self.quarantines.of(module.id()).map(Quarantine::from);
            ModuleHealth {
                circuit,
                quarantine,
                ..ModuleHealth::of(&tally, now, self.deadline_of(module, &tally, now))
            }
        };
        modules.iter().map(|module| (&**module, health(module))).collect()
    }

    /// Returns the new counts by module id. Call [`Self::written`] or [`Self::not_written`] afterwards; only one write
    /// may be in progress.
    pub fn to_write(&self) -> Tallies {
        let mut table = self.by_module.lock();
        let mut dirty = Vec::new();
        for (module, tallies) in table.iter_mut().filter(|(_, tallies)| tallies.new != Tally::default()) {
            tallies.writing = tallies.writing.then(&std::mem::take(&mut tallies.new));
            dirty.push((Arc::clone(module), tallies.writing.clone()));
        }
        // The rows are sorted, so that concurrent processes lock them in the same order.
        dirty.sort_by(|one, other| one.0.cmp(&other.0));
        dirty
    }

    /// Records that the write succeeded, with the totals of the store. A module without a total keeps its current
    /// one.
    pub fn written(&self, stored: Tallies) {
        let mut table = self.by_module.lock();
        for tallies in table.values_mut() {
            let writing = std::mem::take(&mut tallies.writing);
            tallies.stored = tallies.stored.then(&writing);
        }
        for (module, tally) in stored {
            table.entry(module).or_default().stored = tally;
        }
    }

    /// Records that the write failed. The counts become part of the next write.
    pub fn not_written(&self) {
        for tallies in self.by_module.lock().values_mut() {
            tallies.new = std::mem::take(&mut tallies.writing).then(&tallies.new);
        }
    }
}

/// The outcomes of one run that count for the health of modules and for circuits. A timeout or an error may be a fault
/// of the local network, and so may a failed control check: a hotspot may answer for all sites. Such an outcome counts
/// only after some module of the run has had a conclusion from a site. Answers from local lists
/// do not count, nor do pauses that another check caused after this one was admitted.
#[derive(Debug)]
pub struct HealthUpdates {
    run: RunId,
    has_conclusion: bool,
    held_back: Vec<EndedCheck>,
}

/// A check that ended.
#[derive(Debug)]
struct EndedCheck {
    module: Arc<Module>,
    /// Its report without findings.
    report: Report,
    began: Timestamp,
    at: Timestamp,
}

impl EndedCheck {
    fn count(&self, run: RunId, table: &HealthTable) {
        let Report { outcome, reason, evidence, .. } = &self.report;
        table.note(self.module.id(), *outcome, evidence.answered_in, self.at);
        if outcome.is_failure() && *reason != Some(Reason::LearntDeadline) && evidence.answered_in >= LONG {
            table.add(self.module.id(), &Tally::no_answer(evidence.answered_in));
        }
        table.circuits.note_failures(run, &self.report, self.began);
        table.quarantines.note_failures(run, &self.module, &evidence.controls);
    }
}

impl HealthUpdates {
    /// Creates the outcomes of `run`. `has_conclusion` tells whether some site had a conclusion before.
    pub fn new(run: RunId, has_conclusion: bool) -> Self {
        Self { run, has_conclusion, held_back: Vec::new() }
    }

    /// Returns whether some site had a conclusion, which proves that the local network works.
    pub fn has_conclusion(&self) -> bool {
        self.has_conclusion
    }

    /// Records that a site had a conclusion, without a check of this run.
    pub fn note_conclusion(&mut self) {
        self.has_conclusion = true;
    }

    /// Adds the outcome of a check, its duration with control check and waits, and its end.
    pub fn take(
        &mut self,
        table: &HealthTable,
        module: &Arc<Module>,
        report: &Report,
        took: Duration,
        at: Timestamp,
    ) {
        let is_conclusive = report.outcome.is_conclusive();
        let was_cut_short = report.reason.is_some_and(Reason::is_end_of_run);
        let is_at_hand = is_conclusive && report.evidence.requests == 0;
        if was_cut_short || is_at_hand || report.was_refused() {
            return;
        }
        self.has_conclusion |= is_conclusive;
        if report.reason == Some(Reason::LearntDeadline) {
            // The next deadline is longer even if no site had a conclusion. Otherwise a search that asks only sites that
            // became slower would never find them again.
            table.add(module.id(), &Tally::no_answer(report.evidence.answered_in));
        }
        let check = EndedCheck {
            module: Arc::clone(module),
            report: Report {
                findings: Vec::new(),
                evidence: report.evidence.clone(),
                pauses: Vec::new(),
                ..*report
            },
            began: at.saturating_sub(took).unwrap_or(Timestamp::MIN),
            at,
        };
        let has_failed = |control: &ControlCheck| control.verdict == ControlVerdict::Failed;
        let may_be_ours = matches!(report.outcome, Outcome::Timeout | Outcome::Error)
            || report.evidence.controls.iter().any(has_failed);
        if may_be_ours && !self.has_conclusion {
            self.held_back.push(check);
            return;
        }
        if self.has_conclusion {
            self.held_back.drain(..).for_each(|check| check.count(self.run, table));
        }
        check.count(self.run, table);
    }
}

#[cfg(test)]
mod tests {
    use super::verdict::Verdict;
    use super::*;
    use crate::modules::outcome::{Evidence, Pause};
    const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

    fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    fn new_table() -> HealthTable {
        HealthTable::new(CHECK_TIMEOUT, Arc::default(), Arc::default())
    }

    /// Returns the health of the module `m`.
    fn of(table: &HealthTable) -> ModuleHealth {
        let tally = table.by_module.lock().get("m").map(ModuleTallies::all).unwrap_or_default();
        ModuleHealth::of(&tally, now(), tally.latencies.deadline(now(), CHECK_TIMEOUT))
    }

    #[test]
    fn a_module_that_begins_to_be_blocked_becomes_blocked() {
        let (table, module): (_, Arc<str>) = (new_table(), "m".into());
        let of = || of(&table);
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
        let (table, module): (_, Arc<str>) = (new_table(), "m".into());
        let note = || table.note(&module, Outcome::Hit, Duration::from_millis(100), now());
        let checks = || of(&table).checks;
        note();
        assert_eq!(table.to_write().len(), 1);
        note();
        assert_eq!(checks(), 2, "what is being written is shown");
        table.not_written();
        note();
        let writing = table.to_write();
        assert_eq!((writing[0].1.checks, checks()), (3, 3));
        note();
        // Another process has recorded five checks.
        let theirs = (0..5).fold(Tally::default(), |sum, _| {
            sum.then(&Tally::one(Outcome::Miss, Duration::from_millis(50), now()))
        });
        table.written(vec![(Arc::clone(&module), theirs.then(&writing[0].1))]);
        assert_eq!(checks(), 5 + 4);
        assert_eq!(table.to_write()[0].1.checks, 1, "only what is new");
        // A store that stores nothing leaves the counts unchanged.
        table.written(Vec::new());
        assert_eq!(checks(), 9);
        assert!(table.to_write().is_empty());
    }

    #[test]
    fn a_network_outage_does_not_count_against_the_sites() {
        let report = |outcome, reason: Option<Reason>, requests| Report {
            outcome,
            reason,
            evidence: Evidence { requests, ..Evidence::default() },
            findings: Vec::new(),
            pauses: Vec::new(),
        };
        let (table, module) = (new_table(), Module::example("m"));
        let checks = || of(&table).checks;
        let mut health_updates = HealthUpdates::new(RunId::new(), false);
        let mut take_of = |outcome, reason, requests| {
            let report = report(outcome, reason, requests);
            health_updates.take(&table, &module, &report, Duration::from_secs(1), now());
            health_updates.has_conclusion()
        };
        assert!(!take_of(Outcome::Hit, None, 0), "a list at hand proves no network");
        let mut take = |outcome, reason| take_of(outcome, reason, 1);
        take(Outcome::Error, Some(Reason::Dns));
        take(Outcome::Timeout, Some(Reason::TimeoutConnect));
        take(Outcome::Timeout, Some(Reason::RunDeadline));
        assert_eq!(checks(), 0);
        take(Outcome::Blocked, Some(Reason::Captcha));
        assert_eq!(checks(), 1, "a block is the site's own word");
        assert!(take(Outcome::Miss, None));
        assert_eq!(checks(), 4, "the network was there, and so were the others' faults");
        take(Outcome::Error, Some(Reason::Dns));
        take(Outcome::Timeout, Some(Reason::RunDeadline));
        assert_eq!(checks(), 5);
        take_of(Outcome::Miss, None, 0);
        assert_eq!(checks(), 5, "nor does it count");
    }

    #[test]
    fn a_deadline_is_learnt_from_conclusive_answers() {
        let (table, module) = (new_table(), Module::example("m"));
        let deadline = || of(&table).deadline_ms;
        let mut health_updates = HealthUpdates::new(RunId::new(), false);
        let mut take = |outcome, reason, secs| {
            let mut report = Report::bare(outcome, reason);
            (report.evidence.requests, report.evidence.answered_in) = (1, Duration::from_secs(secs));
            // A control check and a wait for the check of another run took the rest.
            health_updates.take(&table, &module, &report, Duration::from_secs(secs + 20), now());
        };
        for _ in 0..4 {
            take(Outcome::Miss, Reason::Weak, 1);
        }
        for outcome in [Outcome::Blocked, Outcome::RateLimited, Outcome::Error, Outcome::Unreliable] {
            take(outcome, Reason::Unrecognized, 0);
        }
        assert_eq!(deadline(), None);
        take(Outcome::Hit, Reason::Weak, 1);
        let learnt = deadline().unwrap();
        assert!((2500..3000).contains(&learnt), "{learnt}");
        take(Outcome::Timeout, Reason::TimeBudget, 9);
        assert_eq!(deadline(), Some(learnt), "the site might have answered");
        take(Outcome::Timeout, Reason::LearntDeadline, 3);
        assert!((6500..7500).contains(&deadline().unwrap()), "{:?}", deadline());
        take(Outcome::Timeout, Reason::LearntDeadline, 7);
        assert_eq!(deadline(), Some(learnt), "a longer time was of no use");
    }

    #[test]
    fn a_cut_check_lengthens_the_next_deadline_even_without_a_conclusion() {
        let (table, module) = (new_table(), Module::example("m"));
        for _ in 0..5 {
            table.note(module.id(), Outcome::Miss, Duration::from_millis(50), now());
        }
        table.written(table.to_write());
        assert_eq!(of(&table).deadline_ms, Some(2000));
        let mut report = Report::bare(Outcome::Timeout, Reason::LearntDeadline);
        report.evidence.answered_in = Duration::from_secs(2);
        HealthUpdates::new(RunId::new(), false).take(&table, &module, &report, Duration::from_secs(2), now());
        assert!(of(&table).deadline_ms > Some(4000));
        assert_eq!(
            (of(&table).checks, table.to_write().len()),
            (5, 1),
            "it is written, and no fault of the site"
        );
    }

    #[test]
    fn a_pause_counts_only_for_the_check_that_caused_it() {
        let (table, module) = (new_table(), Module::example("m"));
        let mut health_updates = HealthUpdates::new(RunId::new(), true);
        let mut take = |pauses| {
            let report = Report { pauses, ..Report::bare(Outcome::RateLimited, Reason::RetryAfter) };
            health_updates.take(&table, &module, &report, Duration::ZERO, now());
            of(&table).checks
        };
        assert_eq!(take(Vec::new()), 0);
        assert_eq!(take(vec![Pause { host: "m.example".into(), secs: 60 }]), 1);
    }
}
