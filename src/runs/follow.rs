//! Readers of a run: of one that is live here, or of one that only the store knows.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::event::{self, DoneData, Frame, ProgressData, RunData};
use super::journal::{Changes, Journal};
use super::live::{Cursor, LiveRun, Next, Place, Stopped};
use super::news::Watch;
use super::run::{RunSummary, Status};
use super::service::Runs;
use crate::base::storage::StorageError;

/// Results read from the store at once.
const PAGE: usize = 500;

/// What a follower gets.
#[derive(Debug)]
pub enum Step {
    /// These frames, in this order.
    Frames(Vec<Frame>),
    /// All has been read, the `done` frame too.
    End,
    /// Nothing new until the given moment.
    Quiet,
    /// This process shuts down.
    Shutdown,
    /// The run is gone: its owner deleted it.
    Gone,
}

/// When results that have changed are read from the store. New ones are read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Eagerness {
    /// When a module ended, or the run did.
    WithProgress,
    /// Now.
    AtOnce,
}

/// Newer than any write that a run has seen.
const NEWEST: u64 = i64::MAX as u64;

/// Follows one run from its first result (or from a given one) to its `done` frame.
pub struct Follower {
    runs: Arc<Runs>,
    summary: RunSummary,
    source: Source,
}

enum Source {
    Live(Arc<LiveRun>, Cursor),
    Stored(StoredCursor),
}

struct StoredCursor {
    place: Place,
    /// New results that were read since all changes were, as they were then.
    ahead: HashMap<u32, Frame>,
    watch: Arc<Watch>,
    done: bool,
}

impl StoredCursor {
    fn at(place: Place, watch: Arc<Watch>) -> Self {
        Self { place, ahead: HashMap::new(), watch, done: false }
    }
}

impl Follower {
    /// Follows a run that is live here.
    pub fn live(runs: Arc<Runs>, run: Arc<LiveRun>, after: u32) -> Self {
        let summary = run.summary();
        Self { runs, summary, source: Source::Live(run, Cursor::after(after)) }
    }

    /// Follows a run that the store knows.
    pub fn stored(runs: Arc<Runs>, summary: RunSummary, after: u32) -> Self {
        let place = Place { left_out: after, ..Place::default() };
        let cursor = StoredCursor::at(place, runs.board.watch(summary.id));
        Self { runs, summary, source: Source::Stored(cursor) }
    }

    /// The `run` frame, which comes first.
    pub fn run_frame(&self) -> Frame {
        event::run_frame(&RunData {
            run_id: self.summary.id,
            search_type: self.summary.search_type,
            query: &self.summary.query,
            status: Status::Running,
        })
    }

    /// The run as it was when this follower last looked.
    pub fn summary(&self) -> &RunSummary {
        &self.summary
    }

    /// What comes next; waits for it until the given moment.
    ///
    /// # Errors
    /// The store's failure, for a run that is not live here.
    pub fn next(&mut self, until: Instant) -> Result<Step, StorageError> {
        loop {
            let live = match &mut self.source {
                Source::Live(run, cursor) => Some((run.read(cursor, until), *cursor)),
                Source::Stored(_) => None,
            };
            match live {
                Some((Next::Frames(frames), _)) => return Ok(Step::Frames(frames)),
                Some((Next::End, _)) => return Ok(Step::End),
                Some((Next::Quiet, _)) => return Ok(Step::Quiet),
                Some((Next::Stopped(Stopped::Shutdown), _)) => return Ok(Step::Shutdown),
                Some((Next::Stopped(Stopped::Deleted), _)) => return Ok(Step::Gone),
                // Another instance drives it now: the store has what it finds.
                Some((Next::Stopped(Stopped::LeaseLost), cursor)) => {
                    // The other driver's list of ended modules has another order: told again is harmless,
                    // left out is not.
                    let place = Place { reports: 0, ..cursor.place() };
                    let watch = self.runs.board.watch(self.summary.id);
                    self.source = Source::Stored(StoredCursor::at(place, watch));
                }
                None => return self.next_stored(until),
            }
        }
    }

    fn next_stored(&mut self, until: Instant) -> Result<Step, StorageError> {
        loop {
            let Source::Stored(StoredCursor { done: false, watch, .. }) = &self.source else {
                return Ok(Step::End);
            };
            let (watch, seen) = (Arc::clone(watch), watch.count());
            // A run that was stopped here is on its way out of memory: it has no news.
            if let Some(run) = self.runs.live(self.summary.id).filter(|run| run.stopped().is_none()) {
                return self.go_live(run, until);
            }
            match self.read_stored(Eagerness::WithProgress)? {
                None => return Ok(Step::Gone),
                Some(frames) if !frames.is_empty() => return Ok(Step::Frames(frames)),
                Some(_) => {}
            }
            if self.runs.is_shutting_down() {
                return Ok(Step::Shutdown);
            }
            if Instant::now() >= until {
                return Ok(Step::Quiet);
            }
            self.runs.wait_for_news(&watch, seen, until);
        }
    }

