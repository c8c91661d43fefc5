//! What both databases say of `module_health`: its columns, and how counts fade.

use crate::base::storage::StorageError;
use crate::modules::outcome::Outcome;
use crate::runs::health::tally::{NOTHING, Tally};
use crate::store::row::number;

/// The columns of a row, in the order in which they are read.
macro_rules! health_columns {
    () => {
        "module, checks, hit, miss, blocked, rate_limited, timeout, error, unreliable, latency_sum, \
         latency_weight, last_checked_at, last_hit_at, last_conclusive_at"
    };
}
pub(super) use health_columns;

/// `column = what is left of it + what is new`. What is next to nothing becomes nothing: see [`NOTHING`].
macro_rules! faded {
    ($column:literal, $kept:literal, $new:literal) => {
        concat!(
            $column,
            " = CASE WHEN module_health.",
            $column,
            " < 1e-9 THEN 0 ELSE module_health.",
            $column,
            " * ",
            $kept,
            " END + ",
            $new
        )
    };
}
pub(super) use faded;

// The SQL above has it as text.
const _: () = assert!(NOTHING == 1e-9);

/// Outcomes with a column: what was skipped is never counted.
pub(super) const COUNTED: usize = Outcome::ALL.len() - 1;

/// A row's numbers; its times are of another type in each database.
pub(super) struct Counts {
    pub(super) checks: i64,
    pub(super) outcomes: [f64; COUNTED],
    pub(super) latency: [f64; 2],
}

impl Counts {
    /// A tally without its times.
    pub(super) fn into_tally(self) -> Result<Tally, StorageError> {
        let mut tally = Tally { checks: number(self.checks)?, latency: self.latency, ..Tally::default() };
        tally.outcomes[..COUNTED].copy_from_slice(&self.outcomes);
        Ok(tally)
    }
}
