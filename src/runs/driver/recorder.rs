//! [`Recorder`]: keeps findings and ended modules of a run until they are stored, and publishes them then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

use crate::model::drive::{Delta, Write};
use crate::model::run::ModuleReport;
use crate::modules::module::Module;
use crate::modules::outcome::{Finding, Outcome, Report};
use crate::modules::reason::Reason;
use crate::runs::context::RunContext;
use crate::runs::earlier::EarlierConclusions;
use crate::runs::ending::Retry;
use crate::runs::health::updates::HealthUpdates;
use crate::runs::leads::lead::{FOUND_BY, FoundBy};
use crate::runs::live::LiveRun;
use crate::runs::pictures::avatar::{AVATAR, Avatar};
use crate::runs::unstored_results::UnstoredResults;

/// The findings and ended modules of a run that are not stored yet. Readers see nothing of them before.
pub(super) struct Recorder<'a> {
    context: &'a RunContext,
    run: &'a LiveRun,
    /// The time at which the latest check ended. Results are dated by it, so that their dates are in the order of
    /// their ids.
    newest: Timestamp,
    found: UnstoredResults,
    reports: Vec<ModuleReport>,
    /// The look-ups that have ended since results were last stored.
    ended_lookups: Vec<EndedLookup>,
    retry: Retry,
    health_updates: HealthUpdates,
    /// Whether a module that queries a site, rather than a local list, had no conclusion for any reason.
    site_failed: bool,
}

/// A module that was asked.
pub(super) struct Asked {
    pub(super) module: Arc<Module>,
    /// The index of the look-up, or `None` for a module of the run's own search.
    pub(super) lookup: Option<usize>,
}

/// The answer of a check.
pub(super) struct Answer {
    pub(super) report: Arc<Report>,
    /// Whether it is the answer to an earlier check or to that of another run.
    pub(super) is_shared: bool,
    pub(super) took: Duration,
    pub(super) at: Timestamp,
}

/// The end of a look-up. It is recorded after its results were stored.
struct EndedLookup {
    place: usize,
    outcome: Outcome,
    reason: Option<Reason>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(context: &'a RunContext, run: &'a LiveRun, earlier: &EarlierConclusions) -> Self {
        Self {
            context,
            run,
            newest: context.clock.now(),
            found: UnstoredResults::of(run),
            reports: Vec::new(),
            ended_lookups: Vec::new(),
            retry: Retry::default(),
            health_updates: HealthUpdates::new(run.id(), earlier.site_concluded),
            site_failed: earlier.site_failed,
        }
    }

    /// Returns whether everything is recorded.
    pub(super) fn is_empty(&self) -> bool {
        !self.has_results() && self.reports.is_empty() && self.ended_lookups.is_empty()
    }

    /// Returns whether there are results that are not stored.
    pub(super) fn has_results(&self) -> bool {
        !self.found.is_empty()
    }

