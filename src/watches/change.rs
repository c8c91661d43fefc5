//! A change that a watch has found.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::base::clock::millis;
use crate::base::ids::{RunId, WatchChangeId};
use crate::base::words::words;
use crate::runs::diff::difference::Difference;

words! {
    /// The kind of a change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = WatchChangeKind)]
    pub enum ChangeKind {
        /// A result that was not there before.
        Added = "added",
        /// A result that is no longer there.
        Removed = "removed",
        /// A result whose data differs.
        Changed = "changed",
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

/// A change that a watch has found.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = WatchChange)]
pub struct StoredChange {
    /// Identifies the change.
    // The ids are in the order of the changes.
    #[schema(value_type = uuid::Uuid, examples("018f4b1a-2c3d-7e4f-8a5b-6c7d8e9f0a1c"))]
    pub id: WatchChangeId,
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Run with which the result was compared: the last one in which its module came to a conclusion. It may have been
    /// deleted since.
    #[serde(rename = "run_before_id")]
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_before: RunId,
    /// Run in which the change was found. It may have been deleted since.
    #[serde(rename = "run_after_id")]
    #[schema(value_type = uuid::Uuid, examples("018f4b1a-2c3d-7e4f-8a5b-6c7d8e9f0a1b"))]
    pub run_after: RunId,
    /// Time at which the change was found: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    #[schema(examples("2026-05-07T07:32:21.500Z"))]
    pub at: Timestamp,
    /// The result, with the data that differs.
    #[serde(rename = "result")]
    #[schema(value_type = Difference)]
    pub difference: Value,
}
