//! Orders whose commit's answer was lost: the run may have been created and charged, or not.
//!
//! The caller was told 503, which promises nothing but that a repetition is safe. So when the store is back:
//! - an order with an `Idempotency-Key` that was committed is driven here at once. Whoever repeats the key gets
//!   that run, charged once;
//! - one without a key is repeated as a new order and charged as such: what was committed of the first one ends as
//!   failed, and its credits go back;
//! - one that was not committed leaves nothing. It is looked for a while, since a server that stood still may
//!   yet work off what it was sent.
//!
//! Where this process ends before the store is back, its lease runs out and the run, paid for, is driven by the
//! next one.

use std::time::{Duration, Instant};

use log::{info, warn};
use parking_lot::Mutex;

use super::ending;
use super::journal::{Started, Write};
use super::live::LiveRun;
use super::scheduler::Job;
use super::service::Runs;
use crate::base::storage::StorageError;

/// How long a server that answers again may still work off a commit that it was sent before: by then it has ended
/// idle transactions (30 s), and locks and statements long before.
const LOOKED_FOR: Duration = Duration::from_secs(60);
/// Each holds a list of modules. No more commits can be under way at once than there are connections.
const MOST: usize = 1000;

/// An order that may have been committed.
pub(super) struct Doubt {
    job: Job,
    /// Whether whoever repeats it gets the same run.
    has_key: bool,
    /// Since when the store has said that it has no such run.
    absent_since: Option<Instant>,
}

impl Doubt {
    pub(super) fn new(job: Job, has_key: bool) -> Self {
        Self { job, has_key, absent_since: None }
    }

    fn is_over(&self) -> bool {
        self.absent_since.is_some_and(|since| since.elapsed() >= LOOKED_FOR)
    }
}

/// All such orders.
#[derive(Default)]
pub(super) struct Doubts(Mutex<Vec<Doubt>>);

impl Doubts {
    fn add(&self, doubt: Doubt) {
        let mut doubts = self.0.lock();
        if doubts.len() < MOST {
            return doubts.push(doubt);
        }
        warn!(
            "run {}: whether it was started is not followed up: there are too many such",
            doubt.job.run.id()
        );
    }

    fn take(&self) -> Vec<Doubt> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// What became of one.
enum Settled {
    Yes,
    No(Doubt),
    StoreAway(Doubt),
}

impl Runs {
    /// Finds out at once, where that can be done, whether an order was committed.
    pub(super) fn clear_up(
        &self,
        job: &Job,
        started: Result<Started, StorageError>,
    ) -> Result<Started, StorageError> {
        match started {
            Err(error) if error.is_in_doubt() => match self.is_stored(job) {
                Ok(true) => Ok(Started::Created),
                Ok(false) | Err(_) => Err(error),
            },
            started => started,
        }
    }

    /// Keeps an order in mind of which it is not known whether it was committed.
    pub(super) fn keep_in_doubt(&self, doubt: Doubt) {
        warn!("run {}: its start was not confirmed by the store, which is asked later", doubt.job.run.id());
        self.doubts.add(doubt);
    }

    fn is_stored(&self, job: &Job) -> Result<bool, StorageError> {
        let run = &job.run;
        Ok(self.workshop.journal.run(run.id(), run.account())?.is_some_and(|run| !run.status.is_terminal()))
    }

    /// Asks the store about all of them.
    pub(super) fn settle_doubts(&self) {
        let mut doubts = self.doubts.take().into_iter();
        for doubt in doubts.by_ref() {
            match self.settle(doubt) {
                Settled::Yes => {}
                Settled::No(doubt) => self.doubts.add(doubt),
                Settled::StoreAway(doubt) => {
                    self.doubts.add(doubt);
                    break;
                }
            }
        }
        doubts.for_each(|doubt| self.doubts.add(doubt));
    }

    fn settle(&self, mut doubt: Doubt) -> Settled {
        let id = doubt.job.run.id();
        if self.live(id).is_some() {
            // It was committed, its lease ran out, and this very instance has taken it over.
            return Settled::Yes;
        }
        match self.is_stored(&doubt.job) {
            Err(_) => Settled::StoreAway(doubt),
            Ok(true) if doubt.has_key => match self.is_ours(&doubt.job.run) {
                Ok(true) => {
                    self.drive_after_all(doubt.job);
                    Settled::Yes
                }
                // Another instance has taken it over.
                Ok(false) => Settled::Yes,
                Err(_) => Settled::StoreAway(doubt),
            },
            Ok(true) => match self.undo(&doubt.job) {
                Ok(()) => Settled::Yes,
                Err(_) => Settled::StoreAway(doubt),
            },
            Ok(false) => {
                doubt.absent_since.get_or_insert_with(Instant::now);
                if doubt.is_over() { Settled::Yes } else { Settled::No(doubt) }
            }
        }
    }

    /// Whether its lease is still the one it was started with; renews it.
    fn is_ours(&self, run: &LiveRun) -> Result<bool, StorageError> {
        let lost = self.workshop.journal.renew(&[(run.id(), run.lease())], self.workshop.limits.lease)?;
        Ok(lost.is_empty())
    }

    fn drive_after_all(&self, job: Job) {
        if self.hold(&job.run) {
            info!("run {}: it was started after all, and is driven", job.run.id());
            self.note_late_start(&job);
            self.scheduler.submit(job);
        }
    }

    /// What was booked in the end counts as booked.
    fn note_late_start(&self, job: &Job) {
        let credits = job.run.summary().credits_charged;
        self.workshop.figures.note_start(job.query.search_type(), credits);
    }

    /// Ends it as failed, which gives its credits back. Where another instance has taken it over meanwhile it
    /// stays, and stays paid for.
    fn undo(&self, job: &Job) -> Result<(), StorageError> {
        let workshop = &self.workshop;
        let ending =
            ending::failed(workshop, "store_failed", "the start of the search was not confirmed in time");
        let (id, credits) = (job.run.id(), job.run.summary().credits_charged);
        match workshop.journal.finish(id, job.run.lease(), &job.run.checkpoint(), &ending)? {
            Write::Done => {
                self.note_late_start(job);
                workshop.figures.note_failure(credits);
                info!("run {id}: it was started after its caller was refused, and is undone");
            }
            Write::LeaseLost => {
                info!(
                    "run {id}: it was started after its caller was refused; another instance goes on with it"
                );
            }
        }
        Ok(())
    }
}
