//! [`Task`]: a check that waits for its turn.

use std::sync::Arc;
use std::time::Duration;

use crate::modules::module::Module;
use crate::modules::query::Query;
use crate::runs::shared_answers::Question;

/// The number of a check, in the order in which checks were added.
pub(super) type TaskId = u64;
/// The number of a group.
pub type GroupId = u64;

/// The host that checks in browsers need besides that of their site. Its places are the pages that can be open at once.
pub(super) const BROWSERS: &str = "(browsers)";

/// The kinds of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A check of a module.
    Check,
    /// A picture, which may be fetched beside the checks.
    Picture,
    /// A task that is dropped if it cannot start at once.
    IfFree,
}

impl Kind {
    pub(super) fn lane(self) -> Lane {
        match self {
            Self::Check | Self::IfFree => Lane::Front,
            Self::Picture => Lane::Picture,
        }
    }
}

/// A check that waits for its turn.
pub struct Task {
    /// Its kind.
    pub kind: Kind,
    /// The module, unless it is no check of one.
    pub module: Option<Arc<Module>>,
    /// The hosts of each source of which it needs one. No host occurs twice in a source.
    pub sources: Vec<Vec<String>>,
    /// The question, if its answer may be that to another check.
    pub question: Option<Question>,
    /// The rate of the module.
    pub pace: Pace,
    /// The expected time until the answer.
    pub expected: Duration,
}

impl Task {
    /// Creates a task for hosts, which is no check of a module.
    pub fn plain(kind: Kind, sources: Vec<Vec<String>>) -> Self {
        let (pace, expected) = (Pace::default(), Duration::ZERO);
        Self { kind, module: None, sources, question: None, pace, expected }
    }

    /// Creates the task of a check of a module.
    pub fn of(module: &Arc<Module>, query: &Query) -> Self {
        let entry = module.entry();
        let pace = Pace { every: entry.every_ms.map(Duration::from_millis), per_day: entry.per_day };
        let mut sources = module.hosts(query);
        if module.is_premium() {
            sources.iter_mut().for_each(|hosts| hosts.push(BROWSERS.to_owned()));
        }
        Self { pace, module: Some(Arc::clone(module)), ..Self::plain(Kind::Check, sources) }
    }
}

/// The maximum rate of a module's checks, control checks included. The default is unlimited.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// The minimum time between two checks.
    pub every: Option<Duration>,
    /// The maximum number of checks in 24 hours from the first.
    pub per_day: Option<u32>,
}

/// The number of lanes.
pub(super) const LANES: usize = 3;

/// The lanes of a group: the orders in which its checks start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// Popular and fast modules come first.
    Front,
    /// Modules whose hosts are expected to need longest for each check come first.
    Tail,
    Picture,
}
