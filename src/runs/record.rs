//! A run with all that is known of it at one moment: what a report is made of.

use jiff::Timestamp;

use super::run::{Coverage, ModuleReport, Progress, ResultRecord, RunSummary, count};
use super::service::{Found, Runs};
use crate::base::storage::StorageError;
use crate::modules::outcome::Outcome;

/// A run, its results, and how its modules ended, as of one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// The run; its counts are those of what stands beside it.
    pub summary: RunSummary,
    /// All results so far, by id.
    pub results: Vec<ResultRecord>,
    /// The modules that ended so far.
    pub modules: Vec<ModuleReport>,
    /// When it was like that.
    pub as_of: Timestamp,
}

impl RunRecord {
    /// What the store gave in three reads: a run that is driven elsewhere may have gone on in between, so
    /// its counts are made anew.
    fn of_reads(
        mut summary: RunSummary,
        results: Vec<ResultRecord>,
        modules: Vec<ModuleReport>,
        as_of: Timestamp,
    ) -> Self {
        summary.total_results = count(results.len());
        if !summary.status.is_terminal() {
            summary.coverage = Coverage::of(modules.iter().map(|module| module.status));
            summary.progress = Progress {
                modules_completed: count(modules.len()),
                modules_with_hits: summary.coverage.hit,
                ..summary.progress
            };
        }
        Self { summary, results, modules, as_of }
    }

    /// The modules that ended so, by platform and id.
    pub fn modules_that(&self, outcome: Outcome) -> Vec<&ModuleReport> {
        let mut modules: Vec<&ModuleReport> =
            self.modules.iter().filter(|module| module.status == outcome).collect();
        modules.sort_by_cached_key(|module| (module.platform.to_lowercase(), module.module.clone()));
        modules
    }
}

impl Runs {
    /// All of a run.
    ///
    /// # Errors
    /// The store's failure.
    pub fn record(&self, found: &Found) -> Result<RunRecord, StorageError> {
        let as_of = self.workshop.clock.now();
        match found {
            Found::Live(run) => Ok(run.record(as_of)),
            Found::Stored(summary) => {
                let results = self.stored_results(summary.id)?;
                Ok(RunRecord::of_reads((**summary).clone(), results, self.reports(found)?, as_of))
            }
        }
    }
}
