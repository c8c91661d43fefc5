//! [`StoredFamily`]: the run that was asked for, and those that its leads have started. How far they are followed, and the
//! runs below a run as a tree, are read without results.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::RunId;
use crate::model::follow::{Class, FollowEnd, FollowedLead, LeadCounts};
use crate::model::run::{RunSummary, count};

/// A family as it is stored.
#[derive(Debug, Clone, Default)]
pub struct StoredFamily {
    /// The runs that exist, in the order of their creation. The root is the first, unless it was deleted.
    pub members: Vec<RunSummary>,
    /// The leads for which runs were started, in the order of these runs. Empty if the root was deleted.
    pub followed: Vec<FollowedLead>,
    /// The number of accounts that are or were looked up in these runs.
    pub lookups: u32,
    /// Whether the root is still to follow leads.
    pub is_following: bool,
    /// How the following of leads has ended, if it has.
    pub end: Option<FollowEnd>,
}

/// How far the leads of a search are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FollowState {
    /// `completed` if no search of the family is running and no further lead will be followed.
    pub status: FollowStatus,
    /// Number of searches that leads have started.
    pub searches_started: u32,
    /// Number of these that have ended.
    pub searches_completed: u32,
    /// Number of accounts that are or were looked up.
    pub lookups: u32,
    /// Numbers of leads. Those that were not followed are counted at the end.
    pub leads: LeadCounts,
}

/// Whether leads are still followed: `running` or `completed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FollowStatus {
    /// Further leads may be followed, or searches of the family are running.
    Running,
    /// All is done.
    Completed,
}

impl FollowState {
    /// Returns the state of a family, or of a part of it.
    pub fn of(family: &StoredFamily) -> Self {
        // The first is the run itself. If the root was deleted, it is not known which leads were followed.
        let below = family.members.get(1..).unwrap_or_default();
        let ended = below.iter().filter(|run| run.status.is_terminal()).count();
        let started = family.followed.len().max(below.len());
        let is_running = family.is_following || family.members.iter().any(|run| !run.status.is_terminal());
        let so_far = LeadCounts { followed: count(started) + family.lookups, not_followed: 0 };
        Self {
            status: if is_running { FollowStatus::Running } else { FollowStatus::Completed },
            searches_started: count(started),
            // Runs that were deleted since have ended, too.
            searches_completed: count(ended + started - below.len()),
            lookups: family.lookups,
            leads: family.end.map_or(so_far, |FollowEnd { leads, .. }| leads),
        }
    }
}

/// The place of a run in its family, and the runs below it.
#[derive(Debug, Clone, Default)]
pub struct FamilyTree {
    /// The run whose lead has started the run, unless it was deleted.
    pub parent: Option<RunSummary>,
    /// The runs below the run. Each comes after its parent, and before the next run of the same parent.
    pub below: Vec<TreeRun>,
    /// Whether the run or one below it is running, or leads of the family are still followed.
    pub is_open: bool,
}

/// A run of a tree.
#[derive(Debug, Clone)]
pub struct TreeRun {
    /// The number of leads between the run at the top and this one, from 1.
    pub level: usize,
    /// The class of the lead.
    pub class: Class,
    /// The run.
    pub run: RunSummary,
}

impl FamilyTree {
    /// Returns the place of a run of the family, and the runs below it.
    pub fn of(family: &StoredFamily, run: RunId) -> Self {
        let member = |id: RunId| family.members.iter().find(|member| member.id == id);
        let itself = member(run);
        let place = itself.and_then(|itself| itself.family);
        let mut below = Vec::new();
        add(family, run, 1, &mut below);
        let mut runs = itself.into_iter().chain(below.iter().map(|entry| &entry.run));
        let is_open = family.is_following || runs.any(|run| !run.status.is_terminal());
        Self { parent: place.and_then(|place| member(place.parent)).cloned(), below, is_open }
    }
}

/// Adds the runs below `parent`. A family has few runs, and a run is started after its parent, so there are no circles.
fn add(family: &StoredFamily, parent: RunId, level: usize, below: &mut Vec<TreeRun>) {
    let children = family.members.iter().filter(|run| run.family.is_some_and(|place| place.parent == parent));
    for run in children {
        let followed = family.followed.iter().find(|followed| followed.run == run.id);
        let class = followed.map_or(Class::Stated, |followed| followed.class);
        below.push(TreeRun { level, class, run: run.clone() });
        add(family, run.id, level + 1, below);
    }
}
