//! A run in memory: what its driver has published, and readers that wait for more.
//!
//! One lock and one condition variable a run. The driver publishes under the lock; readers copy out
//! shared frames and let go. Results are all kept (each once, as a record and as a frame); the ring keeps
//! the last events in their order. A reader that the ring has passed by goes on from the results and from
//! one progress frame that merges what it missed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::courtesy::Waker;
use super::event::{self, DoneData, Frame, ProgressData};
use super::journal::{Checkpoint, Ending, Resumable};
use super::ring::Ring;
use super::run::{Coverage, ModuleReport, Progress, ResultRecord, RunSummary, Status, count};
use crate::base::ids::{AccountId, RunId};

/// Events that a ring keeps.
pub const RING_EVENTS: usize = 1024;
/// Events that a reader takes out under one lock.
const READ_EVENTS: usize = 256;

/// A run that this process holds in memory.
pub struct LiveRun {
    opening: RunSummary,
    modules: Vec<String>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    status: Status,
    ending: Option<Ending>,
    credits_charged: u64,
    results: Vec<Arc<Published>>,
    reports: Vec<ModuleReport>,
    coverage: Coverage,
    ring: Ring<Event>,
    done: Option<Frame>,
    is_stored: bool,
    stopped: Option<Stopped>,
    wake_driver: Option<Waker>,
    ended_at: Option<Instant>,
    version: u64,
}

/// A result with its frame.
#[derive(Debug)]
pub struct Published {
    /// The result.
    pub record: ResultRecord,
    frame: Frame,
}

