//! [`LiveRun`]: a run in memory, which its driver publishes and its readers read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::info;

use super::cursor::Cursor;
use super::driven_time::DrivenTime;
use super::following::Following;
use super::published::PublishedState;
use super::reading::{self, Next};
use super::signals::{Signals, Stopped};
use super::state::{PublishedResult, State};
use crate::base::ids::RunId;
use crate::model::drive::{Checkpoint, Ending, Lease, Resumable};
use crate::model::run::{RunSummary, Thumbnails};
use crate::runs::record::RunRecord;

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
    /// The state that readers see.
    pub published: PublishedState,
}

impl LiveRun {
    /// Creates a run that starts at this moment.
    pub fn new(opening: RunSummary, lease: Lease, modules: Vec<String>) -> Self {
        let run = Self::resume(Resumable {
            lease,
            ran_for: Duration::ZERO,
            summary: opening,
            modules,
            done: Vec::new(),
            lookups: Vec::new(),
            results: Vec::new(),
        });
        run.published.change(|state| {
            state.is_annotated = false;
            false
        });
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
            published: PublishedState::new(state),
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
        self.published.read(|state| self.summary_of(state))
    }

    /// Returns the current state with all results, and a version that changes with them.
    pub fn snapshot(&self) -> (RunSummary, Vec<Arc<PublishedResult>>, u64) {
        self.published.read(|state| (self.summary_of(state), state.results.clone(), state.version))
    }

    /// Returns the complete run in its current state.
    pub fn record(&self, as_of: Timestamp) -> RunRecord {
        self.published.read(|state| RunRecord {
            summary: self.summary_of(state),
            results: state.results.iter().map(|result| result.record.clone()).collect(),
            modules: state.reports.clone(),
            lookups: self.following.lookups(),
            follow: None,
            as_of,
            thumbnails: Thumbnails::new(),
        })
    }

    /// Returns the state that the store stores beside the results.
    pub fn checkpoint(&self) -> Checkpoint {
        self.published.read(|state| Checkpoint {
            progress: state.progress(),
            coverage: state.coverage,
            modules: state.reports.clone(),
            lookups: self.following.lookups(),
        })
    }

    /// Ends the run. The `done` frame is the last that readers get. `is_stored` tells whether the ending and all
    /// results are stored. A run ends only once, so a further call can only mark it as stored.
    pub fn end(&self, ending: Ending, is_stored: bool) {
        self.published.change(|state| {
            state.is_stored |= is_stored;
            if state.status.is_terminal() {
                return false;
            }
            state.end(self.id(), ending, is_stored, &self.following.frames());
            true
        });
    }

    /// Stops the run in this process, and wakes the driver and the readers.
    pub fn stop(&self, why: Stopped) {
        self.published.change(|_| {
            self.signals.stop(why);
            true
        });
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
        self.published.change(|state| {
            if self.signals.stopped_at().is_some() || state.status.is_terminal() {
                return false;
            }
            self.signals.end_early(at);
            true
        });
    }

    /// Waits until the run has ended, and returns `true`. Returns `false` if it was stopped or the moment is reached.
    pub fn wait_for_end(&self, until: Instant) -> bool {
        let ended = self.published.wait_for(until, |state| {
            let has_ended = state.status.is_terminal();
            (has_ended || self.signals.stopped().is_some()).then_some(has_ended)
        });
        ended.unwrap_or(false)
    }

    /// Returns the frames after `cursor`. Waits for them until the given moment.
    pub fn read(&self, cursor: &mut Cursor, until: Instant) -> Next {
        let next = self.published.wait_for(until, |state| reading::next(state, cursor, &self.signals));
        next.unwrap_or(Next::Quiet)
    }

    fn summary_of(&self, state: &State) -> RunSummary {
        state.summary(&self.opening, self.signals.stopped_at())
    }
}
