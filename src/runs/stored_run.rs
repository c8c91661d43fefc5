//! Reading runs with their results from the store.

use jiff::Timestamp;

use super::record::RunRecord;
use crate::base::ids::RunId;
use crate::base::pages::all_pages;
use crate::base::storage::StorageError;
use crate::model::run::{ModuleReport, Progress, ResultRecord, RunSummary, Thumbnails, count};
use crate::modules::outcome::Outcome;
use crate::store::Store;

/// The maximum number of results that are read from the store at once.
const PAGE: usize = 1000;

/// Returns all results of a stored run.
///
/// # Errors
/// Returns an error if the store fails.
pub fn all_results(store: &Store, run: RunId) -> Result<Vec<ResultRecord>, StorageError> {
    all_pages(PAGE, |last: Option<&ResultRecord>| store.results(run, last.map_or(0, |last| last.id), PAGE))
}

/// Reads a run. A run that another instance drives may change between the reads, so its counts are computed again.
pub(super) fn read_run(
    store: &Store,
    mut summary: RunSummary,
    as_of: Timestamp,
) -> Result<RunRecord, StorageError> {
    let results = all_results(store, summary.id)?;
    let lookups = store.lookups(summary.id)?;
    let modules = store.modules(summary.id)?;
    summary.total_results = count(results.len());
    if !summary.status.is_terminal() {
        summary.coverage = ModuleReport::coverage_of(&modules);
        summary.progress = Progress {
            modules_completed: count(modules.len()),
            modules_with_hits: summary.coverage.count_of(Outcome::Hit),
            ..summary.progress
        };
    }
    Ok(RunRecord { summary, results, modules, lookups, follow: None, as_of, thumbnails: Thumbnails::new() })
}
