//! [`LiveRun`]: a run in memory, which its driver publishes and its readers read.
//!
//! A run has one lock. The driver publishes each write after it was stored, under the lock, and wakes the readers. They
//! share the lock, since thousands read at once, copy shared frames and release it. The ring keeps the frames of the last
//! writes. A reader that has fallen behind the ring reads on from the store, as does one that attaches to a run with more
//! writes, and all read the end there.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::info;
use parking_lot::{Mutex, RwLock};

use super::event::{Frame, ProgressData, frame};
use super::health::counting::HealthUpdates;
use super::pictures::picture::Picture;
use super::waiting::Changes;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::{Delta, Ending, Position, Resumable};
use crate::model::follow::Lookup;
use crate::model::run::{ResultRecord, RunSummary, count};
use crate::modules::outcome::Report;

/// The number of writes that a ring keeps.
const RING_WRITES: usize = 256;

/// The reasons why a process stops driving a run that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The server shuts down. The run is resumed later or by another instance.
    Shutdown,
    /// Another instance drives the run.
    LeaseLost,
    /// The owner deleted the run.
    Deleted,
}

/// A reason for the driver of a run to wake up.
pub(super) enum Message {
    /// The check with that place has ended, or is not made.
    Ended { place: usize, report: Arc<Report>, took: Duration, at: Timestamp },
    /// A picture was fetched, or is given up.
    Picture { result: u32, picture: Option<Picture> },
    /// The check with that place has begun. It may be a trial of a host with an open circuit.
    Begun { place: usize, trial: Option<String> },
    /// The run was stopped here, or maybe by another instance, as a save will say.
    Woken,
}

/// A run that this process holds in memory.
pub struct LiveRun {
    /// The run as it was stored when this process began to drive it. [`Self::summary`] has its current state.
    pub(super) opening: Resumable,
    /// The moment at which this process began to drive the run.
    pub(super) began: Instant,
    /// What the driver gets.
    pub(super) driver: Sender<Message>,
    /// What the driver has not received yet. It is locked as long as the run is driven.
    pub(super) messages: Mutex<Receiver<Message>>,
    /// What its checks say about the health of modules and hosts.
    pub(super) health_updates: Mutex<HealthUpdates>,
    /// What readers wait for.
    changes: Arc<Changes>,
    state: RwLock<State>,
}

/// The state of a run that readers see, all of which is stored; whether it has ended, which they read in the store; and
/// whether the run is to be driven on.
struct State {
    summary: RunSummary,
    lookups: Vec<Lookup>,
    /// The last writes, in the order of their revisions.
    ring: VecDeque<Written>,
    /// The revision of the last write that is not in the ring, if there is one.
    before_ring: Option<u64>,
    is_stored: bool,
    stopped: Option<Stopped>,
}

/// A frame with the id of its result. That of progress is above all others.
type NumberedFrame = (u32, Frame);

/// One write. Its frames, in the order in which readers get them, are serialized once for all of them.
struct Written {
    revision: u64,
    frames: Vec<NumberedFrame>,
}

/// What a reader gets next.
#[derive(Debug, Clone)]
pub struct Step {
    /// The frames in the order in which they must be sent.
    pub frames: Vec<Frame>,
    /// The position of the reader after them.
    pub end: Position,
    /// Whether the last of them is the `done` frame.
    pub is_last: bool,
}

/// A read of the store, which readers at the same position share: what was not read, or `None` if the run was deleted.
pub(super) type Read = Result<Option<Step>, StorageError>;

impl LiveRun {
    /// Creates a run that this process is to drive. What is stored of it counts as published.
    pub(super) fn resume(mut opening: Resumable, changes: Arc<Changes>) -> Self {
        opening.summary.queue_position = None;
        let state = State {
            summary: opening.summary.clone(),
            lookups: opening.lookups.clone(),
            ring: VecDeque::new(),
            before_ring: (opening.lease.epoch > 0).then_some(opening.summary.revision),
            is_stored: false,
            stopped: None,
        };
        let (driver, messages) = channel();
        let health_updates = Mutex::new(HealthUpdates::new(opening.summary.id));
        let (state, messages) = (RwLock::new(state), Mutex::new(messages));
        Self { opening, began: Instant::now(), driver, messages, health_updates, changes, state }
    }

    /// Returns the id of the run.
    pub fn id(&self) -> RunId {
        self.opening.summary.id
    }

    /// Returns the current state.
    pub fn summary(&self) -> RunSummary {
        self.state.read().summary.clone()
    }

    /// Returns a number that changes whenever anything in the run changes.
    pub fn version(&self) -> u64 {
        self.changes.last()
    }

    /// Returns whether the run has ended and is stored completely. It can then be removed from memory.
    pub fn is_stored(&self) -> bool {
        self.state.read().is_stored
    }

    /// Returns whether the run has ended.
    pub fn has_ended(&self) -> bool {
        self.state.read().summary.status.is_terminal()
    }

    /// Returns the reason why this process no longer drives the run, if it was stopped.
    pub fn stopped(&self) -> Option<Stopped> {
        self.state.read().stopped
    }

    /// Returns the time at which the owner stopped the run, or the following of its leads.
    pub fn stopped_at(&self) -> Option<Timestamp> {
        self.state.read().summary.stopped_at
    }

    /// Returns whether checks of the run are no longer wanted, for whichever reason.
    pub(super) fn wants_no_checks(&self) -> bool {
        let state = self.state.read();
        state.stopped.is_some() || state.summary.stopped_at.is_some()
    }

