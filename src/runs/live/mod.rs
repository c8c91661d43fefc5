//! [`LiveRun`]: a run in memory, which its driver publishes and its readers read.
//!
//! A run has one lock. The driver publishes each write after it was stored, under the lock, and wakes the readers. They
//! copy shared frames and release the lock. All results are kept, each as a record and as a frame. The ring keeps the
//! frames of the last writes. A reader that has fallen behind the ring, and a new one, gets the results and one progress
//! frame that combines the writes that it has not read.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::info;
use parking_lot::Mutex;

use super::event::{DoneData, Frame, ProgressData, family_frames, frame};
use super::record::RunRecord;
use super::waiting::Changes;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::{Delta, Ending, Lease, Position, Resumable};
use crate::model::follow::{FollowedLead, Lookup};
use crate::model::run::{ModuleReport, Progress, ResultRecord, RunSummary, Status, Thumbnails, count};

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

/// A run that this process holds in memory.
pub struct LiveRun {
    /// The run as it was at its start. [`Self::summary`] has its current state.
    pub opening: RunSummary,
    /// The lease that this process holds or has lost.
    pub(super) lease: Lease,
    /// The ids of all modules of the run.
    pub(super) modules: Vec<String>,
    /// The moment at which this process began to drive the run, and the time for which it had been driven before.
    began: (Instant, Duration),
    /// What readers wait for.
    changes: Arc<Changes>,
    state: Mutex<State>,
}

/// The state of a run that readers see, all of which is stored, and what others want of the driver.
struct State {
    summary: RunSummary,
    /// The results in the order of their ids.
    results: Vec<PublishedResult>,
    /// The modules that have ended, each with the revision of the write that added it.
    reports: Vec<(u64, Arc<ModuleReport>)>,
    lookups: Vec<Lookup>,
    /// The runs that leads of this run have started, so far as known before its end.
    children: Vec<(FollowedLead, RunSummary)>,
    /// The last writes, in the order of their revisions.
    ring: VecDeque<Written>,
    done: Option<Frame>,
    is_stored: bool,
    stopped: Option<Stopped>,
    wake_driver: Option<Box<dyn Fn() + Send + Sync>>,
}

/// A result with its frame.
#[derive(Clone)]
struct PublishedResult {
    /// The stored form of the result.
    record: Arc<ResultRecord>,
    frame: Frame,
    /// The revision of the write that added or changed it last.
    revision: u64,
}

/// A frame with the id of its result. That of progress is above all others.
type NumberedFrame = (u32, Frame);

/// One write. Its frames, in the order in which readers get them, are serialized once for all of them.
struct Written {
    revision: u64,
    frames: Vec<NumberedFrame>,
}

/// What a reader gets next.
#[derive(Debug)]
pub struct Step {
    /// The frames in the order in which they must be sent.
    pub frames: Vec<Frame>,
    /// The position of the reader after them.
    pub end: Position,
    /// Whether the last of them is the `done` frame.
    pub is_last: bool,
}

/// A read of the store, which readers at the same position share: what was not read, or `None` if the run was deleted.
pub(super) type Read = Arc<Result<Option<Step>, StorageError>>;

impl PublishedResult {
    fn all(records: Vec<ResultRecord>, revision: u64) -> Vec<Self> {
        let new = |record| Self { frame: frame("result", &record), record: Arc::new(record), revision };
        records.into_iter().map(new).collect()
    }

    fn numbered(&self) -> NumberedFrame {
        (self.record.id, Arc::clone(&self.frame))
    }
}

impl State {
    fn place(&self, id: u32) -> Option<usize> {
        self.results.binary_search_by_key(&id, |result| result.record.id).ok()
    }

    /// Returns a progress frame with the modules that have ended since a revision, if there are any.
    fn progress_since(&self, next: u64) -> Option<NumberedFrame> {
        let seen = self.reports.partition_point(|(revision, _)| *revision < next);
        let ended = self.reports[seen..].iter().map(|(_, report)| &**report);
        let data = || ProgressData::of(&self.summary, ended);
        (seen < self.reports.len()).then(|| (u32::MAX, frame("progress", &data())))
    }

    fn take(&mut self, delta: Delta, added: Vec<PublishedResult>, changed: Vec<PublishedResult>) {
        let revision = delta.revision;
        self.results.extend_from_slice(&added);
        for result in &changed {
            if let Some(at) = self.place(result.record.id) {
                self.results[at] = result.clone();
            }
        }
        self.reports.extend(delta.reports.into_iter().map(|report| (revision, Arc::new(report))));
        (self.summary.progress, self.summary.coverage) = (delta.progress, delta.coverage);
        self.summary.total_results = count(self.results.len());
        if self.ring.len() == RING_WRITES {
            self.ring.pop_front();
        }
        let progress = self.progress_since(revision);
        let [added, changed] = [added, changed].map(|all| all.into_iter().map(|result| result.numbered()));
        self.ring.push_back(Written { revision, frames: added.chain(progress).chain(changed).collect() });
    }

