//! Rows of `runs` without their long documents.

use crate::base::storage::StorageError;
use crate::model::follow::Membership;
use crate::model::run::RunSummary;
use crate::store::value::{Cells, FromRow, row};

row! {
    run_columns: RunSummary from "" {
        id, account, status, search_type, query, premium, options, choice, follow,
        family = "root_run, parent_run, depth", watch, batch, retry_of, simulated, total_results, revision, progress,
        coverage, credits_charged, created_at, completed_at, stopped_at, error,
        // It is counted where it is wanted.
        queue_position = "CAST(NULL AS bigint)", notes = "tags, note"
    }
}
pub(super) use run_columns;

impl FromRow for Option<Membership> {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self, StorageError> {
        let (root, parent, depth) = cells.read::<(Option<_>, Option<_>, _)>()?;
        Ok(root.zip(parent).map(|(root, parent)| Membership { root, parent, depth }))
    }
}
