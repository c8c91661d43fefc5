//! [`Batches`]: the use cases of the owners of batches, and the start of the rows whose turn has come.

use std::sync::Arc;
use std::time::Duration;

use log::{debug, info, log};

use super::matrix::Matrix;
use crate::base::ids::{AccountId, BatchId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::batch::{Batch, BatchRow, NewBatch, NextRow, RowRefusal};
use crate::model::credits::Charge;
use crate::model::search::Search;
use crate::model::start::{Cause, Idempotency, Refused, Started};
use crate::runs::drivers::Slot;
use crate::runs::service::Runs;
use crate::runs::start_request::{StartError, StartRequest};
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

/// The time after which a batch whose account had not enough credits is tried again.
const CREDIT_PAUSE: Duration = Duration::from_secs(5);

impl Runs {
    /// Ends the batches with nothing left to do, and starts rows as long as a driver is free for them. The maintenance
    /// thread calls this after free drivers have taken the runs that wait.
    pub(in crate::runs) fn feed_batches(self: &Arc<Self>) {
        let Some(most) = self.most_of_batches else { return };
        if let Err(error) = self.try_to_feed(most) {
            log!(error.log_level(), "cannot continue the batches for now: {error}");
        }
    }

    fn try_to_feed(self: &Arc<Self>, most: usize) -> Result<(), StorageError> {
        let simulated = self.context.simulated;
        for batch in self.context.store.end_batches(simulated)? {
            info!("batch {batch}: ended");
        }
        while let Some(slot) = self.driver_for_batch(most) {
            let Some(next) = self.context.store.next_row(simulated)? else { break };
            if !self.start_row(next, slot)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns a driver for a run of a batch. Returns `None` if a run waits that is not of a batch, or if runs of batches
    /// have their share of the drivers.
    fn driver_for_batch(&self, most: usize) -> Option<Slot> {
        let drivers = &self.context.drivers;
        let is_full = drivers.waiting() > 0 || self.registry.driven_of_batches() >= most;
        if is_full { None } else { drivers.reserve(1).pop() }
    }

    /// Starts or refuses a row. Returns whether further rows can be started.
    fn start_row(self: &Arc<Self>, next: NextRow, slot: Slot) -> Result<bool, StorageError> {
        let NextRow { row, account, search } = next;
        let refuse = |reason: RowRefusal| {
            debug!("batch {}: row {} is refused: {}", row.batch, row.position, reason.as_str());
            self.context.store.refuse_row(row, reason).map(|()| true)
        };
        let Some(search) = search else { return refuse(RowRefusal::Unreadable) };
        let Some(charge) = (self.context.charge_of)(account)? else {
            // The account is being deleted, or its plan is not configured.
            self.context.store.wait_for_credits(account, CREDIT_PAUSE)?;
            return Ok(true);
        };
        let request = StartRequest {
            account,
            charge: Charge { credits: search.cost(), ..charge },
            search,
            cause: Cause::Row(row),
            idempotency: None,
            origin: Origin::SYSTEM,
        };
        match self.begin(request, || Some(slot)) {
            Err(StartError::Refused(Refused::InsufficientCredits { .. })) => {
                self.context.store.wait_for_credits(account, CREDIT_PAUSE)?;
                Ok(true)
            }
            // An account that is being deleted has no batches a moment later. The others can be tried again then.
            Err(
                StartError::ShuttingDown | StartError::Refused(Refused::UnknownAccount | Refused::Overloaded),
            ) => Ok(false),
            Err(StartError::Query(_)) => refuse(RowRefusal::Unreadable),
            Err(StartError::Suppressed) => refuse(RowRefusal::Suppressed),
            Err(StartError::Choice(_)) => refuse(RowRefusal::InvalidChoice),
            Err(StartError::NoBrowser) => refuse(RowRefusal::PremiumUnavailable),
            Err(StartError::Storage(error)) => Err(error),
            // Another process has started the row, or the batch was stopped.
            Ok(_) | Err(_) => Ok(true),
        }
    }
}
