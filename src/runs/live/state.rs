//! [`PublishedState`]: the state of a run that readers see, and waiting for its changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::waiters::Waiters;
use crate::base::ids::RunId;
use crate::model::coverage::Coverage;
use crate::model::drive::{Delta, Ending, Position, Resumable};
use crate::model::follow::{FollowedLead, Lookup};
use crate::model::run::{ModuleReport, Progress, ResultRecord, RunSummary, Status, count};
use crate::modules::outcome::Outcome;
use crate::runs::event::{self, DoneData, Frame, ProgressData};
use crate::runs::family::frames::frames;
use crate::runs::ring::Ring;

/// The number of writes that a ring keeps.
pub const RING_WRITES: usize = 256;

/// The state of a run that readers see. All of it is stored. Readers can wait for its changes.
pub struct PublishedState {
    /// The revision with which this process began to drive the run. What was written up to it has this revision.
    base: u64,
    state: Mutex<State>,
    waiters: Waiters,
}

pub(super) struct State {
    pub(super) status: Status,
    pub(super) ending: Option<Ending>,
    pub(super) credits_charged: u64,
    /// The results in the order of their ids.
    pub(super) results: Vec<Arc<PublishedResult>>,
    /// The modules that have ended, each with the revision of the write that added it.
    pub(super) reports: Vec<(u64, ModuleReport)>,
    pub(super) progress: Progress,
    pub(super) coverage: Coverage,
    pub(super) lookups: Vec<Lookup>,
    /// The runs that leads of this run have started, as far as they are known before the run ends.
    pub(super) children: Vec<(FollowedLead, RunSummary)>,
    /// The revision of the last write.
    pub(super) revision: u64,
    ring: Ring<Arc<Written>>,
    done: Option<Frame>,
    is_stored: bool,
    /// Whether the store may have notes about the run.
    pub(super) is_annotated: bool,
    ended_at: Option<Instant>,
    pub(super) version: u64,
}

/// A result with its frame.
#[derive(Debug)]
pub struct PublishedResult {
    /// The stored form of the result.
    pub record: ResultRecord,
    frame: Frame,
    /// The revision of the write that added or changed it last.
    revision: u64,
}

/// One write, in the order in which readers get it. Its frames are serialized once for all of them.
struct Written {
    added: Vec<Arc<PublishedResult>>,
    progress: Option<Frame>,
    changed: Vec<Arc<PublishedResult>>,
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

/// Returns a version that is unique in the process. Therefore a remembered version never equals another state, even
/// of a run that was taken over and came back.
fn next_version() -> u64 {
    static NEWEST: AtomicU64 = AtomicU64::new(1);
    NEWEST.fetch_add(1, Ordering::Relaxed)
}

impl PublishedResult {
    fn new(record: ResultRecord, revision: u64) -> Arc<Self> {
        let frame = event::result_frame(&record);
        Arc::new(Self { record, frame, revision })
    }

    fn all(records: Vec<ResultRecord>, revision: u64) -> Vec<Arc<Self>> {
        records.into_iter().map(|record| Self::new(record, revision)).collect()
    }
}

impl State {
    fn new(from: Resumable) -> Self {
        let base = from.summary.revision;
        let coverage = ModuleReport::coverage_of(&from.done);
        Self {
            status: Status::Running,
            ending: None,
            credits_charged: from.summary.credits_charged,
            results: PublishedResult::all(from.results, base),
            progress: Progress {
                modules_total: count(from.modules.len()),
                modules_completed: count(from.done.len()),
                modules_with_hits: coverage.count_of(Outcome::Hit),
            },
            reports: from.done.into_iter().map(|report| (base, report)).collect(),
            coverage,
            lookups: from.lookups,
            children: Vec::new(),
            revision: base,
            ring: Ring::new(base + 1, RING_WRITES),
            done: None,
            is_stored: false,
            is_annotated: true,
            ended_at: None,
            version: next_version(),
        }
    }

