//! What this room asks of storage. `store` implements it, once for each database.
//!
//! Every call is one transaction. An instance names itself by an [`InstanceId`]; whoever drives a run
//! holds its [`Lease`], and every write of a driver is fenced by it: where the lease was lost, nothing is
//! written and the answer is [`Write::LeaseLost`].
//!
//! Leases are dated by the database's clock alone: those of two instances may differ.

use std::sync::Weak;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::health::Tallies;
use super::news::Ear;
use super::run::{Coverage, ModuleReport, Progress, ResultRecord, RunError, RunSummary, Status};
use crate::account::audit::Origin;
use crate::account::credits::Charge;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::modules::query::SearchType;

/// One process: a new value at every start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceId(pub Uuid);

impl InstanceId {
    /// Its hold of a run that was taken over so many times.
    pub fn lease(self, epoch: u64) -> Lease {
        Lease { owner: self, epoch }
    }
}

/// The right to drive one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Who drives.
    pub owner: InstanceId,
    /// How many times the run was taken over. An instance that lost a run and gets it back holds another
    /// lease: what it sent before, however late it arrives, is refused.
    pub epoch: u64,
}

/// A run to be created.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// `run_id`.
    pub id: RunId,
    /// Owner.
    pub account: AccountId,
    /// What kind of search.
    pub search_type: SearchType,
    /// What the caller sent.
    pub query: String,
    /// Whether browser modules take part.
    pub premium: bool,
    /// Whether the simulated web is asked.
    pub simulated: bool,
    /// Ids of the modules that will be asked, in catalogue order.
    pub modules: Vec<String>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// Who will drive it.
    pub owner: InstanceId,
    /// How long the lease holds without a renewal.
    pub holds: Duration,
    /// The caller's `Idempotency-Key`, if any.
    pub idempotency: Option<Idempotency>,
    /// Who asked for it.
    pub origin: Origin,
}

#[cfg(test)]
impl NewRun {
    /// Somebody's search for a username.
    pub(crate) fn example() -> Self {
        Self {
            id: RunId::new(),
            account: AccountId::new(),
            search_type: SearchType::Username,
            query: "alice".into(),
            premium: false,
            simulated: false,
            modules: Vec::new(),
            created_at: Timestamp::UNIX_EPOCH,
            owner: InstanceId(Uuid::new_v4()),
            holds: Duration::ZERO,
            idempotency: None,
            origin: Origin::SYSTEM,
        }
    }
}

/// An `Idempotency-Key` and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// Up to 255 printable ASCII characters.
    pub key: String,
    /// SHA-256 of the request's canonical body.
    pub body_hash: [u8; 32],
    /// Keys noted before this moment are forgotten (24 hours ago).
    pub valid_since: Timestamp,
}

/// What became of [`Journal::start`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// Charged and created.
    Created,
    /// The idempotency key is known, with the same body: this run, nothing charged.
    Repeated(RunId),
    /// The idempotency key is known, with another body: nothing charged.
    Mismatch,
    /// The account was deleted a moment ago: nothing charged, nothing created.
    UnknownAccount,
    /// Not enough credits: nothing charged, nothing created.
    InsufficientCredits {
        /// Used in the cycle so far.
        used: u64,
    },
}

/// Whether a driver's write was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// It was.
    Done,
    /// The run is driven by another instance now, has ended, or was deleted: nothing was written.
    LeaseLost,
}

/// Results for one write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// Counts the writes of a run from 1, each try anew, over all its drivers: whoever has seen a run up to
    /// one revision asks for what came after.
    pub revision: u64,
    /// New ones, by id.
    pub added: Vec<ResultRecord>,
    /// Ones that the store has and that have more sources now, by id.
    pub changed: Vec<ResultRecord>,
}

/// Which changes of a run's results are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Changes {
    /// Only what was written after this revision; `None`: everything.
    pub since: Option<u64>,
    /// And whatever has an id above this one: an instance of an earlier version adds results and counts no
    /// revisions.
    pub known: u32,
    /// Only what was last written up to this revision.
    pub until: u64,
    /// Only ids above this one.
    pub after: u32,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// `Completed` or `Failed`.
    pub status: Status,
    /// Why it failed. A failed run gives its credits back, once.
    pub error: Option<RunError>,
    /// When.
    pub completed_at: Timestamp,
}

/// What a driver knows of the modules that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Progress block.
    pub progress: Progress,
    /// Outcome counts.
    pub coverage: Coverage,
    /// Every module that ended so far.
    pub modules: Vec<ModuleReport>,
}

/// An interrupted run, taken over with a new lease.
#[derive(Debug, Clone, PartialEq)]
pub struct Resumable {
    /// The new lease.
    pub lease: Lease,
    /// As stored.
    pub summary: RunSummary,
    /// Modules that were to be asked.
    pub modules: Vec<String>,
    /// Modules that ended before the interruption.
    pub done: Vec<ModuleReport>,
    /// Results that were stored; their ids stay.
    pub results: Vec<ResultRecord>,
}

