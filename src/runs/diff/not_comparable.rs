//! Why two runs may not be comparable.

use std::fmt;

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
