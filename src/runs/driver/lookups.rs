//! Looking up the accounts that results of the run name, after the run's own modules have ended. Each round is stored
//! before it begins, so that a run that is resumed asks for no further accounts.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use log::log;

use crate::model::follow::Lookup;
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::modules::query::{Query, SearchType};
use crate::modules::reason::Reason;
use crate::runs::family::advance::advance;
use crate::runs::family::plan::{Rules, next_lookups};
use crate::runs::leads::links::{RunLinks, Subjects};
use crate::runs::live::LiveRun;
use crate::runs::service::Runs;

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

/// Returns the planned look-ups that have not ended. Ends those that are no longer possible.
pub(super) fn unfinished(runs: &Runs, lookups: &mut [Lookup]) -> Vec<Asked> {
    let (catalog, suppressed) = (runs.catalog(), runs.suppressed());
    let mut round = Vec::new();
    for (at, lookup) in lookups.iter_mut().enumerate().filter(|(_, lookup)| lookup.outcome.is_none()) {
        let query = Query::parse(SearchType::Username, &lookup.query).ok();
        let query = query.filter(|query| !suppressed.holds(query));
        match (catalog.get(&lookup.module), query) {
            (Some(module), Some(query)) => {
                let (module, query) = (Arc::clone(module), Arc::new(query));
                round.push(Asked::new(module, query, Some(at)));
            }
            _ => (lookup.outcome, lookup.reason) = (Some(Outcome::Skipped), Some(Reason::Disabled)),
        }
    }
    round
}

/// Adds the next round of look-ups by the stored results to `lookups`.
pub(super) fn plan(runs: &Runs, run: &LiveRun, lookups: &mut Vec<Lookup>, as_of: Timestamp) {
    let (opening, record) = (&run.opening, run.record(as_of));
    if let (Some(order), Some(findings)) = (&opening.follow, record.findings()) {
        let next = next_lookups(&Rules::of(runs, order, opening.search_type), &findings, lookups);
        lookups.extend(next);
    }
}

/// Returns what the results of a run point to as JSON, if leads are followed. Without it, the process
/// that continues the family reads them again.
pub(super) fn links(runs: &Runs, run: &LiveRun) -> Option<String> {
    run.opening.follow.as_ref()?;
    let (record, catalog) = (run.record(runs.clock.now()), runs.catalog());
    let links = RunLinks::of(&Subjects::of(&record.findings()?, catalog.profiles()));
    // The types have string keys and finite numbers only.
    serde_json::to_string(&links).ok()
}

/// Starts the first runs of the family of a run, so that its readers learn of them before it ends.
pub(super) fn start_children(runs: &Arc<Runs>, run: &LiveRun) {
    advance(runs, run.id(), run.opening.account, Some(run.id()));
    match runs.store.children(run.id(), run.id()) {
        Ok(children) => run.set_children(children),
        Err(error) => log!(error.log_level(), "run {}: cannot read its children: {error}", run.id()),
    }
}
