//! [`Recorder`]: collects findings and ended modules of a run, and saves them.

use std::collections::HashMap;
use std::mem::take;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

use crate::model::drive::{Delta, Write};
use crate::model::entity::{EntityKey, merge};
use crate::model::follow::Lookup;
use crate::model::run::{ModuleReport, ResultRecord};
use crate::modules::module::Module;
use crate::modules::outcome::{Finding, Outcome, Report};
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use crate::runs::ending::Retry;
use crate::runs::health::counting::HealthUpdates;
use crate::runs::leads::lead::{FOUND_BY, FoundBy};
use crate::runs::live::LiveRun;
use crate::runs::pictures::avatar::{AVATAR, Avatar};
use crate::runs::service::Runs;

/// The longest time until what was collected is saved. The lease is renewed as often. New results are saved at once.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// The findings and ended modules of a run that are not stored yet. Readers see nothing of them before.
pub(super) struct Recorder<'a> {
    runs: &'a Runs,
    run: &'a LiveRun,
    /// The time at which the latest check ended. Results are dated by it, so that their dates are in the order of
    /// their ids.
    pub(super) newest: Timestamp,
    /// The entities of the run.
    known: HashMap<EntityKey, u32>,
    next_id: u32,
    unsaved: Delta,
    /// Whether look-ups have ended, or were planned, since the last save.
    has_lookups: bool,
    save_at: Instant,
    pub(super) retry: Retry,
    health_updates: HealthUpdates,
    /// Whether a module that queries a site, rather than a local list, had no conclusion for any reason.
    site_failed: bool,
}

/// A module that is asked, and has not ended.
pub(super) struct Asked {
    pub(super) module: Arc<Module>,
    pub(super) query: Arc<Query>,
    /// The index of the look-up, or `None` for a module of the run's own search.
    pub(super) lookup: Option<usize>,
    /// When its check has begun, and the host with an open circuit that it tries.
    pub(super) begun: Option<(Instant, Option<String>)>,
}

impl Asked {
    pub(super) fn new(module: Arc<Module>, query: Arc<Query>, lookup: Option<usize>) -> Self {
        Self { module, query, lookup, begun: None }
    }
}

/// The answer of a check.
pub(super) struct Answer {
    pub(super) report: Arc<Report>,
    /// Whether the run has made no check for it: it is the answer to another check, or says why none was made.
    pub(super) is_shared: bool,
    pub(super) took: Duration,
    pub(super) at: Timestamp,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(runs: &'a Runs, run: &'a LiveRun) -> Self {
        let (_, results, _) = run.snapshot();
        // A module that the catalogue no longer has counts as a site.
        let (catalog, mut done) = (runs.catalog.get(), run.reports());
        done.retain(|report| catalog.get(&report.module).is_none_or(|module| !module.reads_only_feeds()));
        let came_to_nothing = |report: &Arc<ModuleReport>| came_to_nothing(report.status, report.reason);
        let mut known = HashMap::with_capacity(results.len());
        for result in &results {
            // An earlier version stored equal entities as separate results. The first of them gets later sources.
            known.entry(EntityKey::of(result)).or_insert(result.id);
        }
        Self {
            runs,
            run,
            newest: runs.clock.now(),
            known,
            next_id: results.last().map_or(1, |last| last.id + 1),
            unsaved: run.unchanged(),
            has_lookups: false,
            save_at: Instant::now() + SAVE_EVERY,
            retry: Retry::default(),
            health_updates: HealthUpdates::new(
                run.id(),
                done.iter().any(|report| report.status.is_conclusive()),
            ),
            site_failed: done.iter().any(came_to_nothing),
        }
    }

    /// Returns whether everything is saved.
    pub(super) fn is_empty(&self) -> bool {
        self.unsaved.is_empty() && !self.has_lookups
    }

    /// Returns whether there are results that are not saved.
    pub(super) fn has_results(&self) -> bool {
        !self.unsaved.added.is_empty() || !self.unsaved.changed.is_empty()
    }

    /// Returns the moment at which the next save is due. `is_last` says whether nothing more will be collected for now.
    pub(super) fn due(&self, is_last: bool, now: Instant) -> Instant {
        let is_urgent = !self.unsaved.added.is_empty() || is_last && !self.is_empty();
        self.retry.at().unwrap_or(if is_urgent { now } else { self.save_at })
    }

    /// Returns the accounts that are or were looked up, to change them.
    pub(super) fn lookups(&mut self) -> &mut Vec<Lookup> {
        self.has_lookups = true;
        &mut self.unsaved.lookups
    }

