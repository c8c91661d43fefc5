//! [`Job`]: a run and the data that its driver needs.

use std::sync::Arc;

use super::earlier::EarlierConclusions;
use super::live::LiveRun;
use crate::modules::module::Module;
use crate::modules::query::Query;

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
