//! [`Follower`]: reads a run frame by frame, from memory while this process drives it and otherwise from the store.
//!
//! A reader only knows its [`Position`], which means the same in both. Therefore it may read on from either at any moment.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::event::{self, DoneData, Frame, ProgressData, RunData};
use super::family::frames::frames;
use super::live::{Step, Stopped};
use super::registry::Registry;
use super::watched::{POLL_EVERY, WatchedRun};
use crate::base::storage::StorageError;
use crate::model::drive::{Changes, Position};
use crate::model::run::{RunSummary, Status};
use crate::store::Store;

/// The maximum number of results that are read from the store at once, which bounds the memory of a reader that reads
/// slowly.
const PAGE: usize = 32;
/// The time for which a reader tolerates an unavailable store. Readers of live runs get nothing new in that time
/// either.
const OUTAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The result of [`Follower::next`].
#[derive(Debug)]
pub enum Next {
    /// Frames in the order in which they must be sent.
    Frames(Vec<Frame>),
    /// All frames were read, including `done`.
    End,
    /// There is nothing new until the given moment.
    Quiet,
    /// The run was deleted, or the process shuts down.
    Stopped(Stopped),
}

/// A reader that follows a run from its first result, or from a given one, to its `done` frame.
pub struct Follower {
    registry: Arc<Registry>,
    store: Arc<Store>,
    summary: RunSummary,
    /// The id up to which results are left out, even if they change.
    left_out: u32,
    at: Position,
    is_done: bool,
    /// The entry of the run, once the reader has read the store.
    watched: Option<Arc<WatchedRun>>,
    /// The time since which the store does not answer.
    silent_since: Option<Instant>,
}

impl Follower {
    pub(super) fn new(
        registry: Arc<Registry>,
        store: Arc<Store>,
        summary: RunSummary,
        at: Position,
        left_out: u32,
    ) -> Self {
        let (is_done, watched, silent_since) = (false, None, None);
        Self { registry, store, summary, left_out, at, is_done, watched, silent_since }
    }

    /// Returns the run as it was when its reader began.
    pub fn summary(&self) -> &RunSummary {
        &self.summary
    }

    /// Returns the `run` frame, which comes first.
    pub fn run_frame(&self) -> Frame {
        let run = &self.summary;
        event::run_frame(&RunData {
            run_id: run.id,
            search_type: run.search_type,
            query: &run.query,
            status: Status::Running,
        })
    }

    /// Returns the next frames. Waits for them until the given moment. Never returns [`Stopped::LeaseLost`], because a
    /// run that another instance drives is read from the store.
    ///
    /// # Errors
    /// Returns an error if the store fails and the run is not live in this process.
    pub fn next(&mut self, until: Instant) -> Result<Next, StorageError> {
        while !self.is_done {
            // A run that this process begins to drive afterwards counts as a change.
            let watched = self.watched.as_ref().map(|run| (Arc::clone(run), run.count()));
            if let Some(run) = self.registry.live(self.summary.id).filter(|run| run.serves(self.at)) {
                match run.changes(self.at, self.left_out, until) {
                    Ok(None) => return Ok(Next::Quiet),
                    Ok(Some(step)) => match self.take(&step) {
                        Some(next) => return Ok(next),
                        None => continue,
                    },
                    Err(Stopped::LeaseLost) => continue,
                    Err(why) => return Ok(Next::Stopped(why)),
                }
            }
            let Some((watched, seen)) = watched else {
                self.watched = Some(self.registry.watched.get(&self.store, self.summary.id));
                continue;
            };
            let read = self.read(&watched, seen)?;
            let wake_at = match &read {
                Read::Gone => return Ok(Next::Stopped(Stopped::Deleted)),
                Read::Step(step) if step.end != self.at || step.is_last => match self.take(step) {
                    Some(next) => return Ok(next),
                    None => continue,
                },
                Read::Step(_) => until,
                Read::Silent => until.min(Instant::now() + POLL_EVERY),
            };
            if self.registry.lifecycle.is_shutting_down() {
                return Ok(Next::Stopped(Stopped::Shutdown));
            }
            watched.wait(seen, wake_at);
            if watched.count() == seen && Instant::now() >= until {
                return Ok(Next::Quiet);
            }
        }
        Ok(Next::End)
    }

    /// Reads what was not read from the store. Returns no step while the store is unavailable for a short time.
    fn read(&mut self, watched: &WatchedRun, seen: u64) -> Result<Read, StorageError> {
        let (store, run, at, left_out) = (&self.store, &self.summary, self.at, self.left_out);
        let read = watched.read((at, left_out), seen, || read(store, run, at, left_out));
        let is_silent = read.as_ref().is_err_and(StorageError::is_unavailable);
        if !is_silent {
            self.silent_since = None;
        } else if self.silent_since.get_or_insert_with(Instant::now).elapsed() < OUTAGE_TIMEOUT {
            return Ok(Read::Silent);
        }
        Ok(read?.map_or(Read::Gone, Read::Step))
    }

    fn take(&mut self, step: &Step) -> Option<Next> {
        (self.at, self.is_done) = (step.end, step.is_last);
        (!step.frames.is_empty()).then(|| Next::Frames(step.frames.clone()))
    }
}

/// The result of a read of the store.
enum Read {
    Step(Arc<Step>),
    /// The store does not answer.
    Silent,
    /// The run was deleted.
    Gone,
}

/// Reads what a reader at that position has not read. Returns `None` if the run is gone.
fn read(store: &Store, run: &RunSummary, at: Position, left_out: u32) -> Result<Option<Step>, StorageError> {
    let Some(changes) = store.changes(run.id, run.account, at, left_out, PAGE)? else { return Ok(None) };
    let Changes { summary, results, reports, end } = changes;
    let mut frames: Vec<Frame> = results.iter().map(event::result_frame).collect();
    if !reports.is_empty() {
        frames.push(event::progress_frame(&ProgressData {
            results_so_far: summary.total_results,
            progress: summary.progress,
            coverage: summary.coverage,
            module_status: reports.into_iter().map(|report| (report.module, report.status)).collect(),
        }));
    }
    let is_last = summary.status.is_terminal() && end.page.is_none() && end.next > summary.revision;
    if is_last {
        frames.extend(family(store, &summary)?);
        frames.push(event::done_frame(&DoneData::of(&summary)));
    }
    Ok(Some(Step { frames, end, is_last }))
}

/// Returns the frames about the leads of the run that were followed.
fn family(store: &Store, summary: &RunSummary) -> Result<Vec<Frame>, StorageError> {
    // Leads of other runs may have been followed by hand.
    let root = summary.family.map_or(summary.id, |place| place.root);
    Ok(frames(&store.lookups(summary.id)?, &store.children(root, summary.id)?))
}