    /// The run was taken over by this very process. What was written before that is read from the store: the
    /// live run knows only what has changed since.
    fn go_live(&mut self, run: Arc<LiveRun>, until: Instant) -> Result<Step, StorageError> {
        let Some(frames) = self.read_stored(Eagerness::AtOnce)? else { return Ok(Step::Gone) };
        if let Source::Stored(StoredCursor { place, done: false, .. }) = &self.source {
            self.source = Source::Live(run, Cursor::at(*place));
        }
        if frames.is_empty() { self.next(until) } else { Ok(Step::Frames(frames)) }
    }

    /// What the store has beyond the cursor. `None`: the run is gone.
    fn read_stored(&mut self, eagerness: Eagerness) -> Result<Option<Vec<Frame>>, StorageError> {
        let Source::Stored(cursor) = &mut self.source else { return Ok(Some(Vec::new())) };
        let journal = self.runs.journal();
        // The summary first: it says up to which write results are read, and the end is not seen before them.
        let Some(summary) = journal.run(self.summary.id, self.summary.account)? else { return Ok(None) };
        self.summary = summary;
        let mut frames = Vec::new();
        let place = &mut cursor.place;
        let completed = self.summary.progress.modules_completed as usize;
        let has_progress = completed > place.reports;
        let is_terminal = self.summary.status.is_terminal();
        // Results come with progress, as they do from a live run: one that changes with each read would be
        // sent each time.
        if eagerness == Eagerness::AtOnce || place.revision.is_none() || has_progress || is_terminal {
            frames = changed_results(journal, &self.summary, place, &cursor.ahead)?;
            cursor.ahead.clear();
        } else if place.last_result.max(place.left_out) < self.summary.total_results {
            frames = new_results(journal, &self.summary, place, &mut cursor.ahead)?;
        }
        if has_progress {
            // Read later than the summary: what ended meanwhile comes with the next one, and its results.
            let mut reports = journal.modules(self.summary.id)?;
            reports.truncate(completed);
            let since = place.reports.min(reports.len());
            place.reports = reports.len();
            frames.push(event::progress_frame(&ProgressData {
                results_so_far: self.summary.total_results,
                progress: self.summary.progress,
                coverage: self.summary.coverage,
                module_status: reports[since..]
                    .iter()
                    .map(|report| (report.module.clone(), report.status))
                    .collect(),
            }));
        }
        if is_terminal {
            cursor.done = true;
            frames.push(event::done_frame(&DoneData {
                run_id: self.summary.id,
                status: self.summary.status,
                total_results: self.summary.total_results,
                progress: self.summary.progress,
                coverage: self.summary.coverage,
                results_available: true,
                error: self.summary.error.as_ref(),
            }));
        }
        Ok(Some(frames))
    }
}

/// Frames of the results that were written since the reader looked last, up to the summary's revision.
fn changed_results(
    journal: &dyn Journal,
    summary: &RunSummary,
    place: &mut Place,
    ahead: &HashMap<u32, Frame>,
) -> Result<Vec<Frame>, StorageError> {
    let mut frames = Vec::new();
    let known = place.last_result.max(place.left_out);
    let is_new = place.revision.is_none_or(|seen| seen < summary.revision) || known < summary.total_results;
    if !is_new && !summary.status.is_terminal() {
        return Ok(frames);
    }
    let (since, until, after) = (place.revision, summary.revision, place.left_out);
    let mut changes = Changes { since, known, until, after };
    loop {
        let page = journal.changes(summary.id, changes, PAGE)?;
        let read = page.iter().map(|record| (record.id, event::result_frame(record)));
        frames.extend(read.filter(|(id, frame)| ahead.get(id) != Some(frame)).map(|(_, frame)| frame));
        if let Some(last) = page.last() {
            place.last_result = place.last_result.max(last.id);
            changes.after = last.id;
        }
        if page.len() < PAGE {
            place.revision = Some(since.unwrap_or(0).max(until));
            return Ok(frames);
        }
    }
}

/// Frames of the results that the reader does not have. Which of them change before all changes are read is
/// known by what they were `ahead` of that.
fn new_results(
    journal: &dyn Journal,
    summary: &RunSummary,
    place: &mut Place,
    ahead: &mut HashMap<u32, Frame>,
) -> Result<Vec<Frame>, StorageError> {
    let mut frames = Vec::new();
    loop {
        let known = place.last_result.max(place.left_out);
        let changes = Changes { since: Some(NEWEST), known, until: NEWEST, after: known };
        let page = journal.changes(summary.id, changes, PAGE)?;
        for record in &page {
            let frame = event::result_frame(record);
            ahead.insert(record.id, Arc::clone(&frame));
            frames.push(frame);
            place.last_result = place.last_result.max(record.id);
        }
        if page.len() < PAGE {
            return Ok(frames);
        }
    }
}
