//! [`Families`]: storage of families of runs.

use std::collections::HashSet;

use jiff::Timestamp;

use super::member::{FollowEnd, FollowedLead, Lookup};
use crate::account::audit::Origin;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::runs::run::RunSummary;

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

impl StoredFamily {
    /// Returns the part of the family that a run begins: the run and the runs below it.
    pub fn from_run(self, run: RunId) -> Self {
        let is_root = self.members.first().is_some_and(|first| first.id == run && first.family.is_none());
        if is_root {
            return self;
        }
        let part = with_runs_below(&self.members, run);
        let members = self.members.into_iter().zip(self.lookups);
        let (members, lookups) = members.filter(|(member, _)| part.contains(&member.id)).unzip();
        let followed = self.followed.into_iter().filter(|lead| part.contains(&lead.parent)).collect();
        // How leads have ended is counted for the whole family.
        Self { members, followed, lookups, is_following: self.is_following, end: None }
    }
}

/// Returns the id of a run and those of the runs below it. `members` are in the order of their creation.
pub(super) fn with_runs_below<'a>(
    members: impl IntoIterator<Item = &'a RunSummary>,
    run: RunId,
) -> HashSet<RunId> {
    let mut ids = HashSet::from([run]);
    // A run is started after its parent.
    for member in members {
        if member.family.is_some_and(|place| ids.contains(&place.parent)) {
            ids.insert(member.id);
        }
    }
    ids
}

/// The storage of families of runs. Runs are started by
/// [`Journal::start`](crate::runs::journal::Journal::start).
pub trait Families: Send + Sync {
    /// Returns the family of a root. Returns `None` if no run of it exists in this account.
    fn family(&self, root: RunId, account: AccountId) -> Result<Option<StoredFamily>, StorageError>;

    /// Returns the accounts that were looked up in a run, in the order in which they were planned.
    fn lookups(&self, run: RunId) -> Result<Vec<Lookup>, StorageError>;

    /// Returns the leads of a run for which runs were started that still exist, with these runs. Returns none if the
    /// root was deleted.
    fn children(&self, root: RunId, parent: RunId) -> Result<Vec<(FollowedLead, RunSummary)>, StorageError>;

    /// Records that no further lead of the family is followed. Does nothing if that is recorded.
    fn end_following(&self, root: RunId, end: &FollowEnd) -> Result<(), StorageError>;

    /// Returns roots that are to follow leads while no run of their family is running, with their accounts. That is so
    /// for a moment after each run has ended, and longer if a process ended in that moment.
    fn idle_families(&self, simulated: bool) -> Result<Vec<(RunId, AccountId)>, StorageError>;

    /// Deletes a root and all runs of its family, as [`Journal::delete`](crate::runs::journal::Journal::delete) deletes
    /// one run. Returns the runs; none if the root is unknown, of another account, or already deleted.
    fn delete_family(
        &self,
        root: RunId,
        account: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Vec<RunId>, StorageError>;
}
