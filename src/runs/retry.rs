//! Asking the modules of a run again that came to no conclusion.

use crate::model::run::{ModuleReport, RunSummary};
use crate::model::search::Search;
use crate::modules::catalog::{Catalog, Choice};
use crate::modules::outcome::Outcome;
use crate::modules::query::Query;
use crate::modules::reason::Reason;

/// Why there is nothing to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRetry {
    /// The run has not ended.
    #[error("the search has not ended: stop it first, or wait for its end")]
    Running,
    /// Each module came to a conclusion, cannot be asked for this query, or is no longer in the catalogue.
    #[error("no module of the search can give another answer")]
    NothingLeft,
    /// This version does not accept the query.
    #[error("the query of the search is no longer valid: start another search")]
    InvalidQuery,
}

/// Returns the search of those modules of a run that came to no conclusion.
///
/// # Errors
/// Returns the reason if there is nothing to ask again.
pub fn retry(run: &RunSummary, reports: &[ModuleReport], catalog: &Catalog) -> Result<Search, NoRetry> {
    if !run.status.is_terminal() {
        return Err(NoRetry::Running);
    }
    let query = Query::parse(run.search_type, &run.query).map_err(|_| NoRetry::InvalidQuery)?;
    let left = reports.iter().filter(|report| may_conclude(report));
    let modules: Vec<_> = left
        .filter_map(|report| catalog.get(&report.module))
        .filter(|module| module.entry().enabled && module.search_type() == run.search_type)
        .collect();
    if modules.is_empty() {
        return Err(NoRetry::NothingLeft);
    }
    let choice = Choice {
        modules: modules.iter().map(|module| module.id().to_string()).collect(),
        nsfw: run.options.nsfw,
        passive: run.options.passive,
        ..Choice::default()
    };
    let premium = modules.iter().any(|module| module.is_premium());
    Ok(Search { premium, choice, options: run.options, ..Search::plain(&query) })
}

/// Returns whether a module may come to a conclusion if it is asked again.
fn may_conclude(report: &ModuleReport) -> bool {
    match report.status {
        Outcome::Skipped => report.reason.is_some_and(|reason| {
            reason.is_local_fault()
                || matches!(reason, Reason::Stopped | Reason::DailyLimit | Reason::Unavailable)
        }),
        outcome => !outcome.is_conclusive(),
    }
}