    fn end(&mut self, ending: Ending, is_stored: bool) {
        let run = &mut self.summary;
        (run.status, run.completed_at) = (ending.status(), Some(ending.completed_at));
        run.error = ending.error;
        if run.error.is_some() {
            run.credits_charged = 0;
        }
        let mut last = family_frames(&self.lookups, &self.children);
        last.push(frame("done", &DoneData { results_available: is_stored, ..DoneData::of(&self.summary) }));
        self.done = Some(last.concat().into());
        self.is_stored = is_stored;
    }

    fn wake_driver(&self) {
        if let Some(wake) = &self.wake_driver {
            wake();
        }
    }
}

impl LiveRun {
    /// Creates a run that this process is to drive. Its stored results count as published.
    pub(super) fn resume(from: Resumable, changes: Arc<Changes>) -> Self {
        let opening = RunSummary { queue_position: None, ..from.summary };
        let coverage = ModuleReport::coverage_of(&from.done);
        let progress = Progress::of(count(from.modules.len()), coverage);
        let (total_results, base) = (count(from.results.len()), opening.revision);
        let status = Status::Running;
        let state = State {
            summary: RunSummary { status, total_results, progress, coverage, ..opening.clone() },
            results: PublishedResult::all(from.results, base),
            reports: from.done.into_iter().map(|report| (base, Arc::new(report))).collect(),
            lookups: from.lookups,
            children: Vec::new(),
            ring: VecDeque::new(),
            done: None,
            is_stored: false,
            stopped: None,
            wake_driver: None,
        };
        let began = (Instant::now(), from.ran_for);
        Self { opening, lease: from.lease, modules: from.modules, began, changes, state: Mutex::new(state) }
    }

    /// Returns the id of the run.
    pub fn id(&self) -> RunId {
        self.opening.id
    }

    /// Returns the current state without results and reports.
    pub fn summary(&self) -> RunSummary {
        self.state.lock().summary.clone()
    }

    /// Returns the current state with all results, and a version that changes with them.
    pub fn snapshot(&self) -> (RunSummary, Vec<Arc<ResultRecord>>, u64) {
        let version = self.version();
        let state = self.state.lock();
        let results = state.results.iter().map(|result| Arc::clone(&result.record)).collect();
        (state.summary.clone(), results, version)
    }

    /// Returns a number that changes whenever anything in the run changes.
    pub fn version(&self) -> u64 {
        self.changes.last()
    }

    /// Returns the complete run in its current state.
    pub fn record(&self, as_of: Timestamp) -> RunRecord {
        // The driver needs the lock, so results and reports are copied without it.
        let (summary, lookups, results, reports) = {
            let State { summary, lookups, results, reports, .. } = &*self.state.lock();
            (summary.clone(), lookups.clone(), results.clone(), reports.clone())
        };
        RunRecord {
            summary,
            results: results.iter().map(|result| (*result.record).clone()).collect(),
            modules: reports.iter().map(|(_, report)| (**report).clone()).collect(),
            lookups,
            follow: None,
            as_of,
            thumbnails: Thumbnails::new(),
        }
    }

    /// Returns the reports of the modules that have ended.
    pub fn reports(&self) -> Vec<Arc<ModuleReport>> {
        self.state.lock().reports.iter().map(|(_, report)| Arc::clone(report)).collect()
    }

    /// Returns the current state of a result.
    pub fn result(&self, id: u32) -> Option<ResultRecord> {
        let state = self.state.lock();
        state.place(id).map(|at| (*state.results[at].record).clone())
    }

    /// Returns whether the run has ended and is stored completely. It can then be removed from memory.
    pub fn is_stored(&self) -> bool {
        self.state.lock().is_stored
    }

    /// Returns whether the run has ended.
    pub fn has_ended(&self) -> bool {
        self.state.lock().done.is_some()
    }

    /// Returns the reason why this process no longer drives the run, if it was stopped.
    pub fn stopped(&self) -> Option<Stopped> {
        self.state.lock().stopped
    }

    /// Returns the time at which the owner stopped the run, or the following of its leads.
    pub fn stopped_at(&self) -> Option<Timestamp> {
        self.state.lock().summary.stopped_at
    }

    /// Returns whether checks of the run are no longer wanted, for whichever reason.
    pub(super) fn wants_no_checks(&self) -> bool {
        let state = self.state.lock();
        state.stopped.is_some() || state.summary.stopped_at.is_some()
    }

