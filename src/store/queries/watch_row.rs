//! Rows of `watches`.

use crate::base::storage::StorageError;
use crate::model::interval::Interval;
use crate::model::search::Search;
use crate::model::watch::Watch;
use crate::store::value::{Cells, FromCell, FromRow, Value, row};

row! {
    watch_columns: Watch from "" {
        id, account, search = "search_type, query, premium, options, choice", every = "every_secs", notify_on, webhook,
        paused, next_at, created_at, last_run, is_open
    }
}
pub(super) use watch_columns;

impl FromRow for Search {
    fn from_row(cells: &mut Cells<'_>) -> Result<Self, StorageError> {
        let (search_type, query, premium, options, choice) = cells.read()?;
        Ok(Self { search_type, query, premium, options, choice, follow: None, purpose: None })
    }
}

impl FromCell for Interval {
    fn from_cell(cell: &Value<'_>) -> Option<Self> {
        u64::from_cell(cell).and_then(Self::from_secs)
    }
}
