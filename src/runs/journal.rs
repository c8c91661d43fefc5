//! [`Journal`]: storage of runs, results, charges and the health of modules.
//!
//! Every call is one transaction. An instance identifies itself by an [`InstanceId`]. The driver of a run holds its
//! [`Lease`], which protects each of its writes: if the lease was lost, nothing is written and the result is
//! [`Write::LeaseLost`].
//!
//! Leases are dated only by the database's clock, because the clocks of two instances may differ.

use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;

use super::batches::row::RowRef;
use super::coverage::Coverage;
use super::family::journal::Families;
use super::family::member::{FollowOrder, Lookup, NewMember};
use super::health::circuit::CircuitRecord;
use super::health::quarantines::FailedControl;
use super::health::{Learnt, Tallies};
pub use super::lease::{Claim, InstanceId, Lease, Resumable, StoppedRun};
use super::notes::annotation::RunNotes;
use super::notes::storage::NoteStore;
use super::notification::Subscriber;
pub use super::page::ListFilter;
use super::record::Thumbnails;
use super::run::{ModuleReport, Progress, ResultRecord, RunError, RunSummary, Status, count};
use super::run_options::RunOptions;
use super::watch_start::WatchStart;
use crate::account::audit::Origin;
use crate::account::credits::Charge;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::modules::catalog::Choice;
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;

/// A run to be created.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// The id of the run, which the API calls `run_id`.
    pub id: RunId,
    /// The account that owns the run.
    pub account: AccountId,
    /// The type of the search.
    pub search_type: SearchType,
    /// The query as the caller sent it.
    pub query: String,
    /// Whether the search is a premium search.
    pub premium: bool,
    /// How long its checks may take.
    pub options: RunOptions,
    /// The choice of its modules, if the caller has made one.
    pub choice: Option<Arc<Choice>>,
    /// How leads are followed, if they are.
    pub follow: Option<Arc<FollowOrder>>,
    /// The place of the run in a family, if a lead starts it.
    pub family: Option<NewMember>,
    /// The watch that starts the run, if one does.
    pub watch: Option<WatchStart>,
    /// The row of a batch, if a batch starts it.
    pub batch: Option<RowRef>,
    /// The run whose modules without a conclusion are asked again, if that is what the run is for. With a charge of no
    /// credits it takes the free retry of that run.
    pub retry_of: Option<RunId>,
    /// Whether checks query the simulated web.
    pub simulated: bool,
    /// The ids of the run's modules, in the order of the catalogue.
    pub modules: Vec<String>,
    /// The time at which the search was accepted.
    pub created_at: Timestamp,
    /// The instance that drives the run from the start. If it is `None`, the run waits until an instance takes it
    /// over.
    pub owner: Option<InstanceId>,
    /// The time for which the owner's lease is valid without a renewal.
    pub holds: Duration,
    /// The maximum number of waiting runs of all accounts. It does not apply to an account without a waiting run.
    pub max_waiting: usize,
    /// The caller's `Idempotency-Key`, if there is one.
    pub idempotency: Option<Idempotency>,
    /// Why the caller searches, for the audit.
    pub purpose: Option<String>,
    /// The origin of the request, for the audit.
    pub origin: Origin,
}

impl NewRun {
    /// Returns whether a repetition of the request gets the same run, so that it is not undone if its commit was not
    /// confirmed. A lead of a family is searched once.
    pub(super) fn is_repeatable(&self) -> bool {
        self.idempotency.is_some() || self.watch.is_some() || self.batch.is_some() || self.family.is_some()
    }

    /// Returns the run in its initial state, with the given cost.
    pub fn opening(&self, credits: u64) -> RunSummary {
        RunSummary {
            id: self.id,
            account: self.account,
            status: Status::Running,
            search_type: self.search_type,
            query: self.query.clone(),
            premium: self.premium,
            options: self.options,
            choice: self.choice.clone(),
            follow: self.follow.clone(),
            family: self.family.map(|member| member.place),
            watch: self.watch.map(|start| start.watch),
            batch: self.batch.map(|row| row.batch),
            retry_of: self.retry_of,
            simulated: self.simulated,
            total_results: 0,
            revision: 0,
            progress: Progress { modules_total: count(self.modules.len()), ..Progress::default() },
            coverage: Coverage::default(),
            credits_charged: credits,
            created_at: self.created_at,
            completed_at: None,
            stopped_at: None,
            error: None,
            queue_position: None,
            notes: RunNotes::default(),
        }
    }
}

#[cfg(test)]
impl NewRun {
    /// Returns a search for a username.
    pub(crate) fn example() -> Self {
        Self {
            id: RunId::new(),
            account: AccountId::new(),
            search_type: SearchType::Username,
            query: "alice".into(),
            premium: false,
            options: RunOptions::default(),
            choice: None,
            follow: None,
            family: None,
            watch: None,
            batch: None,
            retry_of: None,
            simulated: false,
            modules: Vec::new(),
            created_at: Timestamp::UNIX_EPOCH,
            owner: Some(InstanceId(uuid::Uuid::new_v4())),
            holds: Duration::ZERO,
            max_waiting: 0,
            idempotency: None,
            purpose: None,
            origin: Origin::SYSTEM,
        }
    }
}

