//! Taking over runs without a driver whenever a driver is free, both runs that wait for their first driver and runs that were
//! interrupted; the other periodic tasks of runs, and the shutdown.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use log::{error, log, warn};

use super::drivers::Slot;
use super::family::advance::{advance, advance_idle};
use super::live::{LiveRun, Stopped};
use super::service::{Runs, RunsConfig};
use super::{driver, ending};
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::drive::{Claim, Notification, Resumable, Subscriber as _};
use crate::model::run::ModuleReport;
use crate::model::start::Idempotency;
use crate::modules::reason::Reason;

/// The stack size of a driver, which holds no page and no document.
const DRIVER_STACK_BYTES: usize = 512 * 1024;
/// The maximum number of runs that are taken over at once.
const TAKE_OVER_RUNS: usize = 16;

/// The maximum interval of searches for runs without a driver, besides the searches of free drivers. The interval is
/// a tenth of the length of a lease if that is shorter.
const DISPATCH_EVERY: Duration = Duration::from_secs(5);
/// The interval at which old idempotency keys are removed.
const EXPIRE_KEYS_EVERY: Duration = Duration::from_secs(60 * 60);
/// The time after which what is still unconfirmed is undone. A database server that was suspended may commit an earlier
/// transaction after it answers again; by then idle transactions (30 s), locks and statements have timed out.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(60);
/// The interval at which what was learned is stored, and what others have learned is read.
const SHARE_HEALTH_EVERY: Duration = Duration::from_secs(5);

impl Runs {
    /// Reads the length of the queue from the store, and takes over as many runs as there are free drivers.
    pub(super) fn dispatch(self: &Arc<Self>) {
        let drivers = &self.drivers;
        match self.store.queue_length(self.config.simulated, None) {
            Ok(length) => {
                drivers.store_answers(Instant::now());
                let mut queue = drivers.queue();
                (queue.waiting, queue.looks_for_expired) = (length.all, true);
            }
            Err(error) => return self.note_store_away(&error),
        }
        loop {
            let slots = drivers.reserve(TAKE_OVER_RUNS);
            let wanted = slots.len();
            let Some((taken, runs)) = self.claim(wanted) else { return };
            runs.iter().zip(slots).for_each(|(run, slot)| self.start_driver(slot, run));
            if wanted == 0 || taken < wanted {
                return;
            }
        }
    }

    /// Starts a thread that drives this run, and then further runs as long as there are some in the queue.
    pub(super) fn start_driver(self: &Arc<Self>, slot: Slot, run: &Arc<LiveRun>) {
        let (runs, first) = (Arc::clone(self), Arc::clone(run));
        let builder = thread::Builder::new().name("run".to_owned()).stack_size(DRIVER_STACK_BYTES);
        if let Err(error) = builder.spawn(move || runs.drive(slot, first)) {
            error!(
                "cannot start a thread for run {}, which is resumed when its lease expires: {error}",
                run.id()
            );
            run.stop(Stopped::LeaseLost);
        }
    }

    fn drive(self: &Arc<Self>, _slot: Slot, first: Arc<LiveRun>) {
        let mut next = Some(first);
        while let Some(run) = next {
            driver::drive(self, &run);
            self.follow_leads(&run);
            if run.opening().batch.is_some() {
                // The next run of a batch can start.
                self.drivers.wake_maintenance();
            }
            drop(run);
            next = self.claim_next();
        }
    }

    /// Starts further runs of the family of a run that has ended.
    fn follow_leads(self: &Arc<Self>, run: &LiveRun) {
        let summary = run.summary();
        if summary.follow.is_some() && run.is_stored() {
            let root = summary.family.map_or(summary.id, |place| place.root);
            advance(self, root, summary.account, Some(summary.id));
        }
    }

    fn claim_next(&self) -> Option<Arc<LiveRun>> {
        loop {
            let queue = self.drivers.queue();
            // Interrupted runs are looked for if no driver was free in the last periodic search.
            if queue.waiting == 0 && !queue.looks_for_expired {
                return None;
            }
            drop(queue);
            let (taken, mut runs) = self.claim(1)?;
            if taken == 0 || !runs.is_empty() {
                return runs.pop();
            }
        }
    }

    fn note_taken(&self) {
        let mut queue = self.drivers.queue();
        queue.waiting = queue.waiting.saturating_sub(1);
    }

    /// Takes over at most `limit` runs without a driver. Returns their number, and those that this process has no later
    /// copy of. Returns `None` if the store does not answer or the process shuts down.
    fn claim(&self, limit: usize) -> Option<(usize, Vec<Arc<LiveRun>>)> {
        if self.drivers.is_shutting_down() {
            return None;
        }
        if limit == 0 {
            return Some((0, Vec::new()));
        }
        let expired = self.drivers.take_look(Instant::now());
        let driven = if expired { self.driven() } else { Vec::new() };
        let driven: Vec<_> = driven.iter().map(|run| run.id()).collect();
        match self.take_over(&driven, expired, None, limit) {
            Ok(runs) => {
                let (drivers, taken) = (&self.drivers, runs.len());
                drivers.store_answers(Instant::now());
                if taken < limit {
                    drivers.queue().waiting = 0;
                } else if expired {
                    // There may be more of them.
                    drivers.queue().looks_for_expired = true;
                }
                let runs = runs.into_iter().filter_map(|run| self.resume(run)).collect();
                if taken > 0 && self.drivers.is_shutting_down() {
                    // The runs may have been taken after all leases were released.
                    self.release_leases();
                }
                Some((taken, runs))
            }
            Err(error) => {
                self.note_store_away(&error);
                None
            }
        }
    }