    /// Returns the current state of the run that began with `opening`, without results and reports.
    pub(super) fn summary(&self, opening: &RunSummary, stopped_at: Option<Timestamp>) -> RunSummary {
        RunSummary {
            status: self.status,
            total_results: count(self.results.len()),
            revision: self.revision,
            progress: self.progress,
            coverage: self.coverage,
            credits_charged: self.credits_charged,
            completed_at: self.ending.as_ref().map(|ending| ending.completed_at),
            stopped_at,
            error: self.ending.as_ref().and_then(|ending| ending.error.clone()),
            ..opening.clone()
        }
    }

    /// Returns a delta without results and reports.
    pub(super) fn unchanged(&self) -> Delta {
        Delta {
            revision: self.revision,
            progress: self.progress,
            coverage: self.coverage,
            lookups: self.lookups.clone(),
            ..Delta::default()
        }
    }

    fn place(&self, id: u32) -> Option<usize> {
        self.results.binary_search_by_key(&id, |result| result.record.id).ok()
    }

    /// Returns a progress frame with the modules that have ended since a revision, if there are any.
    fn progress_since(&self, next: u64) -> Option<Frame> {
        let seen = self.reports.partition_point(|(revision, _)| *revision < next);
        let ended = &self.reports[seen..];
        (!ended.is_empty()).then(|| {
            event::progress_frame(&ProgressData {
                results_so_far: count(self.results.len()),
                progress: self.progress,
                coverage: self.coverage,
                module_status: ended
                    .iter()
                    .map(|(_, report)| (report.module.clone(), report.status))
                    .collect(),
            })
        })
    }

    fn take(&mut self, delta: Delta, added: Vec<Arc<PublishedResult>>, changed: Vec<Arc<PublishedResult>>) {
        let revision = delta.revision;
        self.revision = revision;
        self.results.extend_from_slice(&added);
        for result in &changed {
            if let Some(at) = self.place(result.record.id) {
                self.results[at] = Arc::clone(result);
            }
        }
        (self.progress, self.coverage, self.lookups) = (delta.progress, delta.coverage, delta.lookups);
        self.reports.extend(delta.reports.into_iter().map(|report| (revision, report)));
        let progress = self.progress_since(revision);
        self.ring.push(revision, Arc::new(Written { added, progress, changed }));
    }

    fn end(&mut self, run: RunId, ending: Ending, is_stored: bool) {
        self.status = ending.status;
        if ending.status == Status::Failed {
            self.credits_charged = 0;
        }
        let mut last = frames(&self.lookups, &self.children);
        last.push(event::done_frame(&DoneData {
            run_id: run,
            status: ending.status,
            total_results: count(self.results.len()),
            progress: self.progress,
            coverage: self.coverage,
            results_available: is_stored,
            error: ending.error.as_ref(),
        }));
        self.done = Some(last.concat().into());
        self.ending = Some(ending);
        self.ended_at = Some(Instant::now());
    }

    /// Returns what a reader at that position has not read, without results up to `left_out`. Returns `None` if there is
    /// nothing.
    pub(super) fn after(&self, at: Position, left_out: u32) -> Option<Step> {
        let mut frames = Vec::new();
        match self.ring.since(at.next).filter(|_| at.page.is_none()) {
            Some(writes) => {
                for (_, write) in writes {
                    push_all(&mut frames, &write.added, left_out);
                    frames.extend(write.progress.clone());
                    push_all(&mut frames, &write.changed, left_out);
                }
            }
            // This is a new reader, or one that has fallen behind the ring.
            None => {
                let unread = self.results.iter().filter(|it| at.is_before(it.record.id, it.revision));
                push_all(&mut frames, unread, left_out);
                frames.extend(self.progress_since(at.next));
            }
        }
        frames.extend(self.done.clone());
        let (end, is_last) = (at.behind(self.revision), self.done.is_some());
        (is_last || end != at).then_some(Step { frames, end, is_last })
    }
}

fn push_all<'a>(
    frames: &mut Vec<Frame>,
    results: impl IntoIterator<Item = &'a Arc<PublishedResult>>,
    left_out: u32,
) {
    let wanted = results.into_iter().filter(|result| result.record.id > left_out);
    frames.extend(wanted.map(|result| Arc::clone(&result.frame)));
}

impl PublishedState {
    pub(super) fn new(from: Resumable) -> Self {
        let base = from.summary.revision;
        Self { base, state: Mutex::new(State::new(from)), waiters: Waiters::default() }
    }