/// An `Idempotency-Key` and the request for which it was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// The key. It has up to 255 printable ASCII characters.
    pub key: String,
    /// The SHA-256 of the canonical body of the request.
    pub body_hash: [u8; 32],
    /// The time, 24 hours ago, before which recorded keys are expired.
    pub valid_since: Timestamp,
}

/// The result of [`Journal::start`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// The run was charged and created.
    Created,
    /// The idempotency key was used before with the same body. Nothing was charged. Contains the run of that request.
    Repeated(RunId),
    /// Nothing was charged or created.
    Refused(Refused),
}

/// Why a run is not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The idempotency key was used before with another body, or for a run that was deleted since.
    Mismatch,
    /// The account was deleted just before.
    UnknownAccount,
    /// The run would have to wait, and the queue is full.
    Overloaded,
    /// The root of the family was deleted.
    FamilyGone,
    /// Leads have started as many runs of the family as allowed.
    FamilyFull,
    /// The watch was deleted, or its run is not the one that is due.
    WatchNotDue,
    /// The row of the batch is not pending any more, or the batch was stopped.
    RowGone,
    /// The run has no free retry any more.
    NoFreeRetry,
    /// The account does not have enough credits.
    InsufficientCredits {
        /// The credits that were used in the current cycle.
        used: u64,
    },
}

/// The number of runs that wait for their first driver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueLength {
    /// Those of all accounts.
    pub all: usize,
    /// Those of the account for which they were counted, or 0.
    pub of_account: usize,
}

impl QueueLength {
    /// Returns whether one more run of the account may wait if at most `max` may. An account without a waiting run is
    /// never refused because of the runs of others.
    pub fn allows_another(self, max: usize) -> bool {
        self.of_account == 0 || self.all < max
    }
}

/// The result of a driver's write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// The write was done.
    Done,
    /// The write was done, and the owner stopped the run at that time. Only a checkpoint returns it.
    Stopped(Timestamp),
    /// Nothing was written. Another instance drives the run, or the run has ended or was deleted.
    LeaseLost,
}

/// The results of one write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The number of the write, counted from 1 over all drivers of the run. Each try has a new number. A reader
    /// requests the changes after the last revision that it has seen.
    pub revision: u64,
    /// The new results in the order of their ids.
    pub added: Vec<ResultRecord>,
    /// The stored results that have more sources now, in the order of their ids.
    pub changed: Vec<ResultRecord>,
}

/// A selection of the changes of a run's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Changes {
    /// Selects only results that were written after this revision. `None` selects all results.
    pub since: Option<u64>,
    /// Selects all results with an id above this one, at any revision, because they are new to the reader. A result
    /// that changes at the same time must not leave a gap, and instances of an earlier version count no revisions.
    pub known: u32,
    /// Of the results that the reader has, selects only those that were last written up to this revision.
    pub until: u64,
    /// Selects only ids above this one.
    pub after: u32,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// `Completed` or `Failed`.
    pub status: Status,
    /// The error of a failed run. A failed run is refunded only once.
    pub error: Option<RunError>,
    /// The time at which the run ended.
    pub completed_at: Timestamp,
}

/// The state of the modules of a run, as its driver stores it.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// The progress of the run.
    pub progress: Progress,
    /// The number of modules by outcome.
    pub coverage: Coverage,
    /// The reports of the modules that have ended.
    pub modules: Vec<ModuleReport>,
    /// The accounts that are or were looked up, in the order in which they were planned.
    pub lookups: Vec<Lookup>,
}

/// The storage of runs, results, charges and the health of modules. Starts and deletions by users are recorded in the
/// audit.
pub trait Journal: Families + NoteStore {
    /// Records the idempotency key, books the charge and creates the run, in one transaction.
    fn start(&self, run: &NewRun, charge: &Charge) -> Result<Started, StorageError>;

    /// Returns the run of a valid idempotency key as [`Started::Repeated`], or [`Refused::Mismatch`] if the body
    /// differs. Returns `None` if the key is not known.
    fn known_request(
        &self,
        account: AccountId,
        idempotency: &Idempotency,
    ) -> Result<Option<Started>, StorageError>;

    /// Adds new results and replaces changed ones, in one transaction. A result is unique in its run by its
    /// [`EntityKey`](super::entity::EntityKey). If the entity of a new result is stored under the same id, an earlier
    /// try was stored after all, and the new result replaces it. If the entity is stored under another id, the new
    /// result is ignored. A new entity with a used id is an error.
    fn add_results(&self, run: RunId, lease: Lease, batch: &Batch) -> Result<Write, StorageError>;

    /// Stores the thumbnail of a stored result as a PNG, or replaces it. It is deleted with its result.
    fn keep_thumbnail(
        &self,
        run: RunId,
        lease: Lease,
        result: u32,
        png: &[u8],
    ) -> Result<Write, StorageError>;

    /// Returns the thumbnail of a result as a PNG.
    fn thumbnail(&self, run: RunId, result: u32) -> Result<Option<Vec<u8>>, StorageError>;

