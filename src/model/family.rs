//! [`StoredFamily`]: the run that was asked for, and those that its leads have started.

use std::collections::HashSet;

use crate::base::ids::RunId;
use crate::model::follow::{FollowEnd, FollowedLead};
use crate::model::run::RunSummary;

/// A family as it is stored.
#[derive(Debug, Clone)]
pub struct StoredFamily {
    /// The runs that exist, in the order of their creation. The root is the first, unless it was deleted.
    pub members: Vec<RunSummary>,
    /// The leads for which runs were started, in the order of these runs. Empty if the root was deleted.
    pub followed: Vec<FollowedLead>,
    /// The number of accounts that are or were looked up in each of these runs.
    pub lookups: Vec<u32>,
    /// Whether the root is still to follow leads.
    pub is_following: bool,
    /// How the following of leads has ended, if it has.
    pub end: Option<FollowEnd>,
}

/// Returns the id of a run and those of the runs below it. `members` are in the order of their creation.
pub fn with_runs_below<'a>(members: impl IntoIterator<Item = &'a RunSummary>, run: RunId) -> HashSet<RunId> {
    let mut ids = HashSet::from([run]);
    // A run is started after its parent.
    for member in members {
        if member.family.is_some_and(|place| ids.contains(&place.parent)) {
            ids.insert(member.id);
        }
    }
    ids
}
