//! [`Matrix`]: the outcomes of the searches of a batch by platform.

use std::collections::{BTreeMap, HashMap};

use crate::base::ids::RunId;
use crate::model::batch::BatchRow;
use crate::model::run::ModuleReport;
use crate::modules::outcome::Outcome;

/// The queries of a batch by the platforms that were asked.
#[derive(Debug, Default)]
pub struct Matrix {
    /// The modules of all runs, by their ids, with the names of their platforms.
    platforms: BTreeMap<String, String>,
    rows: Vec<(BatchRow, HashMap<String, Outcome>)>,
}

/// A module that at least one search has asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column<'a> {
    /// The id of the module.
    pub module: &'a str,
    /// The name of its platform.
    pub platform: &'a str,
    /// The number of searches with a hit.
    pub hits: usize,
}

impl Matrix {
    /// Adds rows, with the reports of their runs.
    pub(super) fn add(&mut self, rows: Vec<BatchRow>, reports: &[(RunId, Vec<ModuleReport>)]) {
        let by_run: HashMap<RunId, &Vec<ModuleReport>> =
            reports.iter().map(|(run, modules)| (*run, modules)).collect();
        for row in rows {
            let modules = row.run().and_then(|run| by_run.get(&run.id));
            let mut outcomes = HashMap::new();
            for report in modules.into_iter().copied().flatten() {
                outcomes.insert(report.module.clone(), report.status);
                if !self.platforms.contains_key(&report.module) {
                    self.platforms.insert(report.module.clone(), report.platform.clone());
                }
            }
            self.rows.push((row, outcomes));
        }
    }

    /// Returns the columns: first the modules with the most hits, and then by their platforms.
    pub fn columns(&self) -> Vec<Column<'_>> {
        let mut hits: HashMap<&str, usize> = HashMap::new();
        for (module, outcome) in self.rows.iter().flat_map(|(_, outcomes)| outcomes) {
            *hits.entry(module).or_default() += usize::from(*outcome == Outcome::Hit);
        }
        let columns = self.platforms.iter().map(|(module, platform)| {
            let hits = hits.get(module.as_str()).copied().unwrap_or_default();
            Column { module, platform, hits }
        });
        let mut columns: Vec<Column<'_>> = columns.collect();
        columns.sort_by_cached_key(|column| {
            (std::cmp::Reverse(column.hits), column.platform.to_lowercase(), column.module.to_owned())
        });
        columns
    }

    /// Returns the rows, each with its outcomes in the order of `columns`. A module that was not asked has none.
    pub fn rows<'a>(
        &'a self,
        columns: &'a [Column<'a>],
    ) -> impl Iterator<Item = (&'a BatchRow, Vec<Option<Outcome>>)> {
        self.rows.iter().map(|(row, outcomes)| {
            (row, columns.iter().map(|column| outcomes.get(column.module).copied()).collect())
        })
    }
}
