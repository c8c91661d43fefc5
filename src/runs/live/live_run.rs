//! [`LiveRun`]: a run in memory, which its driver publishes and its readers read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::info;
use parking_lot::{Mutex, MutexGuard};

use super::state::{self, Published, State, Stopped};
use super::waiters::Waiters;
use crate::base::ids::{AccountId, BatchId, RunId};
use crate::modules::outcome::Outcome;
use crate::modules::reason::Reason;
use crate::runs::event::{self, DoneData, Frame, ProgressData};
use crate::runs::family::frames::frames;
use crate::runs::family::member::{FollowOrder, FollowedLead, Lookup};
use crate::runs::host_limiter::Waker;
use crate::runs::journal::{Batch, Checkpoint, Ending, Lease, Resumable};
use crate::runs::record::{RunRecord, Thumbnails};
use crate::runs::run::{ModuleReport, Progress, ResultRecord, RunSummary, Status, count};
use crate::runs::run_options::RunOptions;

/// A run that this process holds in memory.
pub struct LiveRun {
    opening: RunSummary,
    lease: Lease,
    modules: Vec<String>,
    /// The time at which the run was first driven by this process, and the time for which it had been driven before.
    began: Instant,
    ran_before: Duration,
    pub(super) state: Mutex<State>,
    pub(super) waiters: Waiters,
}

impl LiveRun {
    /// Creates a run that starts at this moment.
    pub fn new(opening: RunSummary, lease: Lease, modules: Vec<String>) -> Self {
        let mut run = Self::resume(Resumable {
            lease,
            ran_for: Duration::ZERO,
            summary: opening,
            modules,
            done: Vec::new(),
            lookups: Vec::new(),
            results: Vec::new(),
        });
        run.state.get_mut().is_annotated = false;
        run
    }

    /// Creates a run that was waiting or interrupted. Its stored results count as published.
    pub fn resume(from: Resumable) -> Self {
        let state = State::new(&from.summary, from.results, from.done, from.lookups);
        Self {
            opening: RunSummary { queue_position: None, ..from.summary },
            lease: from.lease,
            modules: from.modules,
            began: Instant::now(),
            ran_before: from.ran_for,
            state: Mutex::new(state),
            waiters: Waiters::default(),
        }
    }

    /// Returns how long the checks of the run may take.
    pub fn options(&self) -> RunOptions {
        self.opening.options
    }

    /// Returns the batch of the run, if it is of one.
    pub fn batch(&self) -> Option<BatchId> {
        self.opening.batch
    }

    /// Returns how leads are followed, if they are.
    pub fn follow(&self) -> Option<Arc<FollowOrder>> {
        self.opening.follow.clone()
    }

    /// Returns the accounts that are or were looked up.
    pub fn lookups(&self) -> Vec<Lookup> {
        self.state.lock().lookups.clone()
    }

    /// Adds accounts that will be looked up.
    pub fn add_lookups(&self, planned: Vec<Lookup>) {
        self.state.lock().lookups.extend(planned);
    }

    /// Records the end of a look-up.
    pub fn end_lookup(&self, at: usize, outcome: Outcome, reason: Option<Reason>) {
        if let Some(lookup) = self.state.lock().lookups.get_mut(at) {
            (lookup.outcome, lookup.reason) = (Some(outcome), reason);
        }
    }

    /// Sets the runs that leads of this run have started. Readers learn of them before the `done` frame.
    pub fn set_children(&self, children: Vec<(FollowedLead, RunSummary)>) {
        self.state.lock().children = children;
    }

    /// Returns the id of the run.
    pub fn id(&self) -> RunId {
        self.opening.id
    }

    /// Returns the account that owns the run.
    pub fn account(&self) -> AccountId {
        self.opening.account
    }

    /// Returns the lease that this process holds or has lost.
    pub fn lease(&self) -> Lease {
        self.lease
    }

    /// Returns the time since the run was first driven, by this process or another.
    pub fn ran_for(&self) -> Duration {
        self.ran_before + self.began.elapsed()
    }

    /// Returns the moment at which the run has been driven for `run_timeout`.
    pub fn ceiling(&self, run_timeout: Duration) -> Instant {
        self.began + run_timeout.saturating_sub(self.ran_before)
    }

    /// Returns the current state without results and reports.
    pub fn summary(&self) -> RunSummary {
        self.summary_of(&self.state.lock())
    }

