//! [`Batches`]: the use cases of the owners of batches.

use std::sync::Arc;

use super::matrix::Matrix;
use crate::base::ids::{AccountId, BatchId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::batch::{Batch, BatchRow, NewBatch};
use crate::model::search::Search;
use crate::model::start::{Idempotency, Started};
use crate::runs::service::Runs;
use crate::store::Store;

/// The maximum number of rows whose reports are read at once.
const REPORT_ROWS: usize = 50;

/// The batches of all accounts. There is one value for each process.
pub struct Batches(Arc<Runs>);

impl Batches {
    /// Creates the use cases.
    pub fn new(runs: Arc<Runs>) -> Self {
        Self(runs)
    }

    fn store(&self) -> &Store {
        &self.0.context.store
    }

    /// Creates a batch, whose searches then start one after the other. Returns its id, which that of another batch has
    /// if the request is repeated.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn create(
        &self,
        account: AccountId,
        name: Option<String>,
        rows: Vec<(u32, Search)>,
        idempotency: Option<Idempotency>,
        by: &Origin,
    ) -> Result<(BatchId, Started), StorageError> {
        let context = &self.0.context;
        let (id, created_at, simulated) = (BatchId::new(), context.clock.now(), context.simulated);
        let batch = NewBatch { id, account, name, simulated, created_at, rows, idempotency };
        let added = self.store().add_batch(&batch, by)?;
        self.0.wake();
        Ok((if let Started::Repeated(RunId(earlier)) = added { BatchId(earlier) } else { id }, added))
    }

    /// Returns a batch of that account, or `None` if there is none with that id.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn find(&self, account: AccountId, id: BatchId) -> Result<Option<Batch>, StorageError> {
        self.store().batch(account, id)
    }

    /// Returns at most `limit` batches of an account that are older than `before`, the newest first. Returns whether
    /// there are older ones, too.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn page(
        &self,
        account: AccountId,
        before: Option<BatchId>,
        limit: usize,
    ) -> Result<(Vec<Batch>, bool), StorageError> {
        let place = match before {
            Some(id) => match self.store().batch(account, id)? {
                Some(batch) => Some((batch.created_at, batch.id)),
                None => return Ok((Vec::new(), false)),
            },
            None => None,
        };
        let mut batches = self.store().batches(account, place, limit.saturating_add(1))?;
        let has_more = batches.len() > limit;
        batches.truncate(limit);
        Ok((batches, has_more))
    }

    /// Returns at most `limit` rows of a batch with positions above `after`, in order.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn rows(&self, id: BatchId, after: u32, limit: usize) -> Result<Vec<BatchRow>, StorageError> {
        self.store().batch_rows(id, after, limit)
    }

    /// Returns the outcomes of the searches of a batch by platform.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn matrix(&self, id: BatchId) -> Result<Matrix, StorageError> {
        let mut matrix = Matrix::default();
        let mut after = 0;
        while let Some(last) = self.add_rows(&mut matrix, id, after, REPORT_ROWS)? {
            after = last;
        }
        Ok(matrix)
    }

    /// Returns the outcomes of at most `limit` searches of a batch with positions above `after`.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn part_of_matrix(&self, id: BatchId, after: u32, limit: usize) -> Result<Matrix, StorageError> {
        let mut matrix = Matrix::default();
        self.add_rows(&mut matrix, id, after, limit)?;
        Ok(matrix)
    }

    /// Adds at most `limit` rows to a matrix. Returns the position of the last one.
    fn add_rows(
        &self,
        matrix: &mut Matrix,
        id: BatchId,
        after: u32,
        limit: usize,
    ) -> Result<Option<u32>, StorageError> {
        let rows = self.store().batch_rows(id, after, limit)?;
        let reports = self.store().batch_reports(id, after, limit)?;
        let last = rows.last().map(|row| row.position);
        matrix.add(rows, &reports);
        Ok(last)
    }

    /// Stops a batch: what has not begun is not searched. Returns `false` if the account has no such batch.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn stop(&self, account: AccountId, id: BatchId, by: &Origin) -> Result<bool, StorageError> {
        let known = self.store().stop_batch(account, id, self.0.context.clock.now(), by)?;
        self.0.wake();
        Ok(known)
    }
}
