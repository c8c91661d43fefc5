//! Taking over runs without a driver whenever a driver is free, both runs that wait for their first driver and runs that were
//! interrupted; what is known of the queue of these runs; their end before they have a driver, and the shutdown.

use std::sync::Arc;
use std::time::Instant;

use log::{error, log, warn};

use super::driver;
use super::ending::{STOPPED, ending, try_to_store};
use super::family::advance::advance;
use super::live::{LiveRun, Stopped};
use super::service::{Runs, RunsConfig};
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::base::threads;
use crate::model::audit::Origin;
use crate::model::drive::{Claim, Notification, Resumable, Subscriber as _};
use crate::model::run::ModuleReport;
use crate::modules::reason::Reason;

/// The stack size of a driver, which holds no page and no document.
const DRIVER_STACK_BYTES: usize = 512 * 1024;

/// The right to drive runs, one after the other. Dropping the slot frees it.
pub(super) struct Slot(Arc<Runs>);

impl Drop for Slot {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        queue.taken -= 1;
        queue.is_woken |= std::mem::take(&mut queue.is_missed);
        self.0.queue_changed.notify_all();
    }
}

impl Runs {
    /// Reserves a free slot. If there is none, the maintenance thread wakes as soon as one is free.
    pub(super) fn reserve(self: &Arc<Self>) -> Option<Slot> {
        let mut queue = self.queue.lock();
        let is_free = !queue.is_shutting_down && queue.taken < self.config.max_runs.max(1);
        queue.taken += usize::from(is_free);
        queue.is_missed |= !is_free;
        is_free.then(|| Slot(Arc::clone(self)))
    }

    /// Returns the number of runs that this process drives, and the last known number of runs of all instances that
    /// wait for a driver.
    pub fn load(&self) -> (usize, usize) {
        let queue = self.queue.lock();
        (queue.taken, queue.waiting)
    }

    /// Returns whether the shutdown has begun.
    pub(super) fn is_shutting_down(&self) -> bool {
        self.queue.lock().is_shutting_down
    }

    /// Wakes the maintenance thread, because there may be runs to start.
    pub fn wake(&self) {
        self.queue.lock().is_woken = true;
        self.queue_changed.notify_all();
    }

    /// Wakes the maintenance thread if a driver is free for a run that waits, or as soon as one is.
    pub(super) fn wake_if_free(&self) {
        let mut queue = self.queue.lock();
        let is_free = queue.taken < self.config.max_runs.max(1);
        queue.is_woken |= is_free;
        queue.is_missed |= !is_free;
        self.queue_changed.notify_all();
    }

    /// Waits until the shutdown begins, the maintenance thread is woken, or the given moment is reached. Returns whether
    /// the shutdown has begun.
    pub fn wait(&self, until: Instant) -> bool {
        let mut queue = self.queue.lock();
        while !queue.is_shutting_down
            && !std::mem::take(&mut queue.is_woken)
            && !self.queue_changed.wait_until(&mut queue, until).timed_out()
        {}
        queue.is_shutting_down
    }

    /// Saves and stops all runs and releases them, so that this or another instance can resume them at once.
    /// Stores what was learned, and wakes readers and waiting threads. Waits until the given moment at most.
    pub fn shut_down(&self, until: Instant) {
        self.queue.lock().is_shutting_down = true;
        self.queue_changed.notify_all();
        self.notify_all_readers();
        self.live.read().values().for_each(|run| run.stop(Stopped::Shutdown));
        let mut queue = self.queue.lock();
        while queue.taken > 0 && !self.queue_changed.wait_until(&mut queue, until).timed_out() {}
        if queue.taken > 0 {
            warn!("some runs did not stop in time");
        }
        drop(queue);
        // No run is taken over afterwards: that takes a slot, and none is free during a shutdown.
        self.release_leases();
        self.health.share();
    }

    /// Reads the length of the queue from the store, and takes over as many runs as there are free drivers. The maintenance
    /// thread calls this when it is woken, and about once a second.
    pub fn dispatch(self: &Arc<Self>) {
        let length = self.store.queue_length(self.config.simulated, None);
        let Ok((all, _)) = length.inspect_err(|error| self.note_store_away(error)) else { return };
        let mut queue = self.queue.lock();
        queue.store_answers(Instant::now());
        (queue.waiting, queue.looks_for_expired) = (all, true);
        drop(queue);
        while let Some(slot) = self.reserve() {
            let Some(run) = self.claim_next() else { return };
            self.start_driver(slot, &run);
        }
    }