    /// Returns the current state with all results, and a version that changes with them.
    pub fn snapshot(&self) -> (RunSummary, Vec<Arc<Published>>, u64) {
        let state = self.state.lock();
        (self.summary_of(&state), state.results.clone(), state.version)
    }

    /// Returns the complete run in its current state.
    pub fn record(&self, as_of: Timestamp) -> RunRecord {
        let state = self.state.lock();
        RunRecord {
            summary: self.summary_of(&state),
            results: state.results.iter().map(|result| result.record.clone()).collect(),
            modules: state.reports.clone(),
            lookups: state.lookups.clone(),
            as_of,
            thumbnails: Thumbnails::new(),
        }
    }

    /// Returns a number that changes whenever anything in the run changes.
    pub fn version(&self) -> u64 {
        self.state.lock().version
    }

    /// Returns the reports of the modules that have ended.
    pub fn reports(&self) -> Vec<ModuleReport> {
        self.state.lock().reports.clone()
    }

    /// Returns the state that the journal stores beside the results.
    pub fn checkpoint(&self) -> Checkpoint {
        let state = self.state.lock();
        Checkpoint {
            progress: self.progress_of(&state),
            coverage: state.coverage,
            modules: state.reports.clone(),
            lookups: state.lookups.clone(),
        }
    }

    /// Returns whether the run has ended and is stored completely. It can then be removed from memory.
    pub fn is_stored(&self) -> bool {
        self.state.lock().is_stored
    }

    /// Returns the time at which the run ended, if it has.
    pub fn ended_at(&self) -> Option<Instant> {
        self.state.lock().ended_at
    }

    /// Returns the reason why this process no longer drives the run, if it was stopped.
    pub fn stopped(&self) -> Option<Stopped> {
        self.state.lock().stopped
    }

    /// Returns whether this copy is out of date, because another instance drives the run or the run was deleted.
    pub fn is_gone(&self) -> bool {
        matches!(self.stopped(), Some(Stopped::LeaseLost | Stopped::Deleted))
    }

    /// Returns the current state of a result.
    pub fn result(&self, id: u32) -> Option<ResultRecord> {
        self.state.lock().result(id).map(|result| result.record.clone())
    }

    /// Publishes stored results and ended modules, with one progress frame for them all. Changed results are published
    /// by [`Self::announce_changes`].
    pub fn publish(&self, batch: Batch, reports: Vec<ModuleReport>) {
        if batch.added.is_empty() && batch.changed.is_empty() && reports.is_empty() {
            return;
        }
        // Results are serialized before the lock is taken, so that readers do not wait for thousands of them.
        let added: Vec<Arc<Published>> = batch.added.into_iter().map(Published::added).collect();
        let changed: Vec<Arc<Published>> =
            batch.changed.into_iter().map(|record| Published::changed(record, batch.revision)).collect();
        let mut state = self.state.lock();
        state.take(added, changed, batch.revision);
        if !reports.is_empty() {
            let seen = state.take_reports(reports);
            let frame = self.progress_since(&state, seen);
            state.push_progress(frame);
        }
        self.announce(state);
    }

    /// Publishes the results that have changed since the last call.
    pub fn announce_changes(&self) {
        let has_news = self.state.lock().push_changes();
        if has_news {
            self.waiters.notify_all();
        }
    }

    /// Ends the run. The `done` frame is the last that readers get. `is_stored` tells whether the ending and all
    /// results are stored. A run ends only once, so a further call can only mark it as stored.
    pub fn end(&self, ending: Ending, is_stored: bool) {
        let mut state = self.state.lock();
        state.is_stored |= is_stored;
        if state.status.is_terminal() {
            return;
        }
        state.push_changes();
        state.status = ending.status;
        if ending.status == Status::Failed {
            state.credits_charged = 0;
        }
        let done = event::done_frame(&DoneData {
            run_id: self.opening.id,
            status: ending.status,
            total_results: count(state.results.len()),
            progress: self.progress_of(&state),
            coverage: state.coverage,
            results_available: is_stored,
            error: ending.error.as_ref(),
        });
        let mut last = frames(&state.lookups, &state.children).concat();
        last.extend_from_slice(&done);
        state.done = Some(last.into());
        state.ending = Some(ending);
        state.ended_at = Some(Instant::now());
        self.announce(state);
    }

