//! A journal around a real one that can be switched off.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use sightline::account::audit::Origin;
use sightline::account::credits::Charge;
use sightline::base::ids::{AccountId, RunId};
use sightline::base::storage::StorageError;
use sightline::modules::outcome::Outcome;
use sightline::runs::family::journal::{Families, StoredFamily};
use sightline::runs::family::member::{FollowEnd, FollowedLead, Lookup};
use sightline::runs::health::circuit::CircuitRecord;
use sightline::runs::health::quarantines::FailedControl;
use sightline::runs::health::{Learnt, Tallies};
use sightline::runs::journal::{
    Batch, Changes, Checkpoint, Claim, Ending, Idempotency, InstanceId, Journal, Lease, ListFilter, NewRun,
    QueueLength, Resumable, Started, StoppedRun, Write,
};
use sightline::runs::notes::annotation::{Annotation, AnnotationUpdate, RunNotes, RunNotesUpdate};
use sightline::runs::notes::storage::{NoteStore, StoredNotes};
use sightline::runs::notification::Subscriber;
use sightline::runs::record::Thumbnails;
use sightline::runs::run::{ModuleReport, ResultRecord, RunSummary};
use sightline::store::Store;

/// A store that can be switched off.
pub(super) struct Switched {
    pub(super) inner: Arc<Store>,
    pub(super) down: AtomicBool,
    /// Drops checkpoints, like a process that crashes before its next one.
    pub(super) forgets: AtomicBool,
    /// Refuses all endings.
    pub(super) refuses_endings: AtomicBool,
    pub(super) endings_refused: AtomicUsize,
    /// Runs just before the next read of a run's modules.
    pub(super) before_modules: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// Runs just before the next read of a run's changes.
    pub(super) before_changes: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Switched {
    pub(super) fn new(inner: Arc<Store>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            down: AtomicBool::new(false),
            forgets: AtomicBool::new(false),
            refuses_endings: AtomicBool::new(false),
            endings_refused: AtomicUsize::new(0),
            before_modules: Mutex::default(),
            before_changes: Mutex::default(),
        })
    }

    pub(super) fn up(&self) -> Result<(), StorageError> {
        if self.down.load(Ordering::SeqCst) { Err(StorageError::unavailable("switched off")) } else { Ok(()) }
    }
}

