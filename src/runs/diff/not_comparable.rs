//! Why two runs may not be comparable.

/// Why two runs cannot be compared. The display text is meant for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// A run has not ended.
    #[error("a run has not ended; only runs that have ended can be compared")]
    Running,
    /// The queries have different types or normal forms.
    #[error("the runs have different queries; only runs of one type and query can be compared")]
    OtherQuery,
    /// Only one of the runs asked the real web.
    #[error("only one of the runs is of the simulated web; two runs of the same web can be compared")]
    OtherWeb,
}