    /// Stops the run in this process, and wakes the driver and the readers.
    pub fn stop(&self, why: Stopped) {
        let mut state = self.state.lock();
        state.stopped.get_or_insert(why);
        if let Some(wake) = &state.wake_driver {
            wake();
        }
        self.announce(state);
    }

    /// Ends the run with what it has, because its owner stopped it at that time. Its driver ends all modules that are
    /// left, and gives up checks under way. Does nothing if the run was stopped before.
    pub fn end_early(&self, at: Timestamp) {
        let mut state = self.state.lock();
        if state.stopped_at.is_some() || state.status.is_terminal() {
            return;
        }
        state.stopped_at = Some(at);
        if let Some(wake) = &state.wake_driver {
            wake();
        }
        self.announce(state);
    }

    /// Records that the store may have notes about the run, and gives the run a new version.
    pub fn note_annotated(&self) {
        let mut state = self.state.lock();
        state.is_annotated = true;
        self.announce(state);
    }

    /// Returns whether the store may have notes about the run.
    pub fn is_annotated(&self) -> bool {
        self.state.lock().is_annotated
    }

    /// Returns the time at which the owner stopped the run, or the following of its leads.
    pub fn stopped_at(&self) -> Option<Timestamp> {
        self.state.lock().stopped_at
    }

    /// Wakes the driver and lets it write a checkpoint, which tells whether the run was stopped through another
    /// instance.
    pub fn request_checkpoint(&self) {
        let mut state = self.state.lock();
        state.wants_checkpoint = true;
        if let Some(wake) = &state.wake_driver {
            wake();
        }
    }

    /// Returns whether a checkpoint was requested since the last call.
    pub fn take_checkpoint_request(&self) -> bool {
        std::mem::take(&mut self.state.lock().wants_checkpoint)
    }

    /// Stops the run, because the store has refused a write or another instance drives it.
    pub fn lose(&self) {
        if self.stopped().is_none() {
            info!("run {}: stopped, since another instance drives it or it was deleted", self.id());
        }
        self.stop(Stopped::LeaseLost);
    }

    /// Sets the waker that is called when the run is stopped.
    pub fn set_driver(&self, waker: Waker) {
        self.state.lock().wake_driver = Some(waker);
    }

    /// Waits until the run has ended, and returns `true`. Returns `false` if it was stopped or the moment is reached.
    pub fn wait_for_end(&self, until: Instant) -> bool {
        self.wait_until(until, |state| state.status.is_terminal() || state.stopped.is_some());
        self.state.lock().status.is_terminal()
    }

    /// Waits until the version differs from `version`, or the moment is reached.
    pub fn wait_for_change(&self, version: u64, until: Instant) {
        self.wait_until(until, |state| state.version != version);
    }

    /// Waits until the run is stopped, or the moment is reached.
    pub fn wait_until_stopped(&self, until: Instant) {
        self.wait_until(until, |state| state.stopped.is_some());
    }

    fn wait_until(&self, until: Instant, is_so: impl Fn(&State) -> bool) {
        loop {
            let seen = self.waiters.count();
            if is_so(&self.state.lock()) || !self.waiters.wait(seen, until) {
                return;
            }
        }
    }

    pub(super) fn progress_since(&self, state: &State, seen: usize) -> Frame {
        event::progress_frame(&ProgressData {
            results_so_far: count(state.results.len()),
            progress: self.progress_of(state),
            coverage: state.coverage,
            module_status: state.reports[seen..]
                .iter()
                .map(|report| (report.module.clone(), report.status))
                .collect(),
        })
    }

    fn progress_of(&self, state: &State) -> Progress {
        Progress {
            modules_total: count(self.modules.len()),
            modules_completed: count(state.reports.len()),
            modules_with_hits: state.coverage.count_of(Outcome::Hit),
        }
    }

    fn summary_of(&self, state: &State) -> RunSummary {
        RunSummary {
            status: state.status,
            total_results: count(state.results.len()),
            revision: state.revision,
            progress: self.progress_of(state),
            coverage: state.coverage,
            credits_charged: state.credits_charged,
            completed_at: state.ending.as_ref().map(|ending| ending.completed_at),
            stopped_at: state.stopped_at,
            error: state.ending.as_ref().and_then(|ending| ending.error.clone()),
            ..self.opening.clone()
        }
    }

    fn announce(&self, mut state: MutexGuard<'_, State>) {
        state.version = state::next_version();
        // Woken threads need this lock, so it is released first.
        drop(state);
        self.waiters.notify_all();
    }
}
