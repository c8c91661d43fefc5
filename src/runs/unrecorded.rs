//! [`Unrecorded`]: a journal that stores nothing, for a search in a terminal, whose only reader sees the run live. Such
//! a search leaves no trace on the disk.

use std::collections::HashMap;
use std::sync::Weak;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::family::journal::{Families, StoredFamily};
use super::family::member::{FollowEnd, FollowedLead, Lookup};
use super::health::circuit::CircuitRecord;
use super::health::quarantines::FailedControl;
use super::health::{Learnt, Tallies};
use super::journal::{
    Batch, Changes, Checkpoint, Claim, Ending, Idempotency, InstanceId, Journal, Lease, ListFilter, NewRun,
    QueueLength, Resumable, Started, StoppedRun, Write,
};
use super::notes::annotation::{Annotation, AnnotationUpdate, RunNotes, RunNotesUpdate};
use super::notes::storage::{NoteStore, StoredNotes};
use super::notification::Subscriber;
use super::record::Thumbnails;
use super::run::{ModuleReport, ResultRecord, RunSummary};
use crate::account::audit::Origin;
use crate::account::credits::Charge;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::modules::outcome::Outcome;

/// A journal that accepts everything and stores nothing. It keeps thumbnails in memory.
#[derive(Debug, Default)]
pub struct Unrecorded {
    thumbnails: Mutex<HashMap<RunId, Thumbnails>>,
}

impl Families for Unrecorded {
    fn family(&self, _: RunId, _: AccountId) -> Result<Option<StoredFamily>, StorageError> {
        Ok(None)
    }

    fn lookups(&self, _: RunId) -> Result<Vec<Lookup>, StorageError> {
        Ok(Vec::new())
    }

    fn children(&self, _: RunId, _: RunId) -> Result<Vec<(FollowedLead, RunSummary)>, StorageError> {
        Ok(Vec::new())
    }

    fn end_following(&self, _: RunId, _: &FollowEnd) -> Result<(), StorageError> {
        Ok(())
    }

    fn idle_families(&self, _: bool) -> Result<Vec<(RunId, AccountId)>, StorageError> {
        Ok(Vec::new())
    }

    fn delete_family(
        &self,
        _: RunId,
        _: AccountId,
        _: Timestamp,
        _: &Origin,
    ) -> Result<Vec<RunId>, StorageError> {
        Ok(Vec::new())
    }
}

impl NoteStore for Unrecorded {
    fn notes(&self, _: RunId) -> Result<StoredNotes, StorageError> {
        Ok(StoredNotes::default())
    }

    fn note_run(
        &self,
        _: RunId,
        _: AccountId,
        _: &RunNotesUpdate,
        _: Timestamp,
        _: &Origin,
    ) -> Result<Option<RunNotes>, StorageError> {
        Ok(None)
    }

    fn annotate(
        &self,
        _: RunId,
        _: u32,
        _: AccountId,
        _: &AnnotationUpdate,
        _: Timestamp,
        _: &Origin,
    ) -> Result<Option<Annotation>, StorageError> {
        Ok(None)
    }
}

impl Journal for Unrecorded {
    fn start(&self, _: &NewRun, _: &Charge) -> Result<Started, StorageError> {
        Ok(Started::Created)
    }

    fn known_request(&self, _: AccountId, _: &Idempotency) -> Result<Option<Started>, StorageError> {
        Ok(None)
    }

    fn add_results(&self, _: RunId, _: Lease, _: &Batch) -> Result<Write, StorageError> {
        Ok(Write::Done)
    }

    fn keep_thumbnail(&self, run: RunId, _: Lease, result: u32, png: &[u8]) -> Result<Write, StorageError> {
        self.thumbnails.lock().entry(run).or_default().insert(result, png.to_vec());
        Ok(Write::Done)
    }

    fn thumbnail(&self, run: RunId, result: u32) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.thumbnails(run)?.remove(&result))
    }

    fn thumbnails(&self, run: RunId) -> Result<Thumbnails, StorageError> {
        Ok(self.thumbnails.lock().get(&run).cloned().unwrap_or_default())
    }

    fn checkpoint(&self, _: RunId, _: Lease, _: &Checkpoint, _: Duration) -> Result<Write, StorageError> {
        Ok(Write::Done)
    }

    fn finish(&self, _: RunId, _: Lease, _: &Checkpoint, _: &Ending) -> Result<Write, StorageError> {
        Ok(Write::Done)
    }

    fn release(&self, _: InstanceId) -> Result<(), StorageError> {
        Ok(())
    }

    fn take_over(&self, _: &Claim<'_>) -> Result<Vec<Resumable>, StorageError> {
        Ok(Vec::new())
    }

    fn queue_length(&self, _: bool, _: Option<AccountId>) -> Result<QueueLength, StorageError> {
        Ok(QueueLength::default())
    }

    fn undo_start(&self, _: RunId, _: &Ending) -> Result<Write, StorageError> {
        Ok(Write::Done)
    }

    fn stop(
        &self,
        _: RunId,
        _: AccountId,
        _: Timestamp,
        _: &Origin,
    ) -> Result<Option<Vec<StoppedRun>>, StorageError> {
        Ok(None)
    }

    fn run(&self, _: RunId, _: AccountId) -> Result<Option<RunSummary>, StorageError> {
        Ok(None)
    }

    fn results(&self, _: RunId, _: u32, _: usize) -> Result<Vec<ResultRecord>, StorageError> {
        Ok(Vec::new())
    }

    fn changes(&self, _: RunId, _: Changes, _: usize) -> Result<Vec<ResultRecord>, StorageError> {
        Ok(Vec::new())
    }

    fn modules(&self, _: RunId) -> Result<Vec<ModuleReport>, StorageError> {
        Ok(Vec::new())
    }

    fn list(&self, _: AccountId, _: &ListFilter, _: usize) -> Result<Vec<RunSummary>, StorageError> {
        Ok(Vec::new())
    }

    fn delete(&self, _: RunId, _: AccountId, _: Timestamp, _: &Origin) -> Result<bool, StorageError> {
        Ok(false)
    }

    fn share_health(&self, _: bool, _: &Tallies) -> Result<Tallies, StorageError> {
        Ok(Tallies::new())
    }

    fn share_circuits(
        &self,
        _: bool,
        _: &[CircuitRecord<Outcome>],
    ) -> Result<Vec<CircuitRecord<Outcome>>, StorageError> {
        Ok(Vec::new())
    }

    fn share_quarantines(
        &self,
        _: bool,
        _: &[CircuitRecord<FailedControl>],
    ) -> Result<Vec<CircuitRecord<FailedControl>>, StorageError> {
        Ok(Vec::new())
    }

    fn reset(
        &self,
        _: Learnt,
        _: Option<&str>,
        _: Timestamp,
        _: &Origin,
    ) -> Result<Vec<String>, StorageError> {
        Ok(Vec::new())
    }

    fn forget_idempotency(&self, _: Timestamp) -> Result<(), StorageError> {
        Ok(())
    }

    fn listen(&self, _: Weak<dyn Subscriber>) -> Result<bool, StorageError> {
        Ok(false)
    }
}
