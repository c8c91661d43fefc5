//! Reading runs and results.

use postgres::Row;

use super::error::storage;
use crate::base::storage::StorageError;
use crate::runs::run::{ResultRecord, RunSummary};
use crate::store::document::decode;
use crate::store::row::RunRow;

/// Columns of a result; `$1` the run, `$2` the last id that is known, `$3` how many.
pub(super) const RESULTS: &str =
    "SELECT record::text FROM results WHERE run = $1 AND id > $2 ORDER BY id LIMIT $3";

/// The same of what was added or changed; `$3` to `$5` the bounds, `$6` how many.
pub(super) const CHANGES: &str = "SELECT record::text FROM results \
     WHERE run = $1 AND id > $2 AND (revision > $3 OR id > $4) AND revision <= $5 ORDER BY id LIMIT $6";

/// A row whose first columns are those of [`RunRow`].
pub(super) fn summary(row: &Row) -> Result<RunSummary, StorageError> {
    let read = || {
        Ok(RunRow {
            id: row.try_get(0)?,
            account: row.try_get(1)?,
            status: row.try_get(2)?,
            search_type: row.try_get(3)?,
            query: row.try_get(4)?,
            premium: row.try_get(5)?,
            total_results: row.try_get(6)?,
            progress: row.try_get(7)?,
            coverage: row.try_get(8)?,
            credits_charged: row.try_get(9)?,
            created_at: row.try_get(10)?,
            completed_at: row.try_get(11)?,
            error: row.try_get(12)?,
            simulated: row.try_get(13)?,
            revision: row.try_get(14)?,
        })
    };
    read().map_err(storage)?.into_summary()
}

/// A row of [`RESULTS`] or [`CHANGES`].
pub(super) fn result(row: &Row) -> Result<ResultRecord, StorageError> {
    decode(text(row, 0)?)
}

/// A text column.
pub(super) fn text(row: &Row, column: usize) -> Result<&str, StorageError> {
    row.try_get(column).map_err(storage)
}
