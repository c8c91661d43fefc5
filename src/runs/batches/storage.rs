//! [`BatchStore`]: storage of batches.

use std::time::Duration;

use jiff::Timestamp;

use super::batch::{Batch, BatchRow, NewBatch, RowRefusal};
use super::row::RowRef;
use super::search::BatchSearch;
use crate::account::audit::Origin;
use crate::base::ids::{AccountId, BatchId, RunId};
use crate::base::storage::StorageError;
use crate::runs::run::ModuleReport;

/// The result of [`BatchStore::add_batch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// The batch was added.
    Done,
    /// The idempotency key was used before with the same body. Contains the batch of that request.
    Repeated(BatchId),
    /// The idempotency key was used before with another body.
    Mismatch,
    /// The account does not exist or is being deleted.
    UnknownAccount,
}

/// The row whose turn has come.
#[derive(Debug, Clone, PartialEq)]
pub struct NextRow {
    /// The row.
    pub row: RowRef,
    /// The account that is charged.
    pub account: AccountId,
    /// What is searched. It is `None` if this version of the program cannot read it.
    pub search: Option<BatchSearch>,
}

/// The storage of batches. Every call is one transaction. A row is started by
/// [`Journal::start`](crate::runs::journal::Journal::start). `store` is the only implementation: the trait keeps SQL out
/// of this layer.
pub trait BatchStore: Send + Sync {
    /// Adds a batch with all its rows, and an audit entry.
    fn add_batch(&self, batch: &NewBatch, by: &Origin) -> Result<Added, StorageError>;

    /// Returns a batch of that account, or `None` if there is none with that id.
    fn batch(&self, account: AccountId, id: BatchId) -> Result<Option<Batch>, StorageError>;

    /// Returns at most `limit` batches of an account before a place in the order of `(created_at, id)`, the newest
    /// first.
    fn batches(
        &self,
        account: AccountId,
        before: Option<(Timestamp, BatchId)>,
        limit: usize,
    ) -> Result<Vec<Batch>, StorageError>;

    /// Returns at most `limit` rows of a batch with positions above `after`, in order.
    fn batch_rows(&self, id: BatchId, after: u32, limit: usize) -> Result<Vec<BatchRow>, StorageError>;

    /// Returns the reports of the modules that have ended, of the runs of the rows with positions above `after`, at most
    /// `limit` of them.
    fn batch_reports(
        &self,
        id: BatchId,
        after: u32,
        limit: usize,
    ) -> Result<Vec<(RunId, Vec<ModuleReport>)>, StorageError>;

    /// Stops a batch: no further row is started. Adds an audit entry unless it was stopped or had ended before. Returns
    /// `false` if the account has no such batch.
    fn stop_batch(
        &self,
        account: AccountId,
        id: BatchId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError>;

    /// Returns the row that is to be started next on the simulated or the real web. Accounts take turns. Batches that
    /// wait for credits are left out until their next try.
    fn next_row(&self, simulated: bool) -> Result<Option<NextRow>, StorageError>;

    /// Refuses a pending row.
    fn refuse_row(&self, row: RowRef, reason: RowRefusal) -> Result<(), StorageError>;

    /// Records that an account has not enough credits for its batches. They are tried again after that time.
    fn wait_for_credits(&self, account: AccountId, pause: Duration) -> Result<(), StorageError>;

    /// Ends the batches with no row that is pending and no run that is running, and reports each to the webhooks of its
    /// account, once. Returns them.
    fn end_batches(&self, simulated: bool) -> Result<Vec<BatchId>, StorageError>;
}
