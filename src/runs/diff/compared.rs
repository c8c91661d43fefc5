//! The two runs of a diff.

use std::fmt;

use jiff::Timestamp;

use crate::base::ids::RunId;
use crate::modules::query::Query;
use crate::runs::run::{ModuleReport, ResultRecord, Status};

/// A run that can be compared.
#[derive(Debug, Clone)]
pub struct DiffRun<'a> {
    /// The id of the run.
    pub run_id: RunId,
    /// The query.
    pub query: Query,
    /// The status.
    pub status: Status,
    /// Whether the results come from the simulated web.
    pub simulated: bool,
    /// The time at which the search was accepted.
    pub created_at: Timestamp,
    /// The results.
    pub results: &'a [ResultRecord],
    /// The outcomes of the modules.
    pub modules: &'a [ModuleReport],
}

/// Why two runs cannot be compared. The display text is meant for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotComparable {
    /// A run has not ended.
    Running,
    /// The queries have different types or normal forms.
    OtherQuery,
    /// Only one of the runs asked the real web.
    OtherWeb,
}

impl fmt::Display for NotComparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "a run has not ended; only runs that have ended can be compared",
            Self::OtherQuery => {
                "the runs have different queries; only runs of one type and query can be compared"
            }
            Self::OtherWeb => {
                "only one of the runs is of the simulated web; two runs of the same web can be compared"
            }
        })
    }
}

impl std::error::Error for NotComparable {}
