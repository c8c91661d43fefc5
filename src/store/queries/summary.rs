//! Rows of `runs` without their long documents.

use std::sync::Arc;

use super::notes::read_notes;
use crate::base::storage::StorageError;
use crate::model::follow::Membership;
use crate::model::run::{RunSummary, Status};
use crate::modules::query::SearchType;
use crate::store::document::decode;
use crate::store::number::number;
use crate::store::value::Row;

/// The columns that [`read_summary`] reads.
macro_rules! run_columns {
    () => {
        "id, account, status, search_type, query, premium, total_results, progress, coverage, \
             credits_charged, created_at, completed_at, error, simulated, revision, options, follow, \
             root_run, parent_run, depth, watch, batch, stopped_at, retry_of, choice, tags, note"
    };
}
pub(super) use run_columns;

/// The number of columns in [`run_columns`].
pub(super) const RUN_COLUMNS: usize = 27;

/// Reads a row whose first columns are [`run_columns`].
pub(super) fn read_summary(row: &Row) -> Result<RunSummary, StorageError> {
    Ok(RunSummary {
        id: row.get(0)?,
        account: row.get(1)?,
        status: Status::from_name(row.text(2)?)
            .ok_or_else(|| StorageError::broken("a run has an unknown status"))?,
        search_type: SearchType::from_name(row.text(3)?)
            .ok_or_else(|| StorageError::broken("a run has an unknown search type"))?,
        query: row.get(4)?,
        premium: row.get(5)?,
        simulated: row.get(13)?,
        total_results: number(row.get(6)?)?,
        revision: number(row.get(14)?)?,
        queue_position: None,
        options: decode(row.text(15)?)?,
        choice: row.optional_text(24)?.map(decode).transpose()?.map(Arc::new),
        follow: row.optional_text(16)?.map(decode).transpose()?.map(Arc::new),
        family: read_place(row)?,
        watch: row.get(20)?,
        batch: row.get(21)?,
        stopped_at: row.get(22)?,
        retry_of: row.get(23)?,
        notes: read_notes(row, 25)?,
        progress: decode(row.text(7)?)?,
        coverage: decode(row.text(8)?)?,
        credits_charged: number(row.get(9)?)?,
        created_at: row.get(10)?,
        completed_at: row.get(11)?,
        error: row.optional_text(12)?.map(decode).transpose()?,
    })
}

fn read_place(row: &Row) -> Result<Option<Membership>, StorageError> {
    let (Some(root), Some(parent)) = (row.get(17)?, row.get(18)?) else { return Ok(None) };
    Ok(Some(Membership { root, parent, depth: number(row.get(19)?)? }))
}