    /// Returns whether this copy of the run is out of date, because another instance drives the run or it was deleted.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.stopped(), Some(Stopped::LeaseLost | Stopped::Deleted))
    }

    /// Returns the delta of a driver that has collected nothing since the last write.
    pub fn unchanged(&self) -> Delta {
        let State { summary, lookups, .. } = &*self.state.read();
        let RunSummary { revision, progress, coverage, .. } = *summary;
        Delta { revision, progress, coverage, lookups: lookups.clone(), ..Delta::default() }
    }

    /// Shows readers what a write has stored. Only the driver of the run calls this.
    pub(super) fn publish(&self, delta: &Delta) {
        // Results are serialized before the lock is taken, so that readers do not wait for thousands of them.
        let numbered = |record: &ResultRecord| (record.id, frame("result", record));
        let [added, changed] =
            [&delta.added, &delta.changed].map(|all| all.iter().map(numbered).collect::<Vec<_>>());
        self.change(|state| {
            let run = &mut state.summary;
            (run.revision, run.progress, run.coverage) = (delta.revision, delta.progress, delta.coverage);
            run.total_results += count(added.len());
            state.lookups.clone_from(&delta.lookups);
            if delta.is_empty() {
                return false;
            }
            let data = || ProgressData::of(&state.summary, &delta.reports);
            let progress = (!delta.reports.is_empty()).then(|| (u32::MAX, frame("progress", &data())));
            let frames = added.into_iter().chain(progress).chain(changed).collect();
            if state.ring.len() == RING_WRITES {
                state.before_ring = state.ring.pop_front().map(|write| write.revision);
            }
            state.ring.push_back(Written { revision: delta.revision, frames });
            true
        });
    }

    /// Ends the run. `is_stored` says whether the store has the end and the last write, which readers see only then. Until
    /// a further call says so, they wait for it, or are told that the database does not answer.
    pub(super) fn end(&self, last: &Delta, ending: &Ending, is_stored: bool) {
        if is_stored {
            self.publish(last);
        }
        self.change(|state| {
            let run = &mut state.summary;
            (run.status, run.completed_at) = (ending.status(), Some(ending.completed_at));
            (run.progress, state.is_stored) = (last.progress, is_stored);
            run.error.clone_from(&ending.error);
            if run.error.is_some() {
                run.credits_charged = 0;
            }
            true
        });
    }

    /// Wakes the driver and lets it save, which says whether the run was stopped through another instance.
    pub(super) fn wake_driver(&self) {
        // The run holds the receiver too, so this does not fail.
        let _ = self.driver.send(Message::Woken);
    }

    /// Stops the run in this process, unless it was stopped for another reason before. Wakes the driver and the readers.
    pub(super) fn stop(&self, why: Stopped) {
        self.change(|state| {
            state.stopped.get_or_insert(why);
            true
        });
        self.wake_driver();
    }

    /// Stops the run, because the store has refused a write or another instance drives it.
    pub(super) fn lose(&self) {
        if self.stopped().is_none() {
            info!("run {}: stopped, since another instance drives it or it was deleted", self.id());
        }
        self.stop(Stopped::LeaseLost);
    }

    /// Ends the run with what it has, because its owner stopped it at that time. Its driver ends all modules that are
    /// left, and gives up checks under way. Does nothing if the run was stopped before.
    pub fn end_early(&self, at: Timestamp) {
        self.change(|state| {
            if state.summary.stopped_at.is_some() || state.summary.status.is_terminal() {
                return false;
            }
            state.summary.stopped_at = Some(at);
            true
        });
        self.wake_driver();
    }

    /// Waits until the run is stopped, or the moment is reached.
    pub(super) fn wait_until_stopped(&self, until: Instant) {
        let mut seen = self.changes.last();
        while self.stopped().is_none() && self.changes.wait(seen, until) {
            seen = self.changes.last();
        }
    }

    /// Waits until the version differs from `version`, or the moment is reached.
    pub fn wait_for_change(&self, version: u64, until: Instant) {
        self.changes.wait(version, until);
    }

    /// Changes the state under its lock. If `change` returns `true`, the readers wake.
    fn change(&self, change: impl FnOnce(&mut State) -> bool) {
        // Woken threads need this lock, so it is released first.
        let has_changed = change(&mut self.state.write());
        if has_changed {
            self.changes.notify_all();
        }
    }

    /// Returns what a reader at that position has not read, without results up to `left_out`. Returns `None` if the store
    /// has it: what was written before the ring begins, and the end.
    pub(super) fn after(&self, at: Position, left_out: u32) -> Option<Step> {
        let state = self.state.read();
        // A new reader gets the results as they are now, which the store has, and not each write.
        let is_new = at.next == 0 && !state.ring.is_empty();
        let is_in_ring = state.before_ring.map_or(!is_new, |last| at.next > last);
        let is_at_the_end = state.summary.status.is_terminal() && at.next > state.summary.revision;
        if at.page.is_some() || !is_in_ring || is_at_the_end {
            return None;
        }
        let unread = state.ring.partition_point(|write| write.revision < at.next);
        let written = state.ring.range(unread..).flat_map(|write| &write.frames);
        let wanted = written.filter(|(id, _)| *id > left_out || *id == u32::MAX);
        let frames = wanted.map(|(_, frame)| Arc::clone(frame)).collect();
        Some(Step { frames, end: at.behind(state.summary.revision), is_last: false })
    }
}

#[cfg(test)]
mod tests;
