//! Which checks of a run count, and against what: the circuit breakers of hosts, and the quarantines of modules.
//!
//! A process keeps the circuits of hosts that failed, and shares changes with other processes and restarts through the
//! store. The newer change of a host is valid: an opening is taken over, and an answer that any process sees closes the
//! circuit for all. Failures of a closed circuit are counted by each process alone. Only hosts that the catalogue names have
//! circuits. Hosts that a query names have none, because they would tell what was searched.
//!
//! A module is in quarantine if it failed its last control checks: two in a row, of two runs. A trial repeats the control
//! check that failed, before it asks for anything else, and ends the quarantine if the control check passes. A module whose
//! entry differs from the one that failed is tried at once, because the new entry may be a repair. Control checks that
//! depend on the queried domain do not count: they say nothing about other domains.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use log::{info, warn};

use super::HealthTable;
use crate::base::encoding::{hex, sha256};
use crate::base::ids::RunId;
use crate::model::health::{Cause, FailedControl, Opening};
use crate::model::tally::Tally;
use crate::modules::module::Module;
use crate::modules::outcome::{ControlCheck, ControlVerdict, Evidence, Outcome, Report};
use crate::modules::probe::{Answered, Contact};
use crate::modules::reason::Reason;
use crate::modules::terms::{Denial, FAIR_TRY, ModuleTrial};

/// The time from which on a check without a conclusion costs a search too much, whatever the host has answered.
pub const LONG: Duration = Duration::from_secs(1);
/// The longest time between an answer of some host and the begin of a check whose failure counts. Without such an
/// answer, the local network may be the cause.
const NETWORK_SEEN: Duration = Duration::from_secs(1);

impl HealthTable {
    /// Notes the hosts that a check of a module has contacted, and its control checks: an answer shows that the local network
    /// works, and passed control checks end the quarantine of the module.
    pub fn note_evidence(&self, module: &Module, evidence: &Evidence) {
        if evidence.contacts.iter().any(|contact| contact.answer == Answered::Yes) {
            let mut heard = self.heard.lock();
            *heard = heard.max(self.clock.now());
        }
        self.note_passed(module.id(), &evidence.controls);
    }

    /// Counts the hosts of a check that led to a conclusion, or at least answered soon.
    fn note_successes(&self, report: &Report) {
        let (mut hosts, now) = (self.circuits.by_name.lock(), self.clock.now());
        for Contact { host, answer, .. } in &report.evidence.contacts {
            if *answer == Answered::Yes && failure(report, host).is_none() {
                hosts.entry(host.as_str().into()).or_default().note_success(now);
            }
        }
    }

    /// Counts the hosts that failed a check of `run`, which began at `began`: all, or those that have failed before. They are
    /// removed from the report, so that they count once. A host that has concluded another check since then works: it only has
    /// no answer for this query.
    fn note_failures(&self, run: RunId, report: &mut Report, began: Timestamp, only_known: bool) {
        let contacts = &report.evidence.contacts;
        let (mut hosts, now) = (self.circuits.by_name.lock(), self.clock.now());
        let seen = began.saturating_sub(NETWORK_SEEN).unwrap_or(Timestamp::MIN);
        let is_network_seen = *self.heard.lock() >= seen;
        let mut counted = Vec::new();
        // The end of the run's time says nothing about a host that had answered before.
        let was_cut_short = report.reason.is_some_and(Reason::is_end_of_run);
        for (index, Contact { host, answer, .. }) in contacts.iter().enumerate() {
            let is_last = !contacts[index + 1..].iter().any(|later| later.host == *host);
            let may_count = is_last && !(was_cut_short && *answer == Answered::Yes);
            let Some(outcome) = failure(report, host).filter(|_| may_count) else { continue };
            let circuit = hosts.entry(host.as_str().into()).or_default();
            // A host that has failed while others answered is a likelier cause than the network, even if searches wait
            // only for it and hear of no other.
            let has_cause = is_network_seen || circuit.is_failing();
            let is_wanted = !only_known || circuit.is_failing() || circuit.opening().is_some();
            if is_wanted && has_cause && circuit.succeeded <= began {
                circuit.note_failure(run, Cause::Check(outcome), now, self.circuits.rules);
                counted.push(host.clone());
            }
        }
        report.evidence.contacts.retain(|contact| !counted.contains(&contact.host));
    }