    /// Returns the moment at which [`Self::record`] has something to do, if there is one. What was noted without a
    /// message, such as an answer that an earlier search got, is recorded at once.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        (!self.is_empty()).then(|| self.retry.at().unwrap_or(now))
    }

    /// Returns the time at which the latest check ended.
    pub(super) fn newest(&self) -> Timestamp {
        self.newest
    }

    /// Returns whether the store fails for another reason than being unavailable, or has been unavailable for
    /// `patience`.
    pub(super) fn is_hopeless(&self, patience: Duration) -> bool {
        self.retry.is_hopeless(patience)
    }

    /// Returns why the run fails if its own modules have ended, or `None` if it is worth its price.
    pub(super) fn failure(&self) -> Option<&'static str> {
        if self.run.summary().coverage.conclusive() == 0 {
            return Some("no module came to a conclusion");
        }
        // Results from local lists are shown, but they alone do not justify the price of a search.
        let has_only_lists = self.site_failed && !self.health_updates.has_conclusion();
        has_only_lists.then_some("no site that was asked gave a conclusion")
    }

    /// Notes modules that the catalogue no longer has.
    pub(super) fn note_gone(&mut self, gone: &[String]) {
        let gone = gone.iter().map(|module| ModuleReport::skipped(module, module, Reason::Disabled));
        self.reports.extend(gone);
    }

    /// Takes the answer of a module.
    pub(super) fn take(&mut self, asked: &Asked, answer: Answer) {
        let Answer { report, is_shared, took, at } = answer;
        let module = &asked.module;
        self.newest = self.newest.max(at);
        if !is_shared {
            self.health_updates.take(&self.context.health, module, &report, took, at);
        } else if report.outcome.is_conclusive() {
            self.context.figures.shared_answers.one();
            if !module.reads_only_feeds() && asked.lookup.is_none() {
                self.health_updates.note_conclusion();
            }
        }
        self.note(asked, Arc::unwrap_or_clone(report), took);
    }

    /// Notes the end of a module, with an answer or without one: its findings are numbered and merged.
    pub(super) fn note(&mut self, asked: &Asked, report: Report, took: Duration) {
        let module = &*asked.module;
        self.context.figures.note_check(module, &report, took, self.context.clock.now());
        match asked.lookup {
            Some(at) => self.note_lookup(at, module, report),
            None => self.note_module(module, report, took),
        }
    }

    fn note_module(&mut self, module: &Module, report: Report, took: Duration) {
        let came_to_nothing =
            report.outcome.is_failure() || report.reason.is_some_and(Reason::is_local_fault);
        self.site_failed |= came_to_nothing && !module.reads_only_feeds();
        // Without a request, the circuit is the reason.
        let is_kept = report.evidence.requests == 0 && report.reason.is_some_and(Reason::has_circuit);
        let module_report = ModuleReport {
            module: module.id().to_string(),
            platform: module.platform().to_owned(),
            status: report.outcome,
            reason: report.reason,
            http_status: report.evidence.http_status,
            elapsed_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            circuit: report.evidence.circuit.filter(|_| is_kept),
            rules: report.evidence.rules,
            partial: report.evidence.partial,
        };
        if let Some(cut) = module_report.cut() {
            self.context.figures.note_cut(cut);
        }
        self.reports.push(module_report);
        self.add(module, report.findings);
    }

    /// Notes the end of a look-up. It changes neither the coverage nor the end of the run.
    fn note_lookup(&mut self, at: usize, module: &Module, mut report: Report) {
        let known = self.run.following.lookups();
        let Some(lookup) = known.get(at) else { return };
        let by = FoundBy {
            run_id: self.run.id(),
            result_id: lookup.result_id,
            class: lookup.class,
            lead_id: lookup.lead_id,
        };
        for finding in &mut report.findings {
            // Writing a flat value to memory cannot fail.
            finding.metadata.insert(FOUND_BY.to_owned(), serde_json::to_value(by).unwrap_or(Value::Null));
        }
        self.add(module, report.findings);
        self.ended_lookups.push(EndedLookup { place: at, outcome: report.outcome, reason: report.reason });
    }

    fn add(&mut self, module: &Module, findings: Vec<Finding>) {
        for finding in findings {
            self.found.take(self.run, module.id(), finding, self.newest);
        }
    }

    /// Adds a picture to its result.
    pub(super) fn add_avatar(&mut self, result: u32, avatar: &Avatar) {
        self.found.set_member(self.run, result, AVATAR, avatar.to_value());
    }

    /// Stores the results, and records the ends of look-ups. Returns the stored results, which are to be published, or
    /// `None` as long as the store fails.
    pub(super) fn record(&mut self) -> Option<Delta> {
        if self.has_results() {
            if !self.retry.is_due() {
                return None;
            }
            let batch = self.found.next_try();
            let added = batch.added.len() as u64;
            match self.context.store.add_results(self.run.id(), self.run.lease(), batch) {
                Ok(Write::Done | Write::Stopped(_)) => {
                    self.retry = Retry::default();
                    self.context.figures.results.add(added);
                }
                Ok(Write::LeaseLost) => {
                    self.run.lose();
                    return None;
                }
                Err(error) => {
                    self.retry.again(self.run, &error);
                    return None;
                }
            }
        }
        for EndedLookup { place, outcome, reason } in self.ended_lookups.drain(..) {
            self.run.following.end_lookup(place, outcome, reason);
        }
        Some(self.found.stored())
    }

    /// Publishes results that are stored, and the modules that have ended.
    pub(super) fn publish(&mut self, stored: Delta) {
        self.run.published.add(stored, std::mem::take(&mut self.reports));
    }
}
