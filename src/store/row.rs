//! A row of `runs`, as both databases give it, and the numbers of SQL.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::document::decode;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::modules::query::SearchType;
use crate::runs::journal::Changes;
use crate::runs::run::{RunSummary, Status};

/// The columns of [`RunRow`], in its order, of a table or query named `runs`. PostgreSQL gives `json` as text.
macro_rules! run_columns {
    () => {
        "id, account, status, search_type, query, premium, total_results, CAST(progress AS text), \
         CAST(coverage AS text), credits_charged, created_at, completed_at, CAST(error AS text), \
         simulated, revision"
    };
}
pub(super) use run_columns;

/// How many columns [`run_columns`] names.
pub(super) const RUN_COLUMNS: usize = 15;

/// A row of `runs` without its long documents.
pub(super) struct RunRow {
    pub(super) id: Uuid,
    pub(super) account: Uuid,
    pub(super) status: String,
    pub(super) search_type: String,
    pub(super) query: String,
    pub(super) premium: bool,
    pub(super) total_results: i64,
    pub(super) progress: String,
    pub(super) coverage: String,
    pub(super) credits_charged: i64,
    pub(super) created_at: Timestamp,
    pub(super) completed_at: Option<Timestamp>,
    pub(super) error: Option<String>,
    pub(super) simulated: bool,
    pub(super) revision: i64,
}

impl RunRow {
    /// What the row says.
    pub(super) fn into_summary(self) -> Result<RunSummary, StorageError> {
        Ok(RunSummary {
            id: RunId(self.id),
            account: AccountId(self.account),
            status: Status::from_name(&self.status)
                .ok_or_else(|| StorageError::broken("a run has an unknown status"))?,
            search_type: SearchType::from_name(&self.search_type)
                .ok_or_else(|| StorageError::broken("a run has an unknown search type"))?,
            query: self.query,
            premium: self.premium,
            simulated: self.simulated,
            total_results: number(self.total_results)?,
            revision: number(self.revision)?,
            progress: decode(&self.progress)?,
            coverage: decode(&self.coverage)?,
            credits_charged: number(self.credits_charged)?,
            created_at: self.created_at,
            completed_at: self.completed_at,
            error: self.error.as_deref().map(decode).transpose()?,
        })
    }
}

/// A number of SQL as one of ours.
pub(super) fn number<T: TryFrom<i64>>(stored: i64) -> Result<T, StorageError> {
    T::try_from(stored).map_err(|_| StorageError::broken(format!("the number {stored} is out of range")))
}

/// One of our numbers for SQL.
pub(super) fn bigint<T: TryInto<i64> + Copy + std::fmt::Display>(value: T) -> Result<i64, StorageError> {
    value.try_into().map_err(|_| StorageError::broken(format!("the number {value} is too large to store")))
}

/// A count for `LIMIT`: more than SQL can count is no limit.
pub(super) fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A time span as whole milliseconds.
pub(super) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// The bounds of changes for `(revision > since OR id > known) AND revision <= until`, in this order.
pub(super) fn bounds(changes: Changes) -> Result<(i64, i64, i64), StorageError> {
    let since = changes.since.map_or(Ok(-1), bigint)?;
    Ok((since, i64::from(changes.known), bigint(changes.until)?))
}
