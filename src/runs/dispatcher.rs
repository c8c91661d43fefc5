//! Taking over runs without a driver whenever a driver is free, both runs that wait for their first
//! driver and runs that were interrupted.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use log::{error, info, log, warn};

use super::drivers::Slot;
use super::family::advance::advance;
use super::job::{EarlierConclusions, Job};
use super::live::{LiveRun, Stopped};
use super::service::Runs;
use super::{driver, ending};
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::{Claim, Notification, Resumable};
use crate::model::run::ModuleReport;
use crate::modules::query::Query;
use crate::modules::reason::Reason;

/// The stack size of a driver, which holds no page and no document.
const DRIVER_STACK_BYTES: usize = 512 * 1024;
/// The maximum number of runs that are taken over at once.
const TAKE_OVER_RUNS: usize = 16;
/// The maximum number of times that a run may be taken over. A run that crashes each process that drives it, for
/// instance by its use of memory, would otherwise move from instance to instance until its configured deadline.
const MOST_TAKE_OVERS: u64 = 64;
/// The message of a run that was taken over more often.
const INTERRUPTED: &str = "the search was interrupted too many times and is not tried again";

impl Runs {
    /// Reads the length of the queue from the store, and takes over as many runs as there are free drivers.
    pub(super) fn dispatch(self: &Arc<Self>) {
        match self.context.store.queue_length(self.context.simulated, None) {
            Ok(length) => {
                self.queue.note_length(length.all);
                let mut expired = self.queue.expired.lock();
                expired.store_answers(Instant::now());
                expired.request_look();
            }
            Err(error) => return self.note_store_away(&error),
        }
        loop {
            let mut slots: Vec<Slot> =
                std::iter::from_fn(|| self.drivers.reserve()).take(TAKE_OVER_RUNS).collect();
            slots.iter_mut().for_each(Slot::note_look);
            let wanted = slots.len();
            let Some((taken, jobs)) = self.claim(wanted) else { return };
            jobs.into_iter().zip(slots).for_each(|(job, slot)| self.start_driver(slot, job));
            if wanted == 0 || taken < wanted {
                return;
            }
        }
    }

    /// Starts a thread that drives this run, and then further runs as long as there are some in the queue.
    pub(super) fn start_driver(self: &Arc<Self>, slot: Slot, job: Job) {
        let (runs, run) = (Arc::clone(self), Arc::clone(&job.run));
        let builder = thread::Builder::new().name("run".to_owned()).stack_size(DRIVER_STACK_BYTES);
        if let Err(error) = builder.spawn(move || runs.drive(slot, job)) {
            error!(
                "cannot start a thread for run {}, which is resumed when its lease expires: {error}",
                run.id()
            );
            run.stop(Stopped::LeaseLost);
        }
    }