    /// Returns the reason for which a module must not be asked now, if it is in quarantine and no trial is due.
    pub fn module_denial(&self, module: &Module) -> Option<Denial> {
        self.quarantines.ask(module.id(), |opening| is_changed(module, opening), false).err()
    }

    /// Requests access to a module. A trial begins at once.
    ///
    /// # Errors
    /// Returns the reason for which the module must not be asked now.
    pub fn module_access(&self, module: &Module) -> Result<Option<ModuleTrial>, Denial> {
        let trial = self.quarantines.ask(module.id(), |opening| is_changed(module, opening), true)?;
        let trial_of = |opening: Opening| {
            let direction = opening.cause.control()?.direction;
            Some(ModuleTrial { direction, times: opening.times() })
        };
        Ok(trial.and_then(trial_of))
    }

    /// Counts the control checks that passed. Failed ones are counted with [`Self::note_failed_controls`].
    ///
    /// A passed control check of the other direction does not end a quarantine.
    pub fn note_passed(&self, module: &Arc<str>, controls: &[ControlCheck]) {
        let (mut modules, now) = (self.quarantines.by_name.lock(), self.clock.now());
        for ControlCheck { direction, answer, .. } in of_verdict(controls, ControlVerdict::Passed) {
            self.passed.lock().insert((Arc::clone(module), *direction), answer.clone());
            let Some(breaker) = modules.get_mut(module) else { continue };
            if matches!(breaker.cause(), Some(Cause::Control(cause)) if cause.direction == *direction) {
                if breaker.opening().is_some() {
                    info!("module {module} has passed its control check again and is asked by searches");
                }
                breaker.note_success(now);
            }
        }
    }

    /// Counts the control checks of a check of `run` that failed.
    pub fn note_failed_controls(&self, run: RunId, module: &Module, controls: &[ControlCheck]) {
        let (mut modules, now) = (self.quarantines.by_name.lock(), self.clock.now());
        for ControlCheck { direction, answer, .. } in of_verdict(controls, ControlVerdict::Failed) {
            let before = self.passed.lock().get(&(Arc::clone(module.id()), *direction)).cloned();
            let breaker = modules.entry(Arc::clone(module.id())).or_default();
            let known = breaker.cause().and_then(Cause::control).and_then(|earlier| earlier.before.clone());
            let (after, before) = (answer.clone(), before.or(known));
            let control = FailedControl { direction: *direction, after, before, entry: digest(module) };
            let was_open = breaker.opening().is_some();
            breaker.note_failure(run, Cause::Control(control), now, self.quarantines.rules);
            if let Some(opening) = breaker.opening().filter(|_| !was_open) {
                warn!("module {} is in quarantine: {}", module.id(), opening.cause.text());
            }
        }
    }
}

/// Returns how a host failed a check, or `None` if it did not. It fails if its answers led to no conclusion and took long,
/// even if another host had one, or if the last answer did not come: that to a control check, maybe.
fn failure(report: &Report, host: &str) -> Option<Outcome> {
    let own = || report.evidence.contacts.iter().filter(|contact| contact.host == host);
    let (last, has_answered) = (own().next_back()?, own().any(|contact| contact.answer == Answered::Yes));
    let is_in_vain = own().all(|contact| contact.is_in_vain);
    let is_long = is_in_vain && own().map(|contact| contact.took).sum::<Duration>() >= LONG;
    match last.answer {
        _ if is_long && has_answered => Some(Outcome::Timeout),
        Answered::TooLate if !has_answered || last.took >= FAIR_TRY => Some(Outcome::Timeout),
        Answered::NoConnection if !has_answered => Some(Outcome::Error),
        _ => None,
    }
}

fn of_verdict(controls: &[ControlCheck], verdict: ControlVerdict) -> impl Iterator<Item = &ControlCheck> {
    controls.iter().filter(move |control| control.verdict == verdict)
}