/// Which interrupted runs are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// Who will drive them.
    pub owner: InstanceId,
    /// Only those that asked the web that `owner` asks, simulated or real.
    pub simulated: bool,
    /// Not these: they are driven here, their lease was only renewed too late.
    pub except: &'a [RunId],
    /// How long the new lease holds without a renewal.
    pub holds: Duration,
    /// The most at once.
    pub limit: usize,
}

/// Which runs a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Only this type.
    pub search_type: Option<SearchType>,
    /// Only this status.
    pub status: Option<Status>,
    /// Only those whose query holds this text, whatever its case (on SQLite: the case of ASCII letters).
    pub text: Option<String>,
    /// Only runs older than this one (the last of the previous page), by `(created_at, id)`.
    pub before: Option<(Timestamp, RunId)>,
}

/// Keeps runs, results and charges, and the health of modules. What a person starts or deletes is noted in
/// the audit.
pub trait Journal: Send + Sync {
    /// Notes the idempotency key, books the charge and creates the run: all or nothing.
    fn start(&self, run: &NewRun, charge: &Charge) -> Result<Started, StorageError>;

    /// What an idempotency key that is still valid stands for: [`Started::Repeated`] or
    /// [`Started::Mismatch`]. `None`: it is free, as far as is known now.
    fn known_request(
        &self,
        account: AccountId,
        idempotency: &Idempotency,
    ) -> Result<Option<Started>, StorageError>;

    /// Adds new results and replaces changed ones, all or nothing. A result is unique in its run by its
    /// [`EntityKey`](super::entity::EntityKey): a new one whose entity is known under its very id (an
    /// earlier try was taken after all) replaces it, one that is known under another id is left out. A new
    /// entity under a taken id is an error.
    fn add_results(&self, run: RunId, lease: Lease, batch: &Batch) -> Result<Write, StorageError>;

    /// Replaces the checkpoint and renews the lease.
    fn checkpoint(
        &self,
        run: RunId,
        lease: Lease,
        checkpoint: &Checkpoint,
        holds: Duration,
    ) -> Result<Write, StorageError>;

    /// Renews leases of runs that wait for their driver. Gives the runs whose lease was lost.
    fn renew(&self, leases: &[(RunId, Lease)], holds: Duration) -> Result<Vec<RunId>, StorageError>;

    /// Stores the last checkpoint, ends the run, releases the lease; a failed run gives its credits
    /// back to the cycle that paid, once. All or nothing.
    fn finish(
        &self,
        run: RunId,
        lease: Lease,
        checkpoint: &Checkpoint,
        ending: &Ending,
    ) -> Result<Write, StorageError>;

    /// Lets go of the runs that `owner` drives, so that anyone may take them over at once.
    fn release(&self, owner: InstanceId) -> Result<(), StorageError>;

    /// Takes over running runs whose lease is over, oldest first, each with a lease of the next epoch.
    fn take_over(&self, claim: &Claim<'_>) -> Result<Vec<Resumable>, StorageError>;

    /// A run of that account. `None`: unknown, foreign or deleted.
    fn run(&self, id: RunId, account: AccountId) -> Result<Option<RunSummary>, StorageError>;

    /// Results of a run with an id above `after`, in order, at most `limit`.
    fn results(&self, id: RunId, after: u32, limit: usize) -> Result<Vec<ResultRecord>, StorageError>;

    /// Results of a run that were added or changed, as they are now, in the order of their ids, at most
    /// `limit`.
    fn changes(&self, id: RunId, changes: Changes, limit: usize) -> Result<Vec<ResultRecord>, StorageError>;

    /// The modules of a run that ended so far.
    fn modules(&self, id: RunId) -> Result<Vec<ModuleReport>, StorageError>;

    /// Newest first, at most `limit`.
    fn list(
        &self,
        account: AccountId,
        filter: &ListFilter,
        limit: usize,
    ) -> Result<Vec<RunSummary>, StorageError>;

    /// Removes a run's query, results and modules; what was charged stays booked. `false`: unknown,
    /// foreign or deleted before.
    fn delete(&self, id: RunId, account: AccountId, at: Timestamp, by: &Origin)
    -> Result<bool, StorageError>;

    /// Adds what a process has learnt of modules, by module id, to what all have, and gives that: of the web
    /// that is named, the simulated or the real one. All or nothing.
    fn share_health(&self, simulated: bool, learnt: &Tallies) -> Result<Tallies, StorageError>;

    /// Forgets idempotency keys noted before `before`.
    fn forget_idempotency(&self, before: Timestamp) -> Result<(), StorageError>;

    /// Tells `ear` from now on, as long as it lives, what happens in this and in other processes; its first
    /// news is [`News::Hearing`](super::news::News::Hearing), once it is true. `false`: this store serves one
    /// process, and there is nothing to hear.
    fn listen(&self, ear: Weak<dyn Ear>) -> Result<bool, StorageError>;
}
