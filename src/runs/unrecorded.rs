//! [`Unrecorded`]: a journal that stores nothing, for a search in a terminal, whose only reader sees the run live. Such
//! a search leaves no trace on the disk.

use std::sync::Weak;
use std::time::Duration;

use jiff::Timestamp;

use super::health::Tallies;
use super::health::circuit::CircuitRecord;
use super::health::quarantines::FailedControl;
use super::journal::{
    Batch, Changes, Checkpoint, Claim, Ending, Idempotency, InstanceId, Journal, Lease, ListFilter, NewRun,
    Resumable, Started, Write,
};
use super::notification::Subscriber;
use super::run::{ModuleReport, ResultRecord, RunSummary};
use crate::account::audit::Origin;
use crate::account::credits::Charge;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::modules::outcome::Outcome;

/// A journal that accepts everything and stores nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unrecorded;

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

    fn queue(&self, _: bool) -> Result<Vec<RunId>, StorageError> {
        Ok(Vec::new())
    }

    fn undo_start(&self, _: RunId, _: &Ending) -> Result<Write, StorageError> {
        Ok(Write::Done)
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

    fn reset_quarantines(
        &self,
        _: Option<&str>,
        _: Timestamp,
        _: &Origin,
    ) -> Result<Vec<String>, StorageError> {
        Ok(Vec::new())
    }

    fn reset_circuits(&self, _: Option<&str>, _: Timestamp, _: &Origin) -> Result<Vec<String>, StorageError> {
        Ok(Vec::new())
    }

    fn reset_deadlines(
        &self,
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