impl Families for Switched {
    fn family(&self, root: RunId, account: AccountId) -> Result<Option<StoredFamily>, StorageError> {
        self.up()?;
        self.inner.family(root, account)
    }
    fn lookups(&self, run: RunId) -> Result<Vec<Lookup>, StorageError> {
        self.up()?;
        self.inner.lookups(run)
    }
    fn children(&self, root: RunId, parent: RunId) -> Result<Vec<(FollowedLead, RunSummary)>, StorageError> {
        self.up()?;
        self.inner.children(root, parent)
    }
    fn end_following(&self, root: RunId, end: &FollowEnd) -> Result<(), StorageError> {
        self.up()?;
        self.inner.end_following(root, end)
    }
    fn idle_families(&self, simulated: bool) -> Result<Vec<(RunId, AccountId)>, StorageError> {
        self.up()?;
        self.inner.idle_families(simulated)
    }
    fn delete_family(
        &self,
        root: RunId,
        account: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Vec<RunId>, StorageError> {
        self.up()?;
        self.inner.delete_family(root, account, at, by)
    }
}

impl NoteStore for Switched {
    fn notes(&self, run: RunId) -> Result<StoredNotes, StorageError> {
        self.up()?;
        self.inner.notes(run)
    }
    fn note_run(
        &self,
        run: RunId,
        account: AccountId,
        update: &RunNotesUpdate,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<RunNotes>, StorageError> {
        self.up()?;
        self.inner.note_run(run, account, update, at, by)
    }
    fn annotate(
        &self,
        run: RunId,
        result: u32,
        account: AccountId,
        update: &AnnotationUpdate,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Annotation>, StorageError> {
        self.up()?;
        self.inner.annotate(run, result, account, update, at, by)
    }
}

impl Journal for Switched {
    fn start(&self, run: &NewRun, charge: &Charge) -> Result<Started, StorageError> {
        self.up()?;
        self.inner.start(run, charge)
    }
    fn known_request(
        &self,
        account: AccountId,
        idempotency: &Idempotency,
    ) -> Result<Option<Started>, StorageError> {
        self.up()?;
        self.inner.known_request(account, idempotency)
    }
    fn add_results(&self, run: RunId, lease: Lease, batch: &Batch) -> Result<Write, StorageError> {
        self.up()?;
        self.inner.add_results(run, lease, batch)
    }
    fn keep_thumbnail(
        &self,
        run: RunId,
        lease: Lease,
        result: u32,
        png: &[u8],
    ) -> Result<Write, StorageError> {
        self.up()?;
        self.inner.keep_thumbnail(run, lease, result, png)
    }
    fn thumbnail(&self, run: RunId, result: u32) -> Result<Option<Vec<u8>>, StorageError> {
        self.up()?;
        self.inner.thumbnail(run, result)
    }
    fn thumbnails(&self, run: RunId) -> Result<Thumbnails, StorageError> {
        self.up()?;
        self.inner.thumbnails(run)
    }
    fn checkpoint(
        &self,
        run: RunId,
        lease: Lease,
        at: &Checkpoint,
        holds: Duration,
    ) -> Result<Write, StorageError> {
        self.up()?;
        if self.forgets.load(Ordering::SeqCst) {
            return Ok(Write::Done);
        }
        self.inner.checkpoint(run, lease, at, holds)
    }
    fn finish(
        &self,
        run: RunId,
        lease: Lease,
        at: &Checkpoint,
        ending: &Ending,
    ) -> Result<Write, StorageError> {
        self.up()?;
        if self.refuses_endings.load(Ordering::SeqCst) {
            self.endings_refused.fetch_add(1, Ordering::SeqCst);
            return Err(StorageError::unavailable("endings are refused"));
        }
        self.inner.finish(run, lease, at, ending)
    }
    fn release(&self, owner: InstanceId) -> Result<(), StorageError> {
        self.inner.release(owner)
    }
    fn take_over(&self, claim: &Claim<'_>) -> Result<Vec<Resumable>, StorageError> {
        self.up()?;
        self.inner.take_over(claim)
    }
    fn queue_length(&self, simulated: bool, account: Option<AccountId>) -> Result<QueueLength, StorageError> {
        self.up()?;
        self.inner.queue_length(simulated, account)
    }
    fn undo_start(&self, run: RunId, ending: &Ending) -> Result<Write, StorageError> {
        self.up()?;
        self.inner.undo_start(run, ending)
    }
    fn stop(
        &self,
        id: RunId,
        account: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Vec<StoppedRun>>, StorageError> {
        self.up()?;
        self.inner.stop(id, account, at, by)
    }
    fn run(&self, id: RunId, account: AccountId) -> Result<Option<RunSummary>, StorageError> {
        self.up()?;
        self.inner.run(id, account)
    }
    fn results(&self, id: RunId, after: u32, limit: usize) -> Result<Vec<ResultRecord>, StorageError> {
        self.inner.results(id, after, limit)
    }
    fn changes(&self, id: RunId, changes: Changes, limit: usize) -> Result<Vec<ResultRecord>, StorageError> {
        if let Some(happens) = self.before_changes.lock().take() {
            happens();
        }
        self.inner.changes(id, changes, limit)
    }
    fn modules(&self, id: RunId) -> Result<Vec<ModuleReport>, StorageError> {
        if let Some(happens) = self.before_modules.lock().take() {
            happens();
        }
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
    fn delete(
        &self,
        id: RunId,
        account: AccountId,
        now: jiff::Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.inner.delete(id, account, now, by)
    }
    fn share_health(&self, simulated: bool, learnt: &Tallies) -> Result<Tallies, StorageError> {
        self.up()?;
        self.inner.share_health(simulated, learnt)
    }
    fn share_circuits(
        &self,
        simulated: bool,
        changed: &[CircuitRecord<Outcome>],
    ) -> Result<Vec<CircuitRecord<Outcome>>, StorageError> {
        self.up()?;
        self.inner.share_circuits(simulated, changed)
    }
    fn share_quarantines(
        &self,
        simulated: bool,
        changed: &[CircuitRecord<FailedControl>],
    ) -> Result<Vec<CircuitRecord<FailedControl>>, StorageError> {
        self.up()?;
        self.inner.share_quarantines(simulated, changed)
    }
    fn reset(
        &self,
        what: Learnt,
        name: Option<&str>,
        at: jiff::Timestamp,
        by: &Origin,
    ) -> Result<Vec<String>, StorageError> {
        self.inner.reset(what, name, at, by)
    }
    fn forget_idempotency(&self, before: jiff::Timestamp) -> Result<(), StorageError> {
        self.inner.forget_idempotency(before)
    }
    fn listen(&self, subscriber: Weak<dyn Subscriber>) -> Result<bool, StorageError> {
        self.inner.listen(subscriber)
    }
}
