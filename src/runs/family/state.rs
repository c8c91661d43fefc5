//! [`FollowState`]: how far the leads of a search are followed.

use serde::Serialize;
use utoipa::ToSchema;

use crate::model::family::StoredFamily;
use crate::model::follow::{FollowEnd, LeadCounts};
use crate::model::run::count;

/// How far the leads of a search are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct FollowState {
    /// `completed` if no search of the family is running and no further lead will be followed.
    pub status: FollowStatus,
    /// Number of searches that leads have started.
    #[schema(examples(3))]
    pub searches_started: u32,
    /// Number of these that have ended.
    #[schema(examples(2))]
    pub searches_completed: u32,
    /// Number of accounts that are or were looked up.
    #[schema(examples(5))]
    pub lookups: u32,
    /// Numbers of leads. Those that were not followed are counted at the end.
    pub leads: LeadCounts,
}

/// Whether leads are still followed: `running` or `completed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
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
        let lookups = family.lookups.iter().sum();
        let is_running = family.is_following || family.members.iter().any(|run| !run.status.is_terminal());
        let so_far = LeadCounts { followed: count(started) + lookups, not_followed: 0 };
        Self {
            status: if is_running { FollowStatus::Running } else { FollowStatus::Completed },
            searches_started: count(started),
            // Runs that were deleted since have ended, too.
            searches_completed: count(ended + started - below.len()),
            lookups,
            leads: family.end.map_or(so_far, |FollowEnd { leads, .. }| leads),
        }
    }

    /// Returns whether leads are still followed.
    pub fn is_running(&self) -> bool {
        self.status == FollowStatus::Running
    }
}
