//! What came of a run before it was interrupted: whoever goes on with it judges it as if it never had been, as far as its
//! reports tell. Whether a list was fetched or at hand they do not.

use super::run::ModuleReport;
use crate::modules::catalog::Catalog;

/// What the sites said that a run has asked so far. Lists do not count: they are at hand for everybody, and prove no
/// network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Some site gave a conclusion.
    pub site_concluded: bool,
    /// Some site came to nothing.
    pub site_failed: bool,
}

impl Earlier {
    /// From the reports of modules that have ended. One that the catalogue no longer has is taken for a site.
    pub fn of(done: &[ModuleReport], catalog: &Catalog) -> Self {
        let is_site = |report: &&ModuleReport| {
            catalog.get(&report.module).is_none_or(|module| !module.reads_lists_alone())
        };
        let sites = || done.iter().filter(is_site);
        Self {
            site_concluded: sites().any(|report| report.status.is_conclusive()),
            site_failed: sites().any(|report| report.status.is_failure()),
        }
    }
}
