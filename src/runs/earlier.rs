//! [`EarlierConclusions`]: the conclusions of a run before it was interrupted. They are restored from its reports,
//! which do not record whether a list was fetched or local.

use crate::model::run::ModuleReport;
use crate::modules::catalog::Catalog;
use crate::modules::reason::Reason;

/// Whether the sites that a run has queried so far had conclusions. Local lists do not count, since they need no
/// network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EarlierConclusions {
    /// Whether some site had a conclusion.
    pub site_concluded: bool,
    /// Whether some site had no conclusion.
    pub site_failed: bool,
}

impl EarlierConclusions {
    /// Restores the state from the reports of modules that have ended. A module that the catalogue no longer has counts
    /// as a site.
    pub fn of(done: &[ModuleReport], catalog: &Catalog) -> Self {
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
