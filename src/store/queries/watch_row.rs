//! Rows of `watches`.

use crate::base::storage::StorageError;
use crate::model::interval::Interval;
use crate::model::search::Search;
use crate::model::watch::{ChangeKind, PauseReason, Watch};
use crate::modules::query::SearchType;
use crate::store::document::decode;
use crate::store::number::number;
use crate::store::value::Row;

/// The columns that [`read_watch`] reads.
macro_rules! watch_columns {
    () => {
        "id, account, search_type, query, premium, options, choice, every_secs, notify_on, webhook, paused, \
         next_at, created_at, last_run, is_open"
    };
}
pub(super) use watch_columns;

/// The number of columns in [`watch_columns`].
pub(super) const WATCH_COLUMNS: usize = 15;

/// Reads a row whose first columns are [`watch_columns`].
pub(super) fn read_watch(row: &Row) -> Result<Watch, StorageError> {
    let paused = row.optional_text(10)?.map(|name| {
        PauseReason::from_name(name)
            .ok_or_else(|| StorageError::broken("a watch is paused for an unknown reason"))
    });
    Ok(Watch {
        id: row.get(0)?,
        account: row.get(1)?,
        search: Search {
            search_type: SearchType::from_name(row.text(2)?)
                .ok_or_else(|| StorageError::broken("a watch has an unknown search type"))?,
            query: row.get(3)?,
            premium: row.get(4)?,
            options: decode(row.text(5)?)?,
            choice: decode(row.text(6)?)?,
            follow: None,
            purpose: None,
        },
        every: Interval::from_secs(number(row.get(7)?)?)
            .ok_or_else(|| StorageError::broken("a watch has an interval that is not allowed"))?,
        notify_on: read_kinds(row.text(8)?)?,
        webhook: row.get(9)?,
        paused: paused.transpose()?,
        next_at: row.get(11)?,
        created_at: row.get(12)?,
        last_run: row.get(13)?,
        is_open: row.get(14)?,
    })
}

/// Reads kinds of changes. Kinds of a later version are left out.
fn read_kinds(text: &str) -> Result<Vec<ChangeKind>, StorageError> {
    let names: Vec<String> = decode(text)?;
    Ok(names.iter().filter_map(|name| ChangeKind::from_name(name)).collect())
}
