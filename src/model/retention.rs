//! The removal of old runs, in steps.

/// The maximum size of one transaction. Other writers wait for it. On SQLite, all of them do.
pub const BATCH: BatchSize = BatchSize { runs: 50, results: 1000 };

/// The size of a batch that one transaction removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSize {
    /// The maximum number of runs.
    pub runs: usize,
    /// The maximum number of results of all runs together, unless a single run has more.
    pub results: u64,
}