#[derive(Clone)]
enum Event {
    Result(Arc<Published>),
    Progress { frame: Frame, reports: usize },
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

/// What a reader gets.
#[derive(Debug)]
pub enum Next {
    /// These frames, in this order.
    Frames(Vec<Frame>),
    /// All has been read, the `done` frame too.
    End,
    /// Nothing new until the given moment.
    Quiet,
    /// The run is no longer followed here.
    Stopped(Stopped),
}

impl LiveRun {
    /// A run that starts now.
    pub fn new(opening: RunSummary, modules: Vec<String>) -> Self {
        let state = State::new(&opening, Vec::new(), Vec::new());
        Self { opening, modules, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// A run that was interrupted and goes on: what was stored is published already.
    pub fn resume(from: Resumable) -> Self {
        let state = State::new(&from.summary, from.results, from.done);
        Self {
            opening: from.summary,
            modules: from.modules,
            state: Mutex::new(state),
            changed: Condvar::new(),
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

    /// Everything but results and reports, as of now.
    pub fn summary(&self) -> RunSummary {
        self.summary_of(&self.state.lock())
    }

    /// The same with all results, and a number that changes whenever they do.
    pub fn snapshot(&self) -> (RunSummary, Vec<Arc<Published>>, u64) {
        let state = self.state.lock();
        (self.summary_of(&state), state.results.clone(), state.version)
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

    /// Publishes results (stored already) and modules that ended, with one progress frame for them all.
    pub fn publish(&self, results: Vec<ResultRecord>, reports: Vec<ModuleReport>) {
        if results.is_empty() && reports.is_empty() {
            return;
        }
        // Results are serialized before the lock is taken: readers do not wait for thousands of them.
        let results: Vec<Arc<Published>> = results.into_iter().map(Published::new).collect();
        let mut state = self.state.lock();
        for result in results {
            state.results.push(Arc::clone(&result));
            state.ring.push(Event::Result(result));
        }
        if !reports.is_empty() {
            let seen = state.reports.len();
            for report in reports {
                state.coverage.add(report.status);
                state.reports.push(report);
            }
            let frame = self.progress_since(&state, seen);
            let reports = state.reports.len();
            state.ring.push(Event::Progress { frame, reports });
        }
        self.announce(&mut state);
    }

    /// Ends the run: the `done` frame is the last that readers get. `is_stored`: the store has the ending
    /// and all results. A run ends once; called again, it can only become stored.
    pub fn end(&self, ending: Ending, is_stored: bool) {
        let mut state = self.state.lock();
        state.is_stored |= is_stored;
        if state.status.is_terminal() {
            return;
        }
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
        self.announce(&mut state);
    }

    /// Tells driver and readers that the run is no longer followed here.
    pub fn stop(&self, why: Stopped) {
        let mut state = self.state.lock();
        state.stopped.get_or_insert(why);
        self.announce(&mut state);
        if let Some(wake) = &state.wake_driver {
            wake();
        }
    }

    /// What wakes the driver when the run is stopped.
    pub fn set_driver(&self, waker: Waker) {
        self.state.lock().wake_driver = Some(waker);
    }

    /// Waits until the run has ended (`true`), or was stopped or the moment has come (`false`).
    pub fn wait_for_end(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        while !state.status.is_terminal() {
            if state.stopped.is_some() || self.changed.wait_until(&mut state, until).timed_out() {
                return state.status.is_terminal();
            }
        }
        true
    }

    /// Waits until the version is another one or the moment has come.
    pub fn wait_for_change(&self, version: u64, until: Instant) {
        let mut state = self.state.lock();
        while state.version == version && !self.changed.wait_until(&mut state, until).timed_out() {}
    }

    /// Waits until the run is stopped or the moment has come.
    pub fn wait_until_stopped(&self, until: Instant) {
        let mut state = self.state.lock();
        while state.stopped.is_none() && !self.changed.wait_until(&mut state, until).timed_out() {}
    }

    /// What comes after `cursor`; waits for it until the given moment.
    pub fn read(&self, cursor: &mut Cursor, until: Instant) -> Next {
        let mut state = self.state.lock();
        loop {
            let before = cursor.next_event;
            let frames = self.unread(&state, cursor);
            if !frames.is_empty() {
                return Next::Frames(frames);
            }
            if cursor.next_event != before {
                // All that was read is what this reader left out: there may be more behind it.
                continue;
            }
            if cursor.done_seen {
                return Next::End;
            }
            if let Some(why) = state.stopped {
                return Next::Stopped(why);
            }
            if self.changed.wait_until(&mut state, until).timed_out() {
                // One more look: the last moment may have brought something.
                let frames = self.unread(&state, cursor);
                return if frames.is_empty() { Next::Quiet } else { Next::Frames(frames) };
            }
        }
    }

    fn unread(&self, state: &State, cursor: &mut Cursor) -> Vec<Frame> {
        let read = cursor.next_event.map(|next| state.ring.read(next, READ_EVENTS));
        let mut frames = match read {
            Some(Ok(events)) => take_events(events, cursor),
            // A new reader, or one that the ring has passed by.
            Some(Err(_)) | None => self.catch_up(state, cursor),
        };
        let at_the_end = cursor.next_event == Some(state.ring.next_number());
        if let (Some(done), true, false) = (&state.done, at_the_end, cursor.done_seen) {
            cursor.done_seen = true;
            frames.push(Arc::clone(done));
        }
        frames
    }

    fn catch_up(&self, state: &State, cursor: &mut Cursor) -> Vec<Frame> {
        let first = state.results.partition_point(|result| result.record.id <= cursor.last_result);
        let mut frames: Vec<Frame> =
            state.results[first..].iter().map(|result| Arc::clone(&result.frame)).collect();
        if let Some(last) = state.results.last() {
            cursor.last_result = cursor.last_result.max(last.record.id);
        }
        if state.reports.len() > cursor.reports_seen {
            frames.push(self.progress_since(state, cursor.reports_seen));
            cursor.reports_seen = state.reports.len();
        }
        cursor.next_event = Some(state.ring.next_number());
        frames
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
            progress: self.progress_of(state),
            coverage: state.coverage,
            credits_charged: state.credits_charged,
            completed_at: state.ending.as_ref().map(|ending| ending.completed_at),
            error: state.ending.as_ref().and_then(|ending| ending.error.clone()),
            ..self.opening.clone()
        }
    }

    fn announce(&self, state: &mut State) {
        state.version = next_version();
        self.changed.notify_all();
    }
}

/// Versions are unique in the process: one that a reader remembers never fits another state, even of the
/// same run after it was taken over and came back.
fn next_version() -> u64 {
    static NEWEST: AtomicU64 = AtomicU64::new(1);
    NEWEST.fetch_add(1, Ordering::Relaxed)
}

impl State {
    fn new(summary: &RunSummary, results: Vec<ResultRecord>, reports: Vec<ModuleReport>) -> Self {
        Self {
            status: Status::Running,
            ending: None,
            credits_charged: summary.credits_charged,
            results: results.into_iter().map(Published::new).collect(),
            coverage: Coverage::of(reports.iter().map(|report| report.status)),
            reports,
            ring: Ring::new(RING_EVENTS),
            done: None,
            is_stored: false,
            stopped: None,
            wake_driver: None,
            ended_at: None,
            version: next_version(),
        }
    }
}

impl Published {
    fn new(record: ResultRecord) -> Arc<Self> {
        let frame = event::result_frame(&record);
        Arc::new(Self { record, frame })
    }
}

fn take_events(events: Vec<Event>, cursor: &mut Cursor) -> Vec<Frame> {
    let mut frames = Vec::with_capacity(events.len());
    for event in events {
        cursor.next_event = cursor.next_event.map(|next| next + 1);
        match event {
            Event::Result(result) if result.record.id > cursor.last_result => {
                cursor.last_result = result.record.id;
                frames.push(Arc::clone(&result.frame));
            }
            Event::Result(_) => {}
            Event::Progress { frame, reports } => {
                cursor.reports_seen = reports;
                frames.push(frame);
            }
        }
    }
    frames
}

mod cursor;
#[cfg(test)]
mod tests;

pub use cursor::Cursor;
