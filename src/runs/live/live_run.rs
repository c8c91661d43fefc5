//! [`LiveRun`]: a run in memory, which its driver publishes and its readers read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::info;

use super::signals::{Signals, Stopped};
use super::state::{PublishedResult, PublishedState, State, Step};
use crate::base::ids::RunId;
use crate::model::drive::{Delta, Ending, Lease, Position, Resumable};
use crate::model::follow::Lookup;
use crate::model::run::{RunSummary, Thumbnails};
use crate::runs::record::RunRecord;

/// A run that this process holds in memory.
pub struct LiveRun {
    opening: RunSummary,
    lease: Lease,
    modules: Vec<String>,
    /// The moment at which this process began to drive the run, and the time for which it had been driven before.
    began: (Instant, Duration),
    /// Requests to the driver.
    pub signals: Signals,
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
        Self {
            lease: from.lease,
            began: (Instant::now(), from.ran_for),
            signals: Signals::new(from.summary.stopped_at),
            opening: RunSummary { queue_position: None, ..from.summary.clone() },
            modules: from.modules.clone(),
            published: PublishedState::new(from),
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

    /// Returns the ids of all modules of the run.
    pub(in crate::runs) fn modules(&self) -> &[String] {
        &self.modules
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
            modules: state.reports.iter().map(|(_, report)| report.clone()).collect(),
            lookups: state.lookups.clone(),
            follow: None,
            as_of,
            thumbnails: Thumbnails::new(),
        })
    }

    /// Returns the accounts that are or were looked up.
    pub fn lookups(&self) -> Vec<Lookup> {
        self.published.read(|state| state.lookups.clone())
    }

    /// Returns the delta of a driver that has collected nothing since the last write.
    pub fn unchanged(&self) -> Delta {
        self.published.read(State::unchanged)
    }

    /// Returns the time for which the run has been driven, by this process or another. The pause in between does not
    /// count.
    pub(in crate::runs) fn driven_for(&self) -> Duration {
        self.began.1 + self.began.0.elapsed()
    }

    /// Returns the moment at which the run has been driven for `time`.
    pub(in crate::runs) fn driven_until(&self, time: Duration) -> Instant {
        self.began.0 + time.saturating_sub(self.began.1)
    }

    /// Ends the run, after its last write. `is_stored` tells whether both are stored.
    pub fn end(&self, delta: Delta, ending: Ending, is_stored: bool) {
        self.published.end(self.id(), delta, ending, is_stored);
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

    /// Returns whether a reader at that position can read on from memory.
    pub fn serves(&self, at: Position) -> bool {
        self.published.serves(at)
    }

    /// Returns what a reader at that position has not read, without results up to `left_out`. Waits for it until the
    /// given moment, and returns `None` if there is nothing then.
    ///
    /// # Errors
    /// Returns the reason if this process no longer drives the run.
    pub fn changes(&self, at: Position, left_out: u32, until: Instant) -> Result<Option<Step>, Stopped> {
        let next = self.published.wait_for(until, |state| {
            state.after(at, left_out).map(Ok).or_else(|| self.signals.stopped().map(Err))
        });
        next.transpose()
    }

    fn summary_of(&self, state: &State) -> RunSummary {
        state.summary(&self.opening, self.signals.stopped_at())
    }
}