    /// Returns why the run fails if its own modules have ended, or `None` if it is worth its price.
    pub(super) fn failure(&self) -> Option<&'static str> {
        if self.unsaved.coverage.conclusive == 0 {
            return Some("no module came to a conclusion");
        }
        // Results from local lists are shown, but they alone do not justify the price of a search.
        let has_only_lists = self.site_failed && !self.health_updates.has_conclusion();
        has_only_lists.then_some("no site that was asked gave a conclusion")
    }

    /// Notes a module that the catalogue no longer has.
    pub(super) fn note_gone(&mut self, module: &str) {
        self.unsaved.add_report(ModuleReport::skipped(module, module, Reason::Disabled));
    }

    /// Takes the answer of a module.
    pub(super) fn take(&mut self, asked: &Asked, answer: Answer) {
        let Answer { report, is_shared, took, at } = answer;
        let module = &asked.module;
        self.newest = self.newest.max(at);
        if !is_shared {
            self.health_updates.take(&self.runs.health, module, &report, took, at);
        } else if report.outcome.is_conclusive() {
            self.runs.figures.shared_answers.one();
            if !module.reads_only_feeds() && asked.lookup.is_none() {
                self.health_updates.note_conclusion();
            }
        }
        self.note(asked, Arc::unwrap_or_clone(report), took);
    }

    /// Notes the end of a module, with an answer or without one: its findings are numbered and merged.
    pub(super) fn note(&mut self, asked: &Asked, report: Report, took: Duration) {
        let module = &*asked.module;
        self.runs.figures.note_check(module, &report, took);
        match asked.lookup {
            Some(at) => self.note_lookup(at, module, report),
            None => self.note_module(module, report, took),
        }
    }

    fn note_module(&mut self, module: &Module, report: Report, took: Duration) {
        self.site_failed |= came_to_nothing(report.outcome, report.reason) && !module.reads_only_feeds();
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
            rules: report.evidence.rules.clone(),
            partial: report.evidence.partial,
        };
        if let Some(cut) = module_report.cut() {
            self.runs.figures.note_cut(cut);
        }
        self.unsaved.add_report(module_report);
        self.add(module, report.findings);
    }

    /// Notes the end of a look-up. It changes neither the coverage nor the end of the run.
    fn note_lookup(&mut self, at: usize, module: &Module, mut report: Report) {
        let run_id = self.run.id();
        let Some(lookup) = self.lookups().get_mut(at) else { return };
        (lookup.outcome, lookup.reason) = (Some(report.outcome), report.reason);
        let by =
            FoundBy { run_id, result_id: lookup.result_id, class: lookup.class, lead_id: lookup.lead_id };
        for finding in &mut report.findings {
            // Writing a flat value to memory cannot fail.
            finding.metadata.insert(FOUND_BY.to_owned(), serde_json::to_value(by).unwrap_or(Value::Null));
        }
        self.add(module, report.findings);
    }

    /// Adds findings, each either as a new result or as a source of a known one.
    fn add(&mut self, module: &Module, findings: Vec<Finding>) {
        for finding in findings {
            let mut record = number(finding, self.next_id, module.id(), self.newest);
            merge::name_source(&mut record);
            let key = EntityKey::of(&record);
            match self.known.get(&key) {
                Some(&id) => self.change(id, |known| merge::merge(known, &record)),
                None => {
                    self.known.insert(key, self.next_id);
                    self.next_id += 1;
                    self.unsaved.added.push(record);
                }
            }
        }
    }

    /// Adds a picture to its result.
    pub(super) fn add_avatar(&mut self, result: u32, avatar: &Avatar) {
        self.change(result, |record| {
            record.metadata.insert(AVATAR.to_owned(), serde_json::json!(avatar));
            true
        });
    }

    /// Changes a result, if there is one with that id. `change` returns whether it has changed anything.
    fn change(&mut self, id: u32, change: impl FnOnce(&mut ResultRecord) -> bool) {
        let Delta { added, changed, .. } = &mut self.unsaved;
        let place = |records: &[ResultRecord]| records.binary_search_by_key(&id, |record| record.id);
        match (place(added), place(changed)) {
            (Ok(at), _) => drop(change(&mut added[at])),
            (_, Ok(at)) => drop(change(&mut changed[at])),
            (_, Err(at)) => {
                if let Some(mut record) = self.run.result(id)
                    && change(&mut record)
                {
                    changed.insert(at, record);
                }
            }
        }
    }

    /// Saves what was collected, and renews the lease. Returns what was saved, which is to be published, or `None` if the
    /// store fails.
    pub(super) fn save(&mut self) -> Option<Delta> {
        // A save that only renews the lease changes nothing that readers see.
        self.unsaved.revision += u64::from(!self.unsaved.is_empty());
        let (run, runs) = (self.run, self.runs);
        match runs.store.save(run.id(), run.lease(), &self.unsaved, runs.config.limits.lease) {
            Ok(Write::LeaseLost) => {
                run.lose();
                return None;
            }
            // Another instance got the request, and its notification may have been lost.
            Ok(Write::Stopped(at)) => run.end_early(at),
            Ok(Write::Done) => {}
            Err(error) => {
                self.retry.again(run, &error);
                return None;
            }
        }
        self.retry = Retry::default();
        self.save_at = Instant::now() + SAVE_EVERY;
        self.has_lookups = false;
        runs.figures.results.add(self.unsaved.added.len() as u64);
        let Delta { added, changed, reports, .. } = &mut self.unsaved;
        let (added, changed, reports) = (take(added), take(changed), take(reports));
        Some(Delta { added, changed, reports, ..self.unsaved.clone() })
    }

    /// Returns what is left to be saved with the end of the run. Results that could not be stored so far are left out.
    pub(super) fn into_last(self, has_failed: bool) -> Delta {
        match has_failed {
            true => Delta { added: Vec::new(), changed: Vec::new(), ..self.unsaved },
            false => self.unsaved,
        }
    }
}

fn came_to_nothing(outcome: Outcome, reason: Option<Reason>) -> bool {
    outcome.is_failure() || reason.is_some_and(Reason::is_local_fault)
}

fn number(finding: Finding, id: u32, module: &str, now: Timestamp) -> ResultRecord {
    ResultRecord {
        id,
        result_type: finding.result_type.as_str().to_owned(),
        entity_type: finding.result_type.as_str().to_owned(),
        platform: finding.platform,
        value: finding.value,
        confidence: finding.confidence,
        source: module.to_owned(),
        metadata: finding.metadata,
        created_at: now,
        annotation: None,
    }
}