/// Returns whether the module's entry is another one than that which failed.
fn is_changed(module: &Module, opening: &Opening) -> bool {
    opening.cause.control().is_some_and(|control| control.entry != digest(module))
}

/// Returns a digest of the module's entry.
fn digest(module: &Module) -> String {
    let entry = serde_json::to_vec(module.entry()).unwrap_or_default();
    hex(&sha256(entry)[..8])
}

/// The outcomes of one run that count for the health of modules and for circuits. A timeout or an error may be a fault
/// of the local network, and so may a failed control check: a hotspot may answer for all sites. Such an outcome counts
/// only after some module of the run has had a conclusion from a site, except that of a host that has failed before: a check
/// that waits for such a host must not begin before. Answers from local lists do not count, nor do pauses that another check
/// caused after this one was admitted.
#[derive(Debug)]
pub struct HealthUpdates {
    run: RunId,
    /// Whether some site had a conclusion, which proves that the local network works.
    pub has_conclusion: bool,
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
    fn count(mut self, run: RunId, table: &HealthTable) {
        let Report { outcome, reason, evidence, .. } = &self.report;
        // The end of the run's time may count against hosts, but the module might have concluded later.
        if !reason.is_some_and(Reason::is_end_of_run) {
            table.note(self.module.id(), *outcome, evidence.answered_in, self.at);
            if outcome.is_failure() && *reason != Some(Reason::LearntDeadline) && evidence.answered_in >= LONG
            {
                table.add(self.module.id(), &Tally::no_answer(evidence.answered_in));
            }
        }
        table.note_failed_controls(run, &self.module, &evidence.controls);
        table.note_failures(run, &mut self.report, self.began, false);
    }
}

impl HealthUpdates {
    /// Creates the outcomes of `run`.
    pub fn new(run: RunId) -> Self {
        Self { run, has_conclusion: false, held_back: Vec::new() }
    }

