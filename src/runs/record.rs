//! [`RunRecord`]: a complete run at one moment, from which reports are made.

use std::collections::HashSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::RunId;
use crate::base::pages::items;
use crate::base::storage::StorageError;
use crate::model::entity::merge;
use crate::model::family::FollowState;
use crate::model::follow::Lookup;
use crate::model::notes::StoredNotes;
use crate::model::run::{ModuleReport, Progress, ResultRecord, RunSummary, Status, Thumbnails, count};
use crate::modules::kept::KeptAnswer;
use crate::modules::outcome::Outcome;
use crate::modules::query::Query;
use crate::store::Store;

/// A run with the outcome of each of its modules at one moment: the content of a JSON report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Report)]
pub struct RunRecord {
    /// The run. Its counts are those of the results and modules below.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// Present only at the first search of a family: how far leads are followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub follow: Option<FollowState>,
    /// Results found so far, in the order of their ids.
    pub results: Vec<ResultRecord>,
    /// Modules that have ended so far, as in `GET /v1/searches/{run_id}/modules`.
    #[serde(default)]
    #[schema(required)]
    pub modules: Vec<ModuleReport>,
    /// The accounts that are or were looked up.
    #[serde(skip)]
    pub lookups: Vec<Lookup>,
    /// The moment of this record.
    #[serde(skip, default = "Timestamp::now")]
    pub as_of: Timestamp,
    /// The thumbnails of the results, if they were read: only pages for people show them.
    #[serde(skip)]
    pub thumbnails: Thumbnails,
}

/// The state of a run without its results and modules.
pub struct RunState {
    /// The run, with the tags and the note on it.
    pub summary: RunSummary,
    /// How far its leads are followed, if it is the first run of a family that follows some.
    pub follow: Option<FollowState>,
    /// What is noted about it and its results.
    pub notes: StoredNotes,
}

/// Names a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct ResultRef {
    /// The run of the result.
    pub run_id: RunId,
    /// The number of the result in its run.
    #[schema(minimum = 1)]
    pub result_id: u32,
}

/// What a run was asked and what it found: all that leads, graphs and diffs are made of.
#[derive(Debug, Clone)]
pub struct Findings<'a> {
    /// The id of the run.
    pub run_id: RunId,
    /// The query.
    pub query: Query,
    /// The number of leads between the root of the family and the run.
    pub depth: u8,
    /// The status.
    pub status: Status,
    /// Whether the results come from the simulated web.
    pub simulated: bool,
    /// The time at which the search was accepted.
    pub created_at: Timestamp,
    /// The results in the order of their ids.
    pub results: &'a [ResultRecord],
    /// The modules that have ended.
    pub modules: &'a [ModuleReport],
}

impl<'a> Findings<'a> {
    /// Returns what a run was asked and what it found. Returns `None` if the query is not valid for this version, which a
    /// search of an earlier one may have.
    pub(super) fn of(
        summary: &RunSummary,
        results: &'a [ResultRecord],
        modules: &'a [ModuleReport],
    ) -> Option<Self> {
        let RunSummary { id: run_id, status, simulated, created_at, .. } = *summary;
        let query = Query::parse(summary.search_type, &summary.query).ok()?;
        Some(Self { run_id, query, depth: summary.depth(), status, simulated, created_at, results, modules })
    }

    /// Returns what a completed root without modules has found.
    #[cfg(test)]
    pub(crate) fn new(run_id: RunId, query: Query, results: &'a [ResultRecord]) -> Self {
        let (depth, status, simulated) = (0, Status::Completed, false);
        let created_at = Timestamp::UNIX_EPOCH;
        Self { run_id, query, depth, status, simulated, created_at, results, modules: &[] }
    }
}

impl RunRecord {
    /// Returns what the run was asked and what it found, as `Findings::of` does.
    pub fn findings(&self) -> Option<Findings<'_>> {
        Findings::of(&self.summary, &self.results, &self.modules)
    }

    /// Returns what was kept as evidence, each once: the module whose answer it is, or of what it is a screenshot.
    pub fn evidence(&self) -> Vec<(String, KeptAnswer)> {
        let named = |result: &ResultRecord, module: String| match module.as_str() {
            merge::SCREENSHOT => format!("screenshot of {}", result.site()),
            _ => module,
        };
        let kept = self.results.iter().flat_map(|result| {
            merge::evidence(result).into_iter().map(move |(module, kept)| (named(result, module), kept))
        });
        let mut known = HashSet::new();
        kept.filter(|(name, kept)| known.insert((name.clone(), kept.sha256.clone()))).collect()
    }

    /// Returns the modules with that outcome, ordered by platform and id.
    pub fn modules_that(&self, outcome: Outcome) -> Vec<&ModuleReport> {
        let mut modules: Vec<&ModuleReport> =
            self.modules.iter().filter(|module| module.status == outcome).collect();
        modules.sort_by_cached_key(|module| (module.platform.to_lowercase(), module.module.clone()));
        modules
    }
}

/// The maximum number of results that are read from the store at once.
const PAGE: usize = 1000;

/// Returns the results of a stored run with ids above `after`.
///
/// # Errors
/// Returns an error if the store fails.
pub fn results_after(store: &Store, run: RunId, after: u32) -> Result<Vec<ResultRecord>, StorageError> {
    let read = |last: Option<&ResultRecord>| store.results(run, last.map_or(after, |last| last.id), PAGE);
    items(PAGE, read).collect()
}

/// Reads a run. A run that another instance drives may change between the reads, so its counts are computed again.
///
/// # Errors
/// Returns an error if the store fails.
pub fn read_run(store: &Store, mut summary: RunSummary, as_of: Timestamp) -> Result<RunRecord, StorageError> {
    let results = results_after(store, summary.id, 0)?;
    let lookups = store.lookups(summary.id)?;
    let modules = store.modules(summary.id)?;
    summary.total_results = count(results.len());
    if !summary.status.is_terminal() {
        summary.coverage = ModuleReport::coverage_of(&modules);
        summary.progress = Progress::of(summary.progress.modules_total, summary.coverage);
    }
    Ok(RunRecord { summary, results, modules, lookups, follow: None, as_of, thumbnails: Thumbnails::new() })
}
