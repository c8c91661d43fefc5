//! Start requests whose commit was not confirmed: the run may have been created and charged, or it may not.
//!
//! The caller got status 503, which promises only that a repetition is safe. When the store is available again:
//! - A committed start request with an `Idempotency-Key` is driven by this process at once. A repetition with the key
//!   gets that run, which is charged once.
//! - A committed start request without a key is undone, because the caller repeats it as a new one. The run ends as
//!   failed, even if another instance drives it or has ended it, and its credits are refunded.
//! - A start request that was not committed leaves nothing. The store is queried for it for a while, because a database
//!   server that was suspended may still commit it.
//!
//! A committed start request whose run waits is in the queue, and any instance can drive it. If this process ends
//! before the store is available again, another one drives the run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::{info, warn};
use parking_lot::Mutex;

use super::context::RunContext;
use super::dispatcher::Dispatcher;
use super::ending;
use super::job::Job;
use crate::base::storage::StorageError;
use crate::model::drive::Write;
use crate::model::run::RunSummary;
use crate::model::start::Started;

/// The time in which a database server may still commit an earlier transaction after it answers again. After it, idle
/// transactions (30 s), locks and statements have timed out.
const LOOKED_FOR: Duration = Duration::from_secs(60);
/// The maximum number of start requests that are kept, because each has a list of modules. No more commits can be in
/// progress at once than there are connections.
const MOST: usize = 1000;

/// A start request that may have been committed.
pub(super) struct UnconfirmedCommit {
    opening: RunSummary,
    /// The job of its driver, or `None` if the run was to wait.
    job: Option<Job>,
    /// Whether a repetition of the request gets the same run.
    has_key: bool,
    /// The time since which the store has answered that the run does not exist.
    absent_since: Option<Instant>,
}

impl UnconfirmedCommit {
    pub(super) fn new(opening: RunSummary, job: Option<Job>, has_key: bool) -> Self {
        Self { opening, job, has_key, absent_since: None }
    }

    fn is_over(&self) -> bool {
        self.absent_since.is_some_and(|since| since.elapsed() >= LOOKED_FOR)
    }
}

/// The result of settling a start request.
enum Settled {
    Yes,
    No(UnconfirmedCommit),
    StoreAway(UnconfirmedCommit),
}

/// All unconfirmed start requests.
pub(super) struct UnconfirmedCommits {
    dispatcher: Arc<Dispatcher>,
    commits: Mutex<Vec<UnconfirmedCommit>>,
}

impl UnconfirmedCommits {
    /// Creates an empty list.
    pub(super) fn new(dispatcher: Arc<Dispatcher>) -> Self {
        Self { dispatcher, commits: Mutex::default() }
    }

    /// Queries the store at once whether a start request was committed.
    pub(super) fn confirm(
        &self,
        opening: &RunSummary,
        started: Result<Started, StorageError>,
    ) -> Result<Started, StorageError> {
        match started {
            Err(error) if error.is_unconfirmed() => match self.is_stored(opening) {
                // Also if another instance has ended it meanwhile: its driver here then loses the lease.
                Ok(true) => Ok(Started::Created),
                Ok(false) | Err(_) => Err(error),
            },
            started => started,
        }
    }

    /// Adds a start request that may have been committed.
    pub(super) fn keep(&self, commit: UnconfirmedCommit) {
        warn!("run {}: the store did not confirm its start, will check later", commit.opening.id);
        self.add(commit);
    }

    fn add(&self, commit: UnconfirmedCommit) {
        let mut commits = self.commits.lock();
        if commits.len() < MOST {
            return commits.push(commit);
        }
        warn!(
            "run {}: not checking whether it was started, there are too many unconfirmed starts",
            commit.opening.id
        );
    }

    fn is_stored(&self, opening: &RunSummary) -> Result<bool, StorageError> {
        Ok(self.context().store.run(opening.id, opening.account)?.is_some())
    }

    /// Queries the store for all start requests.
    pub(super) fn settle_all(&self) {
        let mut commits = std::mem::take(&mut *self.commits.lock()).into_iter();
        for commit in commits.by_ref() {
            match self.settle(commit) {
                Settled::Yes => {}
                Settled::No(commit) => self.add(commit),
                Settled::StoreAway(commit) => {
                    self.add(commit);
                    break;
                }
            }
        }
        commits.for_each(|commit| self.add(commit));
    }

    fn settle(&self, mut commit: UnconfirmedCommit) -> Settled {
        match self.is_stored(&commit.opening) {
            Err(_) => Settled::StoreAway(commit),
            Ok(true) if commit.has_key => self.drive_after_all(commit),
            Ok(true) => match self.undo(&commit.opening) {
                Ok(()) => Settled::Yes,
                Err(_) => Settled::StoreAway(commit),
            },
            Ok(false) => {
                commit.absent_since.get_or_insert_with(Instant::now);
                if commit.is_over() { Settled::Yes } else { Settled::No(commit) }
            }
        }
    }

    /// Drives a run that was committed with this instance's lease. If no driver is free, the lease expires and the
    /// run is taken over.
    fn drive_after_all(&self, commit: UnconfirmedCommit) -> Settled {
        let UnconfirmedCommit { opening, job, .. } = &commit;
        let Some(run) = job.as_ref().map(|job| Arc::clone(&job.run)) else {
            // The run is in the queue, or was taken from it.
            self.note_late_start(opening);
            return Settled::Yes;
        };
        if self.dispatcher.registry.live(opening.id).is_some() {
            // The lease expired, and this instance has taken the run over.
            return Settled::Yes;
        }
        let (store, holds) = (&self.context().store, self.context().limits.lease);
        let renewed = store.checkpoint(opening.id, run.lease(), &run.checkpoint(), holds);
        match renewed {
            Err(_) => return Settled::StoreAway(commit),
            // Another instance has taken the run over.
            Ok(Write::LeaseLost) => return Settled::Yes,
            Ok(Write::Done) => {}
            Ok(Write::Stopped(at)) => run.end_early(at),
        }
        self.note_late_start(opening);
        if let (Some(job), Some(slot)) = (commit.job, self.dispatcher.drivers.reserve())
            && self.dispatcher.registry.insert(&run)
        {
            info!("run {}: its start was committed, driving it", run.id());
            self.dispatcher.start_driver(slot, job);
        }
        Settled::Yes
    }

    /// Records a start and its charge, which are confirmed only at this time.
    fn note_late_start(&self, opening: &RunSummary) {
        self.context().figures.note_start(opening.search_type, opening.credits_charged);
    }

    /// Ends the run as failed, which refunds its credits.
    fn undo(&self, opening: &RunSummary) -> Result<(), StorageError> {
        let ending = ending::failed(
            self.context(),
            "store_failed",
            "the start of the search was not confirmed in time",
        );
        if self.context().store.undo_start(opening.id, &ending)? == Write::Done {
            self.note_late_start(opening);
            self.context().figures.note_failure(opening.credits_charged);
            if let Some(run) = self.dispatcher.registry.live(opening.id) {
                run.lose();
            }
            info!("run {}: its start was committed after its caller was refused, undone", opening.id);
        }
        Ok(())
    }

    fn context(&self) -> &RunContext {
        &self.dispatcher.context
    }
}
