//! Looking up the accounts that results of the run name, after the run's own modules have ended. Each round is stored
//! before it begins, so that a run that is resumed asks for no further accounts.

use std::sync::Arc;

use jiff::Timestamp;
use log::log;

use super::checks::{Round, Subject};
use crate::modules::outcome::Outcome;
use crate::modules::query::{Query, SearchType};
use crate::modules::reason::Reason;
use crate::runs::context::RunContext;
use crate::runs::family::advance::advance;
use crate::runs::family::plan::{Rules, next_lookups};
use crate::runs::live::LiveRun;

/// Returns the planned look-ups that have not ended. Ends those that are no longer possible.
pub(super) fn unfinished(context: &RunContext, run: &LiveRun) -> Round {
    let (catalog, suppressed) = (context.catalog.get(), context.suppression.get());
    let mut round = Vec::new();
    let lookups = run.following.lookups();
    for (at, lookup) in lookups.iter().enumerate().filter(|(_, lookup)| lookup.outcome.is_none()) {
        let query = Query::parse(SearchType::Username, &lookup.query).ok();
        let query = query.filter(|query| !suppressed.holds(query));
        match (catalog.get(&lookup.module), query) {
            (Some(module), Some(query)) => round.push((Arc::clone(module), Subject::of_lookup(query, at))),
            _ => run.following.end_lookup(at, Outcome::Skipped, Some(Reason::Disabled)),
        }
    }
    round
}

/// Plans the next round of look-ups by the results so far, and adds it to the run.
pub(super) fn plan(context: &RunContext, run: &LiveRun, as_of: Timestamp) -> Round {
    let opening = run.opening();
    let Some(order) = &opening.follow else { return Round::new() };
    let (record, known) = (run.record(as_of), run.following.lookups());
    let (catalog, suppressed) = (context.catalog.get(), context.suppression.get());
    let rules = Rules {
        order,
        root_type: opening.search_type,
        catalog: &catalog,
        suppressed: &suppressed,
        keys: context.checker.keys(),
        discovery: context.discovery,
    };
    let planned = record.findings().map_or_else(Vec::new, |findings| next_lookups(&rules, findings, &known));
    run.following.add_lookups(planned.iter().map(|(lookup, ..)| lookup.clone()));
    (known.len()..)
        .zip(planned)
        .map(|(at, (_, module, query))| (module, Subject::of_lookup(query, at)))
        .collect()
}

/// Starts the first runs of the family, so that readers of the root learn of them before it ends.
pub(super) fn start_children(context: &Arc<RunContext>, run: &LiveRun) {
    let summary = run.summary();
    if summary.follow.is_none() || summary.family.is_some() || summary.stopped_at.is_some() {
        return;
    }
    advance(context, run.id(), summary.account, Some(run.id()));
    match context.store.children(run.id(), run.id()) {
        Ok(children) => run.following.set_children(children),
        Err(error) => log!(error.log_level(), "run {}: cannot read its children: {error}", run.id()),
    }
}
