//! Looking up the accounts that results of the run name, after the run's own modules have ended. Each round is stored
//! before it begins, so that a run that is resumed asks for no further accounts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::log;
use serde_json::Value;

use super::{Driver, EndedLookup, Subject};
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::query::{Query, SearchType};
use crate::modules::reason::Reason;
use crate::runs::family::advance::advance;
use crate::runs::family::member::Lookup;
use crate::runs::family::plan::{Rules, next_lookups};
use crate::runs::lanes::Lanes;
use crate::runs::leads::lead::{FOUND_BY, FoundBy};

impl Driver<'_> {
    /// Begins the next round of look-ups. Returns `false` if there is none.
    pub(super) fn look_up_next(&mut self) -> bool {
        // A run that fails is refunded, so it asks nobody else.
        let is_stopped = self.run.stopped_at().is_some();
        let may_look_up = self.run.follow().is_some() && !is_stopped && self.failure().is_none();
        if !may_look_up || Instant::now() >= self.limit.at {
            return false;
        }
        let known = self.run.lookups();
        // An interrupted round is continued before another one is planned.
        let mut round = self.unfinished(&known);
        if round.is_empty() {
            let planned = self.plan(&known);
            let first = known.len();
            self.run.add_lookups(planned.iter().map(|(lookup, ..)| lookup.clone()).collect());
            round = (first..).zip(planned).map(|(at, (_, module, query))| (at, module, query)).collect();
            if !round.is_empty() {
                self.checkpoint();
            }
        }
        let modules = round.iter().map(|(_, module, _)| Arc::clone(module)).collect();
        self.lanes = Lanes::new(modules, &self.context.health);
        self.subjects = round
            .into_iter()
            .map(|(at, _, query)| Subject { query: Arc::new(query), lookup: Some(at) })
            .collect();
        self.lanes.left() > 0
    }

    /// Starts the first runs of the family, so that readers of the root learn of them before it ends.
    pub(super) fn start_children(&self) {
        let (context, run) = (self.context, self.run);
        let summary = run.summary();
        if summary.follow.is_none() || summary.family.is_some() || summary.stopped_at.is_some() {
            return;
        }
        advance(context, run.id(), summary.account, Some(run.id()));
        match context.journal.children(run.id(), run.id()) {
            Ok(children) => run.set_children(children),
            Err(error) => log!(error.log_level(), "run {}: cannot read its children: {error}", run.id()),
        }
    }

    fn plan(&self, known: &[Lookup]) -> Vec<(Lookup, Arc<Module>, Query)> {
        let Some(order) = self.run.follow() else { return Vec::new() };
        let record = self.run.record(self.newest);
        let (catalog, suppressed) = (self.context.catalog.get(), self.context.suppression.get());
        let rules = Rules {
            order: &order,
            root_type: self.query.search_type(),
            catalog: &catalog,
            suppressed: &suppressed,
            keys: self.context.checker.keys(),
            discovery: self.context.discovery,
        };
        record.findings().map_or_else(Vec::new, |findings| next_lookups(&rules, findings, known))
    }

    /// Returns the planned look-ups that have not ended. Ends those that are no longer possible.
    fn unfinished(&mut self, known: &[Lookup]) -> Vec<(usize, Arc<Module>, Query)> {
        let (catalog, suppressed) = (self.context.catalog.get(), self.context.suppression.get());
        let mut round = Vec::new();
        for (at, lookup) in known.iter().enumerate().filter(|(_, lookup)| lookup.outcome.is_none()) {
            let query = Query::parse(SearchType::Username, &lookup.query).ok();
            let query = query.filter(|query| !suppressed.holds(query));
            match (catalog.get(&lookup.module), query) {
                (Some(module), Some(query)) => round.push((at, Arc::clone(module), query)),
                _ => self.run.end_lookup(at, Outcome::Skipped, Some(Reason::Disabled)),
            }
        }
        round
    }

    /// Handles the end of a look-up. It changes neither the coverage nor the end of the run.
    pub(super) fn note_lookup(&mut self, at: usize, module: &Module, report: Report, took: Duration) {
        self.context.figures.note_check(module, &report, took, self.context.clock.now());
        let known = self.run.lookups();
        let Some(lookup) = known.get(at) else { return };
        let by = FoundBy {
            run_id: self.run.id(),
            result_id: lookup.result_id,
            class: lookup.class,
            lead_id: lookup.lead_id,
        };
        for mut finding in report.findings {
            // Writing a flat value to memory cannot fail.
            finding.metadata.insert(FOUND_BY.to_owned(), serde_json::to_value(by).unwrap_or(Value::Null));
            self.found.take(self.run, module.id(), finding, self.newest);
        }
        self.ended_lookups.push(EndedLookup { place: at, outcome: report.outcome, reason: report.reason });
    }

    /// Records the look-ups whose results are stored.
    pub(super) fn record_lookups(&mut self) {
        for EndedLookup { place, outcome, reason } in self.ended_lookups.drain(..) {
            self.run.end_lookup(place, outcome, reason);
        }
    }
}
