//! Looking up the accounts that results of the run name, after the run's own modules have ended. Each round is stored
//! before it begins, so that a run that is resumed asks for no further accounts.

use std::sync::Arc;

use super::{Asked, Driver};
use crate::modules::outcome::Outcome;
use crate::modules::query::{Query, SearchType};
use crate::modules::reason::Reason;
use crate::runs::family::plan::{Rules, next_lookups};
use crate::runs::leads::links::{RunLinks, Subjects};
use crate::runs::record::Findings;

impl Driver<'_> {
    /// Returns the planned look-ups that have not ended. Ends those that are no longer possible.
    pub(super) fn unfinished(&mut self) -> Vec<Asked> {
        let (catalog, suppressed) = (self.runs.catalog(), self.runs.suppressed());
        let mut round = Vec::new();
        let lookups = self.unsaved.lookups.iter_mut().enumerate();
        for (at, lookup) in lookups.filter(|(_, lookup)| lookup.outcome.is_none()) {
            let query = Query::parse(SearchType::Username, &lookup.query).ok();
            let query = query.filter(|query| !suppressed.holds(query));
            match (catalog.get(&lookup.module), query) {
                (Some(module), Some(query)) => {
                    let (module, query) = (Arc::clone(module), Arc::new(query));
                    round.push(Asked { module, query, lookup: Some(at), begun: None });
                }
                _ => (lookup.outcome, lookup.reason) = (Some(Outcome::Skipped), Some(Reason::Disabled)),
            }
        }
        round
    }

    /// Adds the next round of look-ups by the stored results.
    pub(super) fn plan(&mut self) {
        let summary = &self.run.opening.summary;
        if let (Some(order), Some(findings)) = (&summary.follow, self.findings()) {
            let rules = Rules::of(self.runs, order, summary.search_type);
            let next = next_lookups(&rules, &findings, &self.unsaved.lookups);
            self.unsaved.lookups.extend(next);
        }
    }

    /// Returns what the results point to as JSON, if leads are followed. Without it, the process that continues the family
    /// reads them again.
    pub(super) fn links(&self) -> Option<String> {
        self.run.opening.summary.follow.as_ref()?;
        let (findings, catalog) = (self.findings()?, self.runs.catalog());
        let links = RunLinks::of(&Subjects::of(&findings, catalog.profiles()));
        // The types have string keys and finite numbers only.
        serde_json::to_string(&links).ok()
    }

    fn findings(&self) -> Option<Findings<'_>> {
        Findings::of(&self.run.opening.summary, &self.results, &self.reports)
    }
}