    fn drive(&self, mut slot: Slot, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            driver::drive(&self.context, &job);
            self.follow_leads(&job.run);
            if job.run.opening().batch.is_some() {
                // The next run of a batch can start.
                self.registry.lifecycle.wake_maintenance();
            }
            drop(job);
            next = self.claim_next(&mut slot);
        }
    }

    /// Starts further runs of the family of a run that has ended.
    fn follow_leads(&self, run: &LiveRun) {
        let summary = run.summary();
        if summary.follow.is_some() && run.published.is_stored() {
            let root = summary.family.map_or(summary.id, |place| place.root);
            advance(&self.context, root, summary.account, Some(summary.id));
        }
    }

    fn claim_next(&self, slot: &mut Slot) -> Option<Job> {
        loop {
            slot.note_look();
            if !self.queue.may_have_runs() {
                return None;
            }
            let (taken, mut jobs) = self.claim(1)?;
            if taken == 0 || !jobs.is_empty() {
                return jobs.pop();
            }
        }
    }

    /// Takes over at most `limit` runs without a driver. Returns the number of these runs, and the jobs of those that
    /// must be driven. Returns `None` if the store does not answer or the process shuts down.
    fn claim(&self, limit: usize) -> Option<(usize, Vec<Job>)> {
        if self.registry.lifecycle.is_shutting_down() {
            return None;
        }
        if limit == 0 {
            return Some((0, Vec::new()));
        }
        let expired = self.queue.expired.lock().take_look(Instant::now());
        let driven = if expired { self.registry.driven() } else { Vec::new() };
        let claim = Claim {
            owner: self.context.instance,
            simulated: self.context.simulated,
            except: &driven,
            expired,
            only: None,
            holds: self.context.limits.lease,
            limit,
        };
        match self.context.store.take_over(&claim) {
            Ok(runs) => {
                self.queue.expired.lock().store_answers(Instant::now());
                let taken = runs.len();
                if taken < limit {
                    self.queue.note_length(0);
                } else if expired {
                    // There may be more of them.
                    self.queue.expired.lock().request_look();
                }
                let jobs = runs.into_iter().filter_map(|run| self.resume(run)).collect();
                if taken > 0 && self.registry.lifecycle.is_shutting_down() {
                    // The runs may have been taken after all leases were released.
                    self.release_leases();
                }
                Some((taken, jobs))
            }
            Err(error) => {
                self.note_store_away(&error);
                None
            }
        }
    }

    fn note_store_away(&self, error: &StorageError) {
        if self.queue.expired.lock().store_is_away() {
            log!(error.log_level(), "cannot look for runs without a driver: {error}");
        }
    }

    fn resume(&self, from: Resumable) -> Option<Job> {
        let id = from.summary.id;
        let waited = from.lease.epoch == 0;
        if let Some(before) = self.registry.live(id) {
            // This is, for example, a run that has ended but whose end could not be stored. The store refuses further
            // writes of its driver.
            before.lose();
        }
        if waited {
            self.queue.note_taken();
        }
        if from.lease.epoch > MOST_TAKE_OVERS {
            error!(
                "run {id}: abandoned after {MOST_TAKE_OVERS} take-overs, since it may crash the processes that drive it"
            );
            return self.give_up(from, "internal_error", INTERRUPTED);
        }
        let Ok(query) = Query::parse(from.summary.search_type, &from.summary.query) else {
            // The query was valid for the version of this program that accepted it.
            return self.give_up(
                from,
                "internal_error",
                "this version of the program cannot resume the search",
            );
        };
        if self.context.suppression.get().holds(&query) {
            return self.give_up(from, "suppressed", "the query is suppressed now");
        }
        if waited {
            let now = self.context.clock.now();
            let waited = now.duration_since(from.summary.created_at);
            self.context.figures.queue_durations.note(waited.try_into().unwrap_or_default());
        } else {
            self.context.figures.taken_over.one();
        }
        let job = self.job_of(from, query);
        self.registry.insert(&job.run).then_some(job)
    }

    fn job_of(&self, from: Resumable, query: Query) -> Job {
        let done: Vec<&str> = from.done.iter().map(|report| report.module.as_str()).collect();
        let catalog = self.context.catalog.get();
        let (mut modules, mut gone) = (Vec::new(), Vec::new());
        for module in from.modules.iter().filter(|module| !done.contains(&module.as_str())) {
            match catalog.get(module) {
                Some(known) => modules.push(Arc::clone(known)),
                None => gone.push(module.clone()),
            }
        }
        if from.lease.epoch > 0 {
            let (left, all) = (modules.len(), from.modules.len());
            info!("run {}: resumed with {left} of {all} modules left", from.summary.id);
        }
        let earlier = EarlierConclusions::of(&from.done, &catalog);
        Job { run: Arc::new(LiveRun::resume(from)), query, modules, gone, earlier }
    }

    /// Ends a run that was taken over and will not be driven. The end is stored with a single try, since other runs
    /// wait.
    fn give_up(&self, from: Resumable, code: &str, message: &str) -> Option<Job> {
        let run = LiveRun::resume(from);
        let ending = ending::failed(&self.context, code, message);
        if let Err(error) = ending::store_once(&self.context, &run, &mut run.unchanged(), &ending) {
            log!(
                error.log_level(),
                "run {}: cannot store that it is abandoned, will retry: {error}",
                run.id()
            );
        }
        None
    }

    /// Ends a run that was stopped while it waited for its first driver. The end is stored with a single try: if that
    /// fails, the next driver of the run ends it.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(super) fn end_waiting(&self, run: RunId) -> Result<(), StorageError> {
        let context = &self.context;
        let claim = Claim {
            owner: context.instance,
            simulated: context.simulated,
            except: &[],
            expired: false,
            only: Some(run),
            holds: context.limits.lease,
            limit: 1,
        };
        let catalog = context.catalog.get();
        for from in context.store.take_over(&claim)? {
            self.queue.note_taken();
            let left = from.modules.iter().map(|id| {
                let platform = catalog.get(id).map_or(id.as_str(), |module| module.platform());
                ModuleReport::skipped(id, platform, Reason::Stopped)
            });
            let (reports, run) = (left.collect::<Vec<_>>(), LiveRun::resume(from));
            let mut last = run.unchanged();
            reports.into_iter().for_each(|report| last.add_report(report));
            ending::store_once(context, &run, &mut last, &ending::stopped(context))?;
            self.registry.notify(Notification::Changed { run: run.id(), epoch: run.lease().epoch });
        }
        Ok(())
    }

    /// Releases the leases of all runs that this process drives, so that any instance may take them over.
    pub(super) fn release_leases(&self) {
        if let Err(error) = self.context.store.release(self.context.instance) {
            warn!("cannot release the leases, which will expire: {error}");
        }
    }
}
