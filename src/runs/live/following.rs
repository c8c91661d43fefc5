//! [`Following`]: the accounts that a run looks up, and the runs that its leads have started.

use parking_lot::Mutex;

use crate::model::follow::{FollowedLead, Lookup};
use crate::model::run::RunSummary;
use crate::modules::outcome::Outcome;
use crate::modules::reason::Reason;
use crate::runs::event::Frame;
use crate::runs::family::frames::frames;

/// The accounts that a run looks up because results name them, and the runs that its leads have started.
#[derive(Default)]
pub struct Following {
    lookups: Mutex<Vec<Lookup>>,
    /// The runs that leads of this run have started, as far as they are known before the run ends.
    children: Mutex<Vec<(FollowedLead, RunSummary)>>,
}

impl Following {
    pub(super) fn new(lookups: Vec<Lookup>) -> Self {
        Self { lookups: Mutex::new(lookups), children: Mutex::default() }
    }

    /// Returns the accounts that are or were looked up.
    pub(in crate::runs) fn lookups(&self) -> Vec<Lookup> {
        self.lookups.lock().clone()
    }

    /// Adds accounts that will be looked up.
    pub(in crate::runs) fn add_lookups(&self, planned: impl Iterator<Item = Lookup>) {
        self.lookups.lock().extend(planned);
    }

    /// Records the end of a look-up.
    pub(in crate::runs) fn end_lookup(&self, at: usize, outcome: Outcome, reason: Option<Reason>) {
        if let Some(lookup) = self.lookups.lock().get_mut(at) {
            (lookup.outcome, lookup.reason) = (Some(outcome), reason);
        }
    }

    /// Sets the runs that leads of this run have started. Readers learn of them before the `done` frame.
    pub(in crate::runs) fn set_children(&self, children: Vec<(FollowedLead, RunSummary)>) {
        *self.children.lock() = children;
    }

    /// Returns the frames for the leads that were looked up or followed.
    pub(super) fn frames(&self) -> Vec<Frame> {
        frames(&self.lookups.lock(), &self.children.lock())
    }
}
