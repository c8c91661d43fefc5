//! A run in memory: what its driver has published, and readers that wait for more.
//!
//! One lock a run, and groups of those who wait for news of it. The driver publishes under the lock and tells the
//! groups; readers copy out shared frames and let go. Results are all kept (each once, as a record and as a frame); the ring keeps
//! the last events in their order. A reader that the ring has passed by goes on from the results and from
//! one progress frame that merges what it missed.
//!
//! # Results that change
//! A result that gets one more source is replaced at once, and whoever reads the run from its start sees it
//! as it is. Readers that have it already are told later, together: the driver announces changes about once
//! a second, and the end of the run does. Since a source comes with a module that ended, and that with a
//! progress frame, no reader gets a result twice between two progress frames.
//!
//! | file | holds |
//! |---|---|
//! | `state` | what is published, and the ring |
//! | `reading` | what a reader gets next |
//! | `cursor` | where a reader stands |
//! | `crowd` | those who wait |

mod crowd;
mod cursor;
mod reading;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use log::info;
use parking_lot::{Mutex, MutexGuard};

use super::courtesy::Waker;
use super::event::{self, DoneData, Frame, ProgressData};
use super::journal::{Batch, Checkpoint, Ending, Lease, Resumable};
use super::record::RunRecord;
use super::run::{ModuleReport, Progress, ResultRecord, RunSummary, Status, count};
use crate::base::ids::{AccountId, RunId};

use crowd::Crowd;
pub use cursor::{Cursor, Place};
pub use reading::Next;
use state::State;
pub use state::{Published, RING_EVENTS};

/// A run that this process holds in memory.
pub struct LiveRun {
    opening: RunSummary,
    lease: Lease,
    modules: Vec<String>,
    state: Mutex<State>,
    crowd: Crowd,
}

/// Why a run is no longer followed here though it has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The server is shutting down; the run goes on elsewhere or later.
    Shutdown,
    /// Another instance drives it now.
    LeaseLost,
    /// Its owner deleted it.
    Deleted,
}

impl LiveRun {
    /// A run that starts now.
    pub fn new(opening: RunSummary, lease: Lease, modules: Vec<String>) -> Self {
        let state = State::new(&opening, Vec::new(), Vec::new());
        Self { opening, lease, modules, state: Mutex::new(state), crowd: Crowd::default() }
    }

    /// A run that was interrupted and goes on: what was stored is published already.
    pub fn resume(from: Resumable) -> Self {
        let state = State::new(&from.summary, from.results, from.done);
        Self {
            opening: from.summary,
            lease: from.lease,
            modules: from.modules,
            state: Mutex::new(state),
            crowd: Crowd::default(),
        }
    }

    /// `run_id`.
    pub fn id(&self) -> RunId {
        self.opening.id
    }

    /// Owner.
    pub fn account(&self) -> AccountId {
        self.opening.account
    }

    /// The right to drive it that this process holds, or has lost.
    pub fn lease(&self) -> Lease {
        self.lease
    }

    /// Everything but results and reports, as of now.
    pub fn summary(&self) -> RunSummary {
        self.summary_of(&self.state.lock())
    }

    /// The same with all results, and a number that changes whenever they do.
    pub fn snapshot(&self) -> (RunSummary, Vec<Arc<Published>>, u64) {
        let state = self.state.lock();
        (self.summary_of(&state), state.results.clone(), state.version)
    }

    /// All of the run, as of now.
    pub fn record(&self, as_of: Timestamp) -> RunRecord {
        let state = self.state.lock();
        RunRecord {
            summary: self.summary_of(&state),
            results: state.results.iter().map(|result| result.record.clone()).collect(),
            modules: state.reports.clone(),
            as_of,
        }
    }

    /// A number that changes whenever anything about the run does.
    pub fn version(&self) -> u64 {
        self.state.lock().version
    }

    /// The modules that ended so far.
    pub fn reports(&self) -> Vec<ModuleReport> {
        self.state.lock().reports.clone()
    }

    /// What the journal keeps beside the results.
    pub fn checkpoint(&self) -> Checkpoint {
        let state = self.state.lock();
        Checkpoint {
            progress: self.progress_of(&state),
            coverage: state.coverage,
            modules: state.reports.clone(),
        }
    }