    /// Adds the outcome of a check, its duration with control check and waits, and its end.
    // Not inlined, so that its variables do not lie on the stacks of the threads that wait for answers.
    #[inline(never)]
    pub fn take(
        &mut self,
        table: &HealthTable,
        module: &Arc<Module>,
        report: &Report,
        took: Duration,
        at: Timestamp,
    ) {
        table.note_evidence(module, &report.evidence);
        table.note_successes(report);
        let is_conclusive = report.outcome.is_conclusive();
        let is_at_hand = is_conclusive && report.evidence.requests == 0;
        if is_at_hand || report.was_refused() {
            return;
        }
        self.has_conclusion |= is_conclusive;
        if report.reason == Some(Reason::LearntDeadline) {
            // The next deadline is longer even if no site had a conclusion. Otherwise a search that asks only sites that
            // became slower would never find them again.
            table.add(module.id(), &Tally::no_answer(report.evidence.answered_in));
        }
        let has_failed = |control: &ControlCheck| control.verdict == ControlVerdict::Failed;
        let may_be_ours = matches!(report.outcome, Outcome::Timeout | Outcome::Error)
            || report.evidence.controls.iter().any(has_failed);
        let (findings, pauses, evidence) = (Vec::new(), Vec::new(), report.evidence.clone());
        let mut report = Report { findings, pauses, evidence, kept: None, ..*report };
        let began = at.saturating_sub(took).unwrap_or(Timestamp::MIN);
        table.note_failures(self.run, &mut report, began, true);
        self.held_back.push(EndedCheck { module: Arc::clone(module), report, began, at });
        let kept = if self.has_conclusion { 0 } else { self.held_back.len() - usize::from(!may_be_ours) };
        self.held_back.drain(kept..).for_each(|check| check.count(self.run, table));
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod update_tests {
    use super::super::tests::{now, of};
    use super::*;

    #[test]
    fn a_network_outage_does_not_count_against_the_sites() {
        let report = |outcome, reason: Option<Reason>, requests| Report {
            outcome,
            reason,
            evidence: Evidence { requests, ..Evidence::default() },
            findings: Vec::new(),
            pauses: Vec::new(),
            kept: None,
        };
        let (table, module) = (HealthTable::default(), Module::example("m"));
        let checks = || of(&table).checks;
        let mut health_updates = HealthUpdates::new(RunId::new());
        let mut take_of = |outcome, reason, requests| {
            let report = report(outcome, reason, requests);
            health_updates.take(&table, &module, &report, Duration::from_secs(1), now());
            health_updates.has_conclusion
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
    fn a_deadline_is_learned_from_conclusive_answers() {
        let (table, module) = (HealthTable::default(), Module::example("m"));
        let deadline = || of(&table).deadline_ms;
        let mut health_updates = HealthUpdates::new(RunId::new());
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
        let learned = deadline().unwrap();
        assert!((2500..3000).contains(&learned), "{learned}");
        take(Outcome::Timeout, Reason::TimeBudget, 9);
        assert_eq!(deadline(), Some(learned), "the site might have answered");
        take(Outcome::Timeout, Reason::LearntDeadline, 3);
        assert!((6500..7500).contains(&deadline().unwrap()), "{:?}", deadline());
        take(Outcome::Timeout, Reason::LearntDeadline, 7);
        assert_eq!(deadline(), Some(learned), "a longer time was of no use");
    }

    #[test]
    fn a_cut_check_lengthens_the_next_deadline_even_without_a_conclusion() {
        let (table, module) = (HealthTable::default(), Module::example("m"));
        for _ in 0..5 {
            table.note(module.id(), Outcome::Miss, Duration::from_millis(50), now());
        }
        table.tallies.lock().unsent.clear();
        assert_eq!(of(&table).deadline_ms, Some(2000));
        let mut report = Report::bare(Outcome::Timeout, Reason::LearntDeadline);
        report.evidence.answered_in = Duration::from_secs(2);
        HealthUpdates::new(RunId::new()).take(&table, &module, &report, Duration::from_secs(2), now());
        assert!(of(&table).deadline_ms > Some(4000));
        assert_eq!(
            (of(&table).checks, table.tallies.lock().unsent.len()),
            (5, 1),
            "it is written, and no fault of the site"
        );
    }

    #[test]
    fn a_host_counts_by_what_a_check_lost_to_it() {
        use Answered::{TooLate, Yes};
        let (hit, cut) = ((Outcome::Hit, None), (Outcome::Timeout, Some(Reason::TimeBudget)));
        for (why, (outcome, reason), contacts, opens) in [
            ("it stalls in the control check", hit, [("a", Yes, 0, false), ("a", TooLate, 3, true)], true),
            ("its control check had no time", hit, [("a", Yes, 0, false), ("a", TooLate, 1, true)], false),
            ("its control check is only unclear", hit, [("a", Yes, 0, false), ("a", Yes, 2, true)], false),
            ("another host concluded", hit, [("a", Yes, 2, true), ("b", Yes, 0, false)], true),
            ("it was useless, but soon", hit, [("a", Yes, 0, true), ("b", Yes, 0, false)], false),
            ("its other source concluded", hit, [("a", Yes, 2, true), ("a", Yes, 0, false)], false),
            ("it had a fair time", cut, [("b", Yes, 0, true), ("a", TooLate, 6, true)], true),
            ("it had answered", cut, [("b", Yes, 0, true), ("a", Yes, 2, true)], false),
        ] {
            let (table, module) = (HealthTable::default(), Module::example("m"));
            let contacts = contacts.map(|(host, answer, secs, is_in_vain)| {
                let (host, took) = (host.to_owned(), Duration::from_secs(secs));
                Contact { host, answer, took, is_in_vain }
            });
            let evidence = Evidence { requests: 2, contacts: contacts.to_vec(), ..Evidence::default() };
            let report = Report { reason, evidence, ..Report::bare(outcome, Reason::Weak) };
            for _ in 0..3 {
                assert!(table.circuits.of("a").is_none(), "{why}");
                let mut updates = HealthUpdates { has_conclusion: true, ..HealthUpdates::new(RunId::new()) };
                updates.take(&table, &module, &report, Duration::from_secs(7), Timestamp::now());
            }
            assert_eq!((table.circuits.of("a").is_some(), table.circuits.of("b")), (opens, None), "{why}");
        }
    }
}
