//! The runs with which a run can be compared.

use jiff::Timestamp;

use super::reader::Reader;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::page::ListFilter;
use crate::model::run::RunSummary;
use crate::modules::query::Query;

/// The number of earlier runs that are considered as the last one with the same query.
const EARLIER: usize = 20;

/// Returns the last run before this one with the same account, type and normal form of the query, if both have ended.
/// Only some of the newest runs whose query contains that form are considered.
///
/// # Errors
/// Returns an error if the store fails.
pub fn earlier(reader: &Reader, run: &RunSummary) -> Result<Option<RunSummary>, StorageError> {
    let before = Some((run.created_at, run.id));
    Ok(comparable(reader, run, before, EARLIER)?.into_iter().next())
}

/// Returns the runs that can be compared with a run, the newest first: those that have ended, with the same account,
/// type and normal form of the query. There are none if the run itself has not ended. Only the `limit` newest runs
/// before the given place are considered whose query contains that form.
///
/// # Errors
/// Returns an error if the store fails.
pub fn comparable(
    reader: &Reader,
    run: &RunSummary,
    before: Option<(Timestamp, RunId)>,
    limit: usize,
) -> Result<Vec<RunSummary>, StorageError> {
    let normal = |run: &RunSummary| {
        Query::parse(run.search_type, &run.query).ok().map(|query| query.normal().to_owned())
    };
    let Some(query) = normal(run).filter(|_| run.status.is_terminal()) else { return Ok(Vec::new()) };
    let filter = ListFilter {
        search_type: Some(run.search_type),
        status: None,
        text: Some(query.clone()),
        root: None,
        watch: None,
        tag: None,
        before,
    };
    let mut runs = reader.page(run.account, &filter, limit)?.runs;
    let is_same = |one: &RunSummary| {
        one.id != run.id
            && one.status.is_terminal()
            && one.simulated == run.simulated
            && normal(one).as_deref() == Some(query.as_str())
    };
    runs.retain(is_same);
    Ok(runs)
}