    /// Returns all thumbnails of a run as PNGs, by the ids of their results.
    fn thumbnails(&self, run: RunId) -> Result<Thumbnails, StorageError>;

    /// Replaces the checkpoint and renews the lease.
    fn checkpoint(
        &self,
        run: RunId,
        lease: Lease,
        checkpoint: &Checkpoint,
        holds: Duration,
    ) -> Result<Write, StorageError>;

    /// Stores the last checkpoint, ends the run and releases the lease, in one transaction. A failed run is refunded
    /// once, to the cycle that paid.
    fn finish(
        &self,
        run: RunId,
        lease: Lease,
        checkpoint: &Checkpoint,
        ending: &Ending,
    ) -> Result<Write, StorageError>;

    /// Releases the runs that `owner` drives, so that any instance can take them over at once.
    fn release(&self, owner: InstanceId) -> Result<(), StorageError>;

    /// Takes over running runs without a driver. Interrupted runs come first, each with a lease of the next epoch,
    /// then waiting ones in the order of their positions in the queue. Accounts alternate: first the oldest waiting run
    /// of each account, then the second of each.
    fn take_over(&self, claim: &Claim<'_>) -> Result<Vec<Resumable>, StorageError>;

    /// Counts the runs of the simulated or the real web that wait for their first driver, and those of an account among
    /// them.
    fn queue_length(&self, simulated: bool, account: Option<AccountId>) -> Result<QueueLength, StorageError>;

    /// Ends a running run as failed and refunds it, even if another instance drives it, because its caller was told
    /// that it could not be started. Returns [`Write::LeaseLost`] if the run has ended or was deleted.
    fn undo_start(&self, run: RunId, ending: &Ending) -> Result<Write, StorageError>;

    /// Records that the owner stops a run, and the runs below it if it is the root of a family. Returns those that have
    /// not ended, which includes runs that were stopped before. Returns `None` if the run is unknown, deleted or of
    /// another account. A root that follows leads is stopped even if it has ended itself.
    fn stop(
        &self,
        id: RunId,
        account: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Vec<StoppedRun>>, StorageError>;

    /// Returns a run of that account, or `None` if the run is unknown, deleted or of another account.
    fn run(&self, id: RunId, account: AccountId) -> Result<Option<RunSummary>, StorageError>;

    /// Returns at most `limit` results of a run with ids above `after`, in order.
    fn results(&self, id: RunId, after: u32, limit: usize) -> Result<Vec<ResultRecord>, StorageError>;

    /// Returns at most `limit` results of a run that were added or changed, in their current state and in the order
    /// of their ids.
    fn changes(&self, id: RunId, changes: Changes, limit: usize) -> Result<Vec<ResultRecord>, StorageError>;

    /// Returns the modules of a run that have ended.
    fn modules(&self, id: RunId) -> Result<Vec<ModuleReport>, StorageError>;

    /// Returns at most `limit` runs of an account, the newest first.
    fn list(
        &self,
        account: AccountId,
        filter: &ListFilter,
        limit: usize,
    ) -> Result<Vec<RunSummary>, StorageError>;

    /// Deletes a run's query, results and modules. Its charge stays booked. Returns `false` if the run is unknown, of
    /// another account, or already deleted.
    fn delete(&self, id: RunId, account: AccountId, at: Timestamp, by: &Origin)
    -> Result<bool, StorageError>;

    /// Adds the tallies of a process, by module id, to those of all processes in one transaction. Returns the totals
    /// of the simulated or the real web.
    fn share_health(&self, simulated: bool, learnt: &Tallies) -> Result<Tallies, StorageError>;

    /// Stores changes of hosts' circuits unless the store has newer ones, in one transaction. Returns the circuits of
    /// the simulated or the real web.
    fn share_circuits(
        &self,
        simulated: bool,
        changed: &[CircuitRecord<Outcome>],
    ) -> Result<Vec<CircuitRecord<Outcome>>, StorageError>;

    /// Stores changes of modules' quarantines unless the store has newer ones, in one transaction. Returns those of the
    /// simulated or the real web.
    fn share_quarantines(
        &self,
        simulated: bool,
        changed: &[CircuitRecord<FailedControl>],
    ) -> Result<Vec<CircuitRecord<FailedControl>>, StorageError>;

    /// Removes what was learnt about a host or a module, or about all, on the real and the simulated web. Running
    /// processes learn of it within seconds. Returns the hosts or modules about which something was removed, sorted.
    fn reset(
        &self,
        what: Learnt,
        name: Option<&str>,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Vec<String>, StorageError>;

    /// Removes the idempotency keys that were recorded before `before`.
    fn forget_idempotency(&self, before: Timestamp) -> Result<(), StorageError>;

    /// Delivers notifications of this and other processes to `subscriber` as long as it exists. The first one is
    /// [`Notification::Connected`](super::notification::Notification::Connected), which is sent when the subscription
    /// is established. Returns `false` if the store serves only one process and sends no notifications.
    fn listen(&self, subscriber: Weak<dyn Subscriber>) -> Result<bool, StorageError>;
}
