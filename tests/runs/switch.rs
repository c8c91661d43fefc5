//! A journal that can be switched off, around a real one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sightline::account::credits::Charge;
use sightline::base::ids::{AccountId, RunId};
use sightline::base::storage::StorageError;
use sightline::runs::journal::{
    Checkpoint, Ending, InstanceId, Journal, ListFilter, NewRun, Resumable, Started, Write,
};
use sightline::runs::run::{ModuleReport, ResultRecord, RunSummary};
use sightline::store::Store;

/// A store that can be switched off.
pub(super) struct Switched {
    pub(super) inner: Arc<Store>,
    pub(super) down: AtomicBool,
}

impl Switched {
    pub(super) fn up(&self) -> Result<(), StorageError> {
        if self.down.load(Ordering::SeqCst) { Err(StorageError::unavailable("switched off")) } else { Ok(()) }
    }
}

impl Journal for Switched {
    fn start(&self, run: &NewRun, charge: &Charge) -> Result<Started, StorageError> {
        self.up()?;
        self.inner.start(run, charge)
    }
    fn add_results(
        &self,
        run: RunId,
        owner: InstanceId,
        results: &[ResultRecord],
    ) -> Result<Write, StorageError> {
        self.up()?;
        self.inner.add_results(run, owner, results)
    }
    fn checkpoint(
        &self,
        run: RunId,
        owner: InstanceId,
        at: &Checkpoint,
        until: jiff::Timestamp,
    ) -> Result<Write, StorageError> {
        self.up()?;
        self.inner.checkpoint(run, owner, at, until)
    }
    fn finish(
        &self,
        run: RunId,
        owner: InstanceId,
        at: &Checkpoint,
        ending: &Ending,
    ) -> Result<Write, StorageError> {
        self.up()?;
        self.inner.finish(run, owner, at, ending)
    }
    fn release(&self, owner: InstanceId, now: jiff::Timestamp) -> Result<(), StorageError> {
        self.inner.release(owner, now)
    }
    fn take_over(
        &self,
        owner: InstanceId,
        simulated: bool,
        now: jiff::Timestamp,
        until: jiff::Timestamp,
        limit: usize,
    ) -> Result<Vec<Resumable>, StorageError> {
        self.up()?;
        self.inner.take_over(owner, simulated, now, until, limit)
    }
    fn run(&self, id: RunId, account: AccountId) -> Result<Option<RunSummary>, StorageError> {
        self.up()?;
        self.inner.run(id, account)
    }
    fn results(&self, id: RunId, after: u32, limit: usize) -> Result<Vec<ResultRecord>, StorageError> {
        self.inner.results(id, after, limit)
    }
    fn modules(&self, id: RunId) -> Result<Vec<ModuleReport>, StorageError> {
        self.inner.modules(id)
    }
    fn list(
        &self,
        account: AccountId,
        filter: &ListFilter,
        limit: usize,
    ) -> Result<Vec<RunSummary>, StorageError> {
        self.inner.list(account, filter, limit)
    }
    fn delete(&self, id: RunId, account: AccountId, now: jiff::Timestamp) -> Result<bool, StorageError> {
        self.inner.delete(id, account, now)
    }
    fn forget_idempotency(&self, before: jiff::Timestamp) -> Result<(), StorageError> {
        self.inner.forget_idempotency(before)
    }
}