    /// Starts a thread that drives this run, and then further runs as long as there are some in the queue.
    pub(super) fn start_driver(self: &Arc<Self>, slot: Slot, run: &Arc<LiveRun>) {
        let (runs, first) = (Arc::clone(self), Arc::clone(run));
        if let Err(error) = threads::start("run", DRIVER_STACK_BYTES, move || runs.drive(slot, first)) {
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
            let summary = &run.opening.summary;
            if summary.follow.is_some() && run.is_stored() {
                // Further runs of its family may start.
                advance(self, summary.root(), summary.account, Some(summary.id));
            }
            if summary.is_of_batch() {
                // The next run of a batch can start.
                self.wake();
            }
            drop(run);
            next = self.claim_next();
        }
    }

    /// Takes over the next run without a driver, unless none is known, the store does not answer or the process shuts down.
    fn claim_next(&self) -> Option<Arc<LiveRun>> {
        loop {
            let mut queue = self.queue.lock();
            // Interrupted runs are looked for if no driver was free in the last periodic search.
            if queue.is_shutting_down || queue.waiting == 0 && !queue.looks_for_expired {
                return None;
            }
            let expired = queue.take_look(Instant::now());
            drop(queue);
            let driven = if expired { self.driven() } else { Vec::new() };
            let driven: Vec<_> = driven.iter().map(|run| run.id()).collect();
            let claim = Claim { except: &driven, expired, ..self.claim() };
            let taken = self.store.take_over(&claim).inspect_err(|error| self.note_store_away(error)).ok()?;
            let mut queue = self.queue.lock();
            queue.store_answers(Instant::now());
            let Some(from) = taken else {
                queue.waiting = 0;
                return None;
            };
            queue.waiting = queue.waiting.saturating_sub(usize::from(from.lease.epoch == 0));
            // There may be more of them.
            queue.looks_for_expired |= expired;
            drop(queue);
            // A run of which this process has a later copy has a driver.
            if let Some(run) = self.resume(from) {
                return Some(run);
            }
        }
    }

    /// Returns the claim of this process for a run without an owner.
    fn claim(&self) -> Claim<'static> {
        let (owner, RunsConfig { simulated, lease: holds, .. }) = (self.instance, self.config);
        Claim { owner, simulated, except: &[], expired: false, only: None, holds }
    }

    fn note_store_away(&self, error: &StorageError) {
        if !std::mem::replace(&mut self.queue.lock().is_store_away, true) {
            log!(error.log_level(), "cannot look for runs without a driver: {error}");
        }
    }

    /// Adds a run that this process is to drive, unless it has a later copy of it.
    pub(super) fn resume(&self, from: Resumable) -> Option<Arc<LiveRun>> {
        if let Some(before) = self.live(from.summary.id) {
            // This is, for example, a run that has ended but whose end could not be stored. The store refuses further
            // writes of its driver.
            before.lose();
        }
        if from.lease.epoch == 0 {
            let waited = self.clock.now().duration_since(from.summary.created_at);
            self.figures.queue_durations.note(waited.try_into().unwrap_or_default());
        } else {
            self.figures.taken_over.one();
        }
        let changes = self.changes_of(from.summary.id);
        let run = Arc::new(LiveRun::resume(from, changes));
        let is_newest = self.insert(&run);
        if self.is_shutting_down() {
            // The run may have been taken after all leases were released.
            self.release_leases();
        }
        is_newest.then_some(run)
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
                // Its driver on another instance was notified, or its next one learns it by its first save.
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
        if let Some(from) = self.store.take_over(&Claim { only: Some(run), ..self.claim() })? {
            let run = LiveRun::resume(from, Arc::default());
            let mut last = run.unchanged();
            for id in &run.opening.modules {
                last.add_report(ModuleReport::skipped(id, catalog.get(id), Reason::Stopped));
            }
            try_to_store(self, &run, &mut last, &ending(self, Some(STOPPED)))?;
            self.notify(Notification::TakenOver { run: run.id(), epoch: run.opening.lease.epoch });
        }
        Ok(())
    }

    /// Releases the leases of all runs that this process drives, so that any instance may take them over.
    pub(super) fn release_leases(&self) {
        if let Err(error) = self.store.release(self.instance) {
            warn!("cannot release the leases, which will expire: {error}");
        }
    }

    /// Removes cached answers that no later check will use. The maintenance thread calls this every few seconds.
    pub fn sweep_caches(&self) {
        self.checker.evict_expired();
        self.scheduler.answers.sweep(Instant::now());
    }
}