    /// Whether the store has all of an ended run, so that it may leave memory.
    pub fn is_stored(&self) -> bool {
        self.state.lock().is_stored
    }

    /// Whether and since when the run has ended.
    pub fn ended_at(&self) -> Option<Instant> {
        self.state.lock().ended_at
    }

    /// Whether the run is no longer to be worked on here.
    pub fn stopped(&self) -> Option<Stopped> {
        self.state.lock().stopped
    }

    /// Whether others know more of it: another instance drives it, or it was deleted.
    pub fn is_gone(&self) -> bool {
        matches!(self.stopped(), Some(Stopped::LeaseLost | Stopped::Deleted))
    }

    /// A result as it is now.
    pub fn result(&self, id: u32) -> Option<ResultRecord> {
        self.state.lock().result(id).map(|result| result.record.clone())
    }

    /// Publishes results (stored already) and modules that ended, with one progress frame for them all.
    /// Readers hear of changed results with [`Self::announce_changes`].
    pub fn publish(&self, batch: Batch, reports: Vec<ModuleReport>) {
        if batch.added.is_empty() && batch.changed.is_empty() && reports.is_empty() {
            return;
        }
        // Results are serialized before the lock is taken: readers do not wait for thousands of them.
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

    /// Tells readers which results have changed since it was done last.
    pub fn announce_changes(&self) {
        let has_news = self.state.lock().push_changes();
        if has_news {
            self.crowd.tell();
        }
    }

    /// Ends the run: the `done` frame is the last that readers get. `is_stored`: the store has the ending
    /// and all results. A run ends once; called again, it can only become stored.
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
        state.done = Some(event::done_frame(&DoneData {
            run_id: self.opening.id,
            status: ending.status,
            total_results: count(state.results.len()),
            progress: self.progress_of(&state),
            coverage: state.coverage,
            results_available: is_stored,
            error: ending.error.as_ref(),
        }));
        state.ending = Some(ending);
        state.ended_at = Some(Instant::now());
        self.announce(state);
    }

    /// Tells driver and readers that the run is no longer followed here.
    pub fn stop(&self, why: Stopped) {
        let mut state = self.state.lock();
        state.stopped.get_or_insert(why);
        if let Some(wake) = &state.wake_driver {
            wake();
        }
        self.announce(state);
    }

    /// The store has refused a write, or told that another instance drives it now.
    pub fn lose(&self) {
        if self.stopped().is_none() {
            info!("run {}: not driven here any more: another instance has it, or it was deleted", self.id());
        }
        self.stop(Stopped::LeaseLost);
    }

    /// What wakes the driver when the run is stopped.
    pub fn set_driver(&self, waker: Waker) {
        self.state.lock().wake_driver = Some(waker);
    }

    /// Waits until the run has ended (`true`), or was stopped or the moment has come (`false`).
    pub fn wait_for_end(&self, until: Instant) -> bool {
        self.wait_until(until, |state| state.status.is_terminal() || state.stopped.is_some());
        self.state.lock().status.is_terminal()
    }

    /// Waits until the version is another one or the moment has come.
    pub fn wait_for_change(&self, version: u64, until: Instant) {
        self.wait_until(until, |state| state.version != version);
    }

    /// Waits until the run is stopped or the moment has come.
    pub fn wait_until_stopped(&self, until: Instant) {
        self.wait_until(until, |state| state.stopped.is_some());
    }

    fn wait_until(&self, until: Instant, is_so: impl Fn(&State) -> bool) {
        loop {
            let heard = self.crowd.heard();
            if is_so(&self.state.lock()) || !self.crowd.wait(heard, until) {
                return;
            }
        }
    }

    fn progress_since(&self, state: &State, seen: usize) -> Frame {
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
            modules_with_hits: state.coverage.hit,
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
            error: state.ending.as_ref().and_then(|ending| ending.error.clone()),
            ..self.opening.clone()
        }
    }

    fn announce(&self, mut state: MutexGuard<'_, State>) {
        state.version = state::next_version();
        // Whoever wakes wants this lock.
        drop(state);
        self.crowd.tell();
    }
}