    /// Returns whether this state tells what a reader at that position has not read. What was written before this process
    /// drove the run is only told as a whole.
    pub(super) fn serves(&self, at: Position) -> bool {
        at == Position::default() || at.next > self.base
    }

    /// Returns a number that changes whenever anything in the run changes.
    pub fn version(&self) -> u64 {
        self.state.lock().version
    }

    /// Returns the reports of the modules that have ended.
    pub fn reports(&self) -> Vec<ModuleReport> {
        self.read(|state| state.reports.iter().map(|(_, report)| report.clone()).collect())
    }

    /// Returns the current state of a result.
    pub fn result(&self, id: u32) -> Option<ResultRecord> {
        self.read(|state| state.place(id).map(|at| state.results[at].record.clone()))
    }

    /// Returns whether the run has ended and is stored completely. It can then be removed from memory.
    pub fn is_stored(&self) -> bool {
        self.state.lock().is_stored
    }

    /// Returns the time at which the run ended, if it has.
    pub fn ended_at(&self) -> Option<Instant> {
        self.state.lock().ended_at
    }

    /// Returns whether the store may have notes about the run.
    pub fn is_annotated(&self) -> bool {
        self.state.lock().is_annotated
    }

    /// Records that the store may have notes about the run, and gives the run a new version.
    pub fn note_annotated(&self) {
        self.change(|state| {
            state.is_annotated = true;
            true
        });
    }

    /// Sets the runs that leads of this run have started. Readers learn of them before the `done` frame.
    pub(in crate::runs) fn set_children(&self, children: Vec<(FollowedLead, RunSummary)>) {
        self.state.lock().children = children;
    }

    /// Shows readers what a write has stored.
    pub fn add(&self, delta: Delta) {
        self.add_and(delta, |_| false);
    }

    /// Shows readers what the last write has stored, and that the run has ended. The `done` frame is the last that they
    /// get. `is_stored` tells whether this is so. A run ends only once, so a further call can only mark it as stored.
    pub(super) fn end(&self, run: RunId, delta: Delta, ending: Ending, is_stored: bool) {
        if self.ended_at().is_some() {
            self.state.lock().is_stored |= is_stored;
            return;
        }
        self.add_and(delta, |state| {
            state.is_stored = is_stored;
            state.end(run, ending, is_stored);
            true
        });
    }

    /// Only the driver of the run calls this.
    fn add_and(&self, mut delta: Delta, then: impl FnOnce(&mut State) -> bool) {
        // Results are serialized before the lock is taken, so that readers do not wait for thousands of them.
        let is_empty = delta.is_empty();
        let added = PublishedResult::all(std::mem::take(&mut delta.added), delta.revision);
        let changed = PublishedResult::all(std::mem::take(&mut delta.changed), delta.revision);
        self.change(|state| {
            if is_empty {
                (state.revision, state.lookups) = (delta.revision, delta.lookups);
            } else {
                state.take(delta, added, changed);
            }
            then(state) || !is_empty
        });
    }

    /// Waits until the version differs from `version`, or the moment is reached.
    pub fn wait_for_change(&self, version: u64, until: Instant) {
        self.wait_for(until, |state| (state.version != version).then_some(()));
    }

    /// Waits until `read` returns a value, and returns it. Returns `None` if the moment is reached first.
    pub(super) fn wait_for<T>(&self, until: Instant, mut read: impl FnMut(&State) -> Option<T>) -> Option<T> {
        loop {
            let seen = self.waiters.count();
            let value = read(&self.state.lock());
            if value.is_some() || !self.waiters.wait(seen, until) {
                return value;
            }
        }
    }

    /// Reads the state under its lock.
    pub(super) fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.lock())
    }

    /// Changes the state under its lock. If `change` returns `true`, the run gets a new version, and its readers wake.
    pub(super) fn change(&self, change: impl FnOnce(&mut State) -> bool) {
        let mut state = self.state.lock();
        if !change(&mut state) {
            return;
        }
        state.version = next_version();
        // Woken threads need this lock, so it is released first.
        drop(state);
        self.waiters.notify_all();
    }
}
