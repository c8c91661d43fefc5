//! A change that a watch has found.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::base::ids::{RunId, WatchChangeId};
use crate::runs::diff::difference::Difference;

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = WatchChangeKind)]
pub enum ChangeKind {
    /// A result that was not there before.
    Added,
    /// A result that is no longer there.
    Removed,
    /// A result whose data differs.
    Changed,
}

impl ChangeKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Added, Self::Removed, Self::Changed];

    /// Returns `added`, `removed` or `changed`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }

    /// Returns the kind with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A change that a comparison has found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundChange {
    /// The kind.
    pub kind: ChangeKind,
    /// The run with which the result was compared. It may have been deleted since.
    pub run_before: RunId,
    /// The result, with the fields that differ.
    pub difference: Difference,
}

/// A change as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredChange {
    /// The id, which is in the order of the changes.
    pub id: WatchChangeId,
    /// The kind.
    pub kind: ChangeKind,
    /// The run with which the result was compared. It may have been deleted since.
    pub run_before: RunId,
    /// The run in which the change was found. It may have been deleted since.
    pub run_after: RunId,
    /// The time at which it was found.
    pub at: Timestamp,
    /// The result, with the fields that differ: a [`Difference`] as JSON.
    pub difference: Value,
}