    fn take_over(
        &self,
        except: &[RunId],
        expired: bool,
        only: Option<RunId>,
        limit: usize,
    ) -> Result<Vec<Resumable>, StorageError> {
        let RunsConfig { simulated, limits, .. } = self.config;
        let (owner, holds) = (self.instance, limits.lease);
        self.store.take_over(&Claim { owner, simulated, except, expired, only, holds, limit })
    }

    fn note_store_away(&self, error: &StorageError) {
        if !std::mem::replace(&mut self.drivers.queue().is_store_away, true) {
            log!(error.log_level(), "cannot look for runs without a driver: {error}");
        }
    }

    fn resume(&self, from: Resumable) -> Option<Arc<LiveRun>> {
        if let Some(before) = self.live(from.summary.id) {
            // This is, for example, a run that has ended but whose end could not be stored. The store refuses further
            // writes of its driver.
            before.lose();
        }
        if from.lease.epoch == 0 {
            self.note_taken();
            let waited = self.clock.now().duration_since(from.summary.created_at);
            self.figures.queue_durations.note(waited.try_into().unwrap_or_default());
        } else {
            self.figures.taken_over.one();
        }
        let changes = self.changes_of(from.summary.id);
        let run = Arc::new(LiveRun::resume(from, changes));
        self.insert(&run).then_some(run)
    }

    /// Stops a run, and the runs below it if it is the root of a family. A run that is driven ends a moment later, by
    /// whichever instance drives it. A run that waits ends at once. Does nothing to runs that have ended. Returns `false`
    /// if the run is unknown, deleted or of another account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn stop(self: &Arc<Self>, id: RunId, account: AccountId, by: &Origin) -> Result<bool, StorageError> {
        let Some(stopped) = self.store.stop(id, account, self.clock.now(), by)? else {
            return Ok(false);
        };
        for run in stopped {
            match self.live(run.id) {
                Some(live) => live.end_early(run.at),
                None if run.waits => self.end_waiting(run.id)?,
                // The driver is on another instance, which was notified.
                None => {}
            }
        }
        // The following of leads ends if no run of the family is running.
        advance(self, id, account, None);
        Ok(true)
    }

    /// Ends a run that was stopped while it waited for its first driver. The end is stored with a single try: if that
    /// fails, the next driver of the run ends it.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(super) fn end_waiting(&self, run: RunId) -> Result<(), StorageError> {
        let catalog = self.catalog();
        for from in self.take_over(&[], false, Some(run), 1)? {
            self.note_taken();
            let run = LiveRun::resume(from, Arc::default());
            let mut last = run.unchanged();
            for id in run.modules() {
                let platform = catalog.get(id).map_or(id.as_str(), |module| module.platform());
                last.add_report(ModuleReport::skipped(id, platform, Reason::Stopped));
            }
            ending::store_stopped(self, &run, last)?;
            self.notify(Notification::TakenOver { run: run.id(), epoch: run.lease().epoch });
        }
        Ok(())
    }

    /// Releases the leases of all runs that this process drives, so that any instance may take them over.
    pub(super) fn release_leases(&self) {
        if let Err(error) = self.store.release(self.instance) {
            warn!("cannot release the leases, which will expire: {error}");
        }
    }

    /// Waits until the shutdown begins, a task becomes due early, or the given moment is reached. Returns whether the
    /// shutdown has begun.
    pub fn wait(&self, until: Instant) -> bool {
        self.drivers.wait(until)
    }

    /// Makes the periodic tasks that start runs due now, because there may be some to start.
    pub fn wake(&self) {
        self.drivers.wake_maintenance();
    }

    /// Removes cached answers that no later check will use. The maintenance thread calls this every few seconds.
    pub fn sweep_caches(&self) {
        self.checker.evict_expired();
        self.scheduler.answers().sweep(Instant::now());
    }

    /// Executes the periodic tasks that are due. The maintenance thread calls this about once a second.
    pub fn run_due_tasks(self: &Arc<Self>) {
        self.sweep();
        self.scheduler.sweep(Instant::now());
        // The lock is held to the end. A shutdown, which releases the leases, waits for it, so no run is taken over
        // afterwards.
        let [dispatch, share_health, expire_keys] = &mut *self.due.lock();
        if self.drivers.is_shutting_down() {
            return;
        }
        if self.drivers.take_wake_up() {
            *dispatch = Instant::now();
        }
        if is_due(dispatch, DISPATCH_EVERY.min(self.config.limits.lease / 10)) {
            advance_idle(self);
            self.dispatch();
            self.feed_batches();
        }
        if is_due(share_health, SHARE_HEALTH_EVERY) {
            self.health.share();
            if let Err(error) = self.store.undo_unconfirmed(CONFIRMED_WITHIN) {
                log!(error.log_level(), "cannot undo what was not confirmed: {error}");
            }
        }
        if is_due(expire_keys, EXPIRE_KEYS_EVERY) {
            let before = Idempotency::valid_since(self.clock.now());
            if let Err(error) = self.store.forget_idempotency(before) {
                log!(error.log_level(), "cannot remove expired idempotency keys: {error}");
            }
        }
    }

    /// Saves and stops all runs and releases them, so that this or another instance can resume them at once.
    /// Stores what was learned, and wakes readers and waiting threads. Waits until the given moment at most.
    pub fn shut_down(&self, until: Instant) {
        self.drivers.shut_down();
        self.stop_all();
        if !self.drivers.wait_for_all(until) {
            warn!("some runs did not stop in time");
        }
        let _due = self.due.lock();
        self.release_leases();
        self.health.share();
    }
}

fn is_due(moment: &mut Instant, every: Duration) -> bool {
    let due = Instant::now() >= *moment;
    if due {
        *moment = Instant::now() + every;
    }
    due
}
