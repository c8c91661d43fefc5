//! Reading the runs of a family with their results.

use super::plan::Member;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::runs::family::member::Lookup;
use crate::runs::journal::Journal;
use crate::runs::record::Findings;
use crate::runs::run::{ModuleReport, ResultRecord, RunSummary};

/// The maximum number of results that are read from the store at once.
const PAGE: usize = 1000;

/// A run of a family with all that it has found.
#[derive(Debug, Clone)]
pub struct StoredMember {
    /// The run.
    pub summary: RunSummary,
    /// The results so far.
    pub results: Vec<ResultRecord>,
    /// The modules that have ended.
    pub modules: Vec<ModuleReport>,
    /// The accounts that are or were looked up.
    pub lookups: Vec<Lookup>,
}

impl StoredMember {
    /// Returns what leads are made of. Returns `None` if the query is not valid for this version.
    pub(super) fn member(&self) -> Option<Member<'_>> {
        let findings = Findings::of(&self.summary, &self.results)?;
        let depth = self.summary.family.map_or(0, |place| place.depth);
        Some(Member { depth, findings, modules: &self.modules })
    }
}

/// Returns all results of a run.
pub(in crate::runs) fn all_results(
    journal: &dyn Journal,
    run: RunId,
) -> Result<Vec<ResultRecord>, StorageError> {
    let mut results: Vec<ResultRecord> = Vec::new();
    loop {
        let page = journal.results(run, results.last().map_or(0, |last| last.id), PAGE)?;
        let is_last = page.len() < PAGE;
        results.extend(page);
        if is_last {
            return Ok(results);
        }
    }
}

/// Reads what these runs have found.
pub(super) fn read_members(
    journal: &dyn Journal,
    runs: Vec<RunSummary>,
) -> Result<Vec<StoredMember>, StorageError> {
    let read = |summary: RunSummary| {
        let results = all_results(journal, summary.id)?;
        let (modules, lookups) = (journal.modules(summary.id)?, journal.lookups(summary.id)?);
        Ok(StoredMember { summary, results, modules, lookups })
    };
    runs.into_iter().map(read).collect()
}
