//! [`HealthUpdates`]: which checks of a run count.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::HealthTable;
use super::circuits::LONG;
use crate::base::ids::RunId;
use crate::model::tally::Tally;
use crate::modules::control_check::{ControlCheck, ControlVerdict};
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::reason::Reason;

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
        table.note_failures(run, &self.report, self.began);
        table.note_failed_controls(run, &self.module, &evidence.controls);
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
        let has_failed = |control: &ControlCheck| control.verdict == ControlVerdict::Failed;
        let may_be_ours = matches!(report.outcome, Outcome::Timeout | Outcome::Error)
            || report.evidence.controls.iter().any(has_failed);
        let (findings, pauses, evidence) = (Vec::new(), Vec::new(), report.evidence.clone());
        let report = Report { findings, pauses, evidence, ..*report };
        let began = at.saturating_sub(took).unwrap_or(Timestamp::MIN);
        self.held_back.push(EndedCheck { module: Arc::clone(module), report, began, at });
        let kept = match self.has_conclusion {
            true => 0,
            false => self.held_back.len() - usize::from(!may_be_ours),
        };
        self.held_back.drain(kept..).for_each(|check| check.count(self.run, table));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{now, of};
    use super::*;
    use crate::modules::outcome::{Evidence, Pause};

    #[test]
    fn a_network_outage_does_not_count_against_the_sites() {
        let report = |outcome, reason: Option<Reason>, requests| Report {
            outcome,
            reason,
            evidence: Evidence { requests, ..Evidence::default() },
            findings: Vec::new(),
            pauses: Vec::new(),
        };
        let (table, module) = (HealthTable::default(), Module::example("m"));
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
        let (table, module) = (HealthTable::default(), Module::example("m"));
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
        let (table, module) = (HealthTable::default(), Module::example("m"));
        for _ in 0..5 {
            table.note(module.id(), Outcome::Miss, Duration::from_millis(50), now());
        }
        table.take_unsent();
        assert_eq!(of(&table).deadline_ms, Some(2000));
        let mut report = Report::bare(Outcome::Timeout, Reason::LearntDeadline);
        report.evidence.answered_in = Duration::from_secs(2);
        HealthUpdates::new(RunId::new(), false).take(&table, &module, &report, Duration::from_secs(2), now());
        assert!(of(&table).deadline_ms > Some(4000));
        assert_eq!(
            (of(&table).checks, table.take_unsent().len()),
            (5, 1),
            "it is written, and no fault of the site"
        );
    }

    #[test]
    fn a_pause_counts_only_for_the_check_that_caused_it() {
        let (table, module) = (HealthTable::default(), Module::example("m"));
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
