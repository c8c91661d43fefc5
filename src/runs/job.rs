//! [`Job`]: a run and the data that its driver needs.

use std::sync::Arc;

use super::live::LiveRun;
use crate::model::run::ModuleReport;
use crate::modules::catalog::Catalog;
use crate::modules::module::Module;
use crate::modules::query::Query;
use crate::modules::reason::Reason;

/// A run and the data that its driver needs.
pub(super) struct Job {
    /// The run.
    pub(super) run: Arc<LiveRun>,
    /// The query of the run.
    pub(super) query: Query,
    /// The modules that have not ended yet.
    pub(super) modules: Vec<Arc<Module>>,
    /// The ids of modules that have not ended and that the catalogue no longer has.
    pub(super) gone: Vec<String>,
    /// The conclusions of the modules that have ended.
    pub(super) earlier: EarlierConclusions,
}

/// Whether the sites that a run had queried before it was interrupted had conclusions. Local lists do not count, since
/// they need no network. It is restored from the reports, which do not record whether a list was fetched or local.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct EarlierConclusions {
    /// Whether some site had a conclusion.
    pub(super) site_concluded: bool,
    /// Whether some site had no conclusion.
    pub(super) site_failed: bool,
}

impl EarlierConclusions {
    /// Restores the state from the reports of modules that have ended. A module that the catalogue no longer has counts
    /// as a site.
    pub(super) fn of(done: &[ModuleReport], catalog: &Catalog) -> Self {
        let is_site = |report: &&ModuleReport| {
            catalog.get(&report.module).is_none_or(|module| !module.reads_only_feeds())
        };
        let sites = || done.iter().filter(is_site);
        Self {
            site_concluded: sites().any(|report| report.status.is_conclusive()),
            site_failed: sites().any(|report| {
                report.status.is_failure() || report.reason.is_some_and(Reason::is_local_fault)
            }),
        }
    }
}