    /// Returns whether this copy of the run is out of date, because another instance drives the run or it was deleted.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.stopped(), Some(Stopped::LeaseLost | Stopped::Deleted))
    }

    /// Returns the time for which the run has been driven, by this process or another. The pause in between does not
    /// count.
    pub(super) fn driven_for(&self) -> Duration {
        self.began.1 + self.began.0.elapsed()
    }

    /// Returns the moment at which the run has been driven for `time`.
    pub(super) fn driven_until(&self, time: Duration) -> Instant {
        self.began.0 + time.saturating_sub(self.began.1)
    }

    /// Returns the delta of a driver that has collected nothing since the last write.
    pub fn unchanged(&self) -> Delta {
        let State { summary, lookups, .. } = &*self.state.lock();
        let RunSummary { revision, progress, coverage, .. } = *summary;
        Delta { revision, progress, coverage, lookups: lookups.clone(), ..Delta::default() }
    }

    /// Shows readers what a write has stored. Only the driver of the run calls this.
    pub(super) fn add(&self, delta: Delta) {
        self.publish(delta, None);
    }

    /// Shows readers what the last write has stored, and that the run has ended. The `done` frame is the last that they
    /// get. `is_stored` says whether this is so. A run ends only once, so a further call can only mark it as stored.
    pub(super) fn end(&self, delta: Delta, ending: Ending, is_stored: bool) {
        if self.has_ended() {
            self.state.lock().is_stored |= is_stored;
        } else {
            self.publish(delta, Some((ending, is_stored)));
        }
    }

    fn publish(&self, mut delta: Delta, ending: Option<(Ending, bool)>) {
        let is_empty = delta.is_empty();
        // Results are serialized before the lock is taken, so that readers do not wait for thousands of them.
        let [added, changed] = [&mut delta.added, &mut delta.changed]
            .map(|records| PublishedResult::all(std::mem::take(records), delta.revision));
        self.change(|state| {
            state.summary.revision = delta.revision;
            state.lookups = std::mem::take(&mut delta.lookups);
            if !is_empty {
                state.take(delta, added, changed);
            }
            let has_ended = ending.map(|(ending, is_stored)| state.end(ending, is_stored)).is_some();
            has_ended || !is_empty
        });
    }

    /// Sets the runs that leads of this run have started. Readers learn of them before the `done` frame.
    pub(super) fn set_children(&self, children: Vec<(FollowedLead, RunSummary)>) {
        self.state.lock().children = children;
    }

    /// Sets the function that wakes the driver.
    pub(super) fn set_driver(&self, wake: impl Fn() + Send + Sync + 'static) {
        self.state.lock().wake_driver = Some(Box::new(wake));
    }

    /// Wakes the driver and lets it save, which says whether the run was stopped through another instance.
    pub(super) fn wake_driver(&self) {
        self.state.lock().wake_driver();
    }

    /// Stops the run in this process, unless it was stopped for another reason before. Wakes the driver and the readers.
    pub(super) fn stop(&self, why: Stopped) {
        self.change(|state| {
            state.stopped.get_or_insert(why);
            state.wake_driver();
            true
        });
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
            state.wake_driver();
            true
        });
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
        let has_changed = change(&mut self.state.lock());
        if has_changed {
            self.changes.notify_all();
        }
    }

    /// Returns whether a reader at that position can read on from memory. What was written before this process drove the
    /// run is only shown as a whole.
    pub(super) fn serves(&self, at: Position) -> bool {
        at == Position::default() || at.next > self.opening.revision
    }

    /// Returns what a reader at that position has not read, without results up to `left_out`. Returns `None` if there is
    /// nothing.
    pub(super) fn after(&self, at: Position, left_out: u32) -> Option<Step> {
        let state = self.state.lock();
        let is_in_ring = state.ring.front().is_some_and(|first| first.revision <= at.next);
        let frames: Vec<NumberedFrame> = if at.page.is_none() && is_in_ring {
            let unread = state.ring.partition_point(|write| write.revision < at.next);
            state.ring.range(unread..).flat_map(|write| &write.frames).cloned().collect()
        } else {
            // This is a new reader, or one that has fallen behind the ring.
            let unread = state.results.iter().filter(|it| at.is_before(it.record.id, it.revision));
            unread.map(PublishedResult::numbered).chain(state.progress_since(at.next)).collect()
        };
        let wanted = frames.into_iter().filter(|(id, _)| *id > left_out).map(|(_, frame)| frame);
        let frames = wanted.chain(state.done.clone()).collect();
        let (end, is_last) = (at.behind(state.summary.revision), state.done.is_some());
        (is_last || end != at).then_some(Step { frames, end, is_last })
    }
}

#[cfg(test)]
mod tests;
