//! Which old runs are removed together, the same in both databases.

use jiff::Timestamp;
use uuid::Uuid;

use super::row::number;
use crate::account::audit::{Action, Deed};
use crate::base::clock::rfc3339_millis;
use crate::base::storage::StorageError;
use crate::runs::retention::BatchSize;

/// The first of the runs (each with the number of its results) that make up a batch: at least one.
pub(super) fn first_batch(old: &[(Uuid, i64)], most: BatchSize) -> Result<Vec<Uuid>, StorageError> {
    let (mut batch, mut results) = (Vec::new(), 0u64);
    for (run, total) in old.iter().take(most.runs) {
        results = results.saturating_add(number(*total)?);
        if results > most.results && !batch.is_empty() {
            break;
        }
        batch.push(*run);
    }
    Ok(batch)
}

/// So many runs that ended before then were removed.
pub(super) fn swept(runs: u64, ended_before: Timestamp) -> Deed {
    Deed::of_service(Action::RunsSwept).with("runs", runs).with("ended_before", rfc3339_millis(ended_before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_bounded_by_runs_and_results_and_never_empty() {
        let runs: Vec<Uuid> = (1..=4).map(Uuid::from_u128).collect();
        let with = |totals: &[i64], most| {
            let old: Vec<(Uuid, i64)> = runs.iter().copied().zip(totals.iter().copied()).collect();
            first_batch(&old, most).unwrap().len()
        };
        let most = BatchSize { runs: 3, results: 10 };
        assert_eq!(with(&[0, 0, 0, 0], most), 3);
        assert_eq!(with(&[4, 6, 1, 0], most), 2);
        assert_eq!(with(&[11, 0, 0, 0], most), 1);
        assert_eq!(with(&[], most), 0);
    }
}
