//! [`LiveRun`]: a run in memory, which its driver publishes and its readers read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::info;
use parking_lot::{Mutex, MutexGuard};

use super::driven_time::DrivenTime;
use super::following::Following;
use super::signals::{Signals, Stopped};
use super::state::{self, Published, State};
use super::waiters::Waiters;
use crate::base::ids::RunId;
use crate::runs::journal::{Batch, Checkpoint, Ending, Lease, Resumable};
use crate::runs::record::{RunRecord, Thumbnails};
use crate::runs::run::{ModuleReport, ResultRecord, RunSummary};

/// A run that this process holds in memory.
pub struct LiveRun {
    opening: RunSummary,
    lease: Lease,
    /// The time for which the run has been driven.
    pub driven: DrivenTime,
    /// Requests to the driver.
    pub signals: Signals,
    /// The accounts that are looked up, and the runs that leads have started.
    pub following: Following,
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
        let state = State::new(&from.summary, from.modules.len(), from.results, from.done);
        Self {
            lease: from.lease,
            driven: DrivenTime::after(from.ran_for),
            signals: Signals::new(from.summary.stopped_at),
            following: Following::new(from.lookups),
            state: Mutex::new(state),
            waiters: Waiters::default(),
            opening: RunSummary { queue_position: None, ..from.summary },
        }
    }

    /// Returns the id of the run.
    pub fn id(&self) -> RunId {
        self.opening.id
    }

    /// Returns what was known of the run at its start and does not change. [`Self::summary`] has its current state.
    pub fn opening(&self) -> &RunSummary {
        &self.opening
    }

    /// Returns the lease that this process holds or has lost.
    pub fn lease(&self) -> Lease {
        self.lease
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
            lookups: self.following.lookups(),
            follow: None,
            as_of,
            thumbnails: Thumbnails::new(),
        }
    }

    /// Returns the state that the journal stores beside the results.
    pub fn checkpoint(&self) -> Checkpoint {
        let state = self.state.lock();
        Checkpoint {
            progress: state.progress(),
            coverage: state.coverage,
            modules: state.reports.clone(),
            lookups: self.following.lookups(),
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

    /// Returns the current state of a result.
    pub fn result(&self, id: u32) -> Option<ResultRecord> {
        self.state.lock().result(id).map(|result| result.record.clone())
    }

    /// Returns whether the run has ended and is stored completely. It can then be removed from memory.
    pub fn is_stored(&self) -> bool {
        self.state.lock().is_stored
    }

    /// Returns the time at which the run ended, if it has.
    pub fn ended_at(&self) -> Option<Instant> {
        self.state.lock().ended_at
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
        state.take_reports(reports);
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
        state.end(self.id(), ending, is_stored, &self.following.frames());
        self.announce(state);
    }

    /// Stops the run in this process, and wakes the driver and the readers.
    pub fn stop(&self, why: Stopped) {
        let state = self.state.lock();
        self.signals.stop(why);
        self.announce(state);
    }

    /// Stops the run, because the store has refused a write or another instance drives it.
    pub fn lose(&self) {
        if self.signals.stopped().is_none() {
            info!("run {}: stopped, since another instance drives it or it was deleted", self.id());
        }
        self.stop(Stopped::LeaseLost);
    }

    /// Ends the run with what it has, because its owner stopped it at that time. Its driver ends all modules that are
    /// left, and gives up checks under way. Does nothing if the run was stopped before.
    pub fn end_early(&self, at: Timestamp) {
        let state = self.state.lock();
        if self.signals.stopped_at().is_some() || state.status.is_terminal() {
            return;
        }
        self.signals.end_early(at);
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

    /// Waits until the run has ended, and returns `true`. Returns `false` if it was stopped or the moment is reached.
    pub fn wait_for_end(&self, until: Instant) -> bool {
        self.wait_until(until, |state| state.status.is_terminal() || self.signals.stopped().is_some());
        self.state.lock().status.is_terminal()
    }

    /// Waits until the version differs from `version`, or the moment is reached.
    pub fn wait_for_change(&self, version: u64, until: Instant) {
        self.wait_until(until, |state| state.version != version);
    }

    fn wait_until(&self, until: Instant, is_so: impl Fn(&State) -> bool) {
        loop {
            let seen = self.waiters.count();
            if is_so(&self.state.lock()) || !self.waiters.wait(seen, until) {
                return;
            }
        }
    }

    fn summary_of(&self, state: &State) -> RunSummary {
        state.summary(&self.opening, self.signals.stopped_at())
    }

    fn announce(&self, mut state: MutexGuard<'_, State>) {
        state.version = state::next_version();
        // Woken threads need this lock, so it is released first.
        drop(state);
        self.waiters.notify_all();
    }
}
