//! [`RunRecord`]: a complete run at one moment, from which reports are made.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::diff::compared::DiffRun;
use super::family::member::Lookup;
use super::run::{ModuleReport, Progress, ResultRecord, RunSummary, count};
use crate::base::ids::RunId;
use crate::modules::outcome::Outcome;
use crate::modules::query::Query;

/// The thumbnails of a run as PNGs, by the ids of their results.
pub type Thumbnails = BTreeMap<u32, Vec<u8>>;

/// A run, its results, and the outcomes of its modules at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// The run. Its counts are those of the results and modules below.
    pub summary: RunSummary,
    /// All results so far in the order of their ids.
    pub results: Vec<ResultRecord>,
    /// The modules that have ended.
    pub modules: Vec<ModuleReport>,
    /// The accounts that are or were looked up.
    pub lookups: Vec<Lookup>,
    /// The moment of this record.
    pub as_of: Timestamp,
    /// The thumbnails of the results, as far as they were read: only pages for people show them.
    pub thumbnails: Thumbnails,
}

/// Names a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
pub struct ResultRef {
    /// The run of the result.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// The number of the result in its run.
    #[schema(minimum = 1, examples(3))]
    pub result_id: u32,
}

/// What a run was asked and what it found: all that leads and graphs are made of.
#[derive(Debug, Clone)]
pub struct Findings<'a> {
    /// The id of the run.
    pub run_id: RunId,
    /// The query.
    pub query: Query,
    /// The results in the order of their ids.
    pub results: &'a [ResultRecord],
}

impl<'a> Findings<'a> {
    /// Returns what a run was asked and what it found. Returns `None` if the query is not valid for this version, which
    /// a search of an earlier one may have.
    pub fn of(run: &RunSummary, results: &'a [ResultRecord]) -> Option<Self> {
        let query = Query::parse(run.search_type, &run.query).ok()?;
        Some(Self { run_id: run.id, query, results })
    }
}

impl RunRecord {
    /// Returns what the run was asked and what it found. Returns `None` if the query is not valid for this version,
    /// which a search of an earlier one may have.
    pub fn findings(&self) -> Option<Findings<'_>> {
        Findings::of(&self.summary, &self.results)
    }

    /// Returns the run as one side of a diff. Returns `None` if the query is not valid for this version, which a search of
    /// an earlier one may have.
    pub fn to_compare(&self) -> Option<DiffRun<'_>> {
        let Findings { run_id, query, results } = self.findings()?;
        let RunSummary { status, simulated, created_at, .. } = self.summary;
        Some(DiffRun { run_id, query, status, simulated, created_at, results, modules: &self.modules })
    }

    /// Combines four reads of the store. A run that another instance drives may have changed in between, so its counts
    /// are computed again.
    pub(super) fn of_reads(
        mut summary: RunSummary,
        results: Vec<ResultRecord>,
        modules: Vec<ModuleReport>,
        lookups: Vec<Lookup>,
        as_of: Timestamp,
    ) -> Self {
        summary.total_results = count(results.len());
        if !summary.status.is_terminal() {
            summary.coverage = ModuleReport::coverage_of(&modules);
            summary.progress = Progress {
                modules_completed: count(modules.len()),
                modules_with_hits: summary.coverage.count_of(Outcome::Hit),
                ..summary.progress
            };
        }
        Self { summary, results, modules, lookups, as_of, thumbnails: Thumbnails::new() }
    }

    /// Returns the modules with that outcome, ordered by platform and id.
    pub fn modules_that(&self, outcome: Outcome) -> Vec<&ModuleReport> {
        let mut modules: Vec<&ModuleReport> =
            self.modules.iter().filter(|module| module.status == outcome).collect();
        modules.sort_by_cached_key(|module| (module.platform.to_lowercase(), module.module.clone()));
        modules
    }
}
