//! [`RunRecord`]: a complete run at one moment, from which reports are made.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::run::{ModuleReport, Progress, ResultRecord, RunSummary, count};
use crate::base::ids::RunId;
use crate::modules::outcome::Outcome;
use crate::modules::query::Query;

/// A run, its results, and the outcomes of its modules at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// The run. Its counts are those of the results and modules below.
    pub summary: RunSummary,
    /// All results so far in the order of their ids.
    pub results: Vec<ResultRecord>,
    /// The modules that have ended.
    pub modules: Vec<ModuleReport>,
    /// The moment of this record.
    pub as_of: Timestamp,
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

impl RunRecord {
    /// Returns what the run was asked and what it found. Returns `None` if the query is not valid for this version,
    /// which a search of an earlier one may have.
    pub fn findings(&self) -> Option<Findings<'_>> {
        let query = Query::parse(self.summary.search_type, &self.summary.query).ok()?;
        Some(Findings { run_id: self.summary.id, query, results: &self.results })
    }
    /// Combines three reads of the store. A run that another instance drives may have changed in between, so its counts
    /// are computed again.
    pub(super) fn of_reads(
        mut summary: RunSummary,
        results: Vec<ResultRecord>,
        modules: Vec<ModuleReport>,
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
        Self { summary, results, modules, as_of }
    }

    /// Returns the modules with that outcome, ordered by platform and id.
    pub fn modules_that(&self, outcome: Outcome) -> Vec<&ModuleReport> {
        let mut modules: Vec<&ModuleReport> =
            self.modules.iter().filter(|module| module.status == outcome).collect();
        modules.sort_by_cached_key(|module| (module.platform.to_lowercase(), module.module.clone()));
        modules
    }
}
