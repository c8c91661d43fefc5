//! Readers of a run: of one that is live here, or of one that only the store knows.

use std::sync::Arc;
use std::time::Instant;

use super::event::{self, DoneData, Frame, ProgressData, RunData};
use super::live::{Cursor, LiveRun, Next, Stopped};
use super::run::{RunSummary, Status};
use super::service::{POLL_EVERY, Runs};
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

#[derive(Default)]
struct StoredCursor {
    last_result: u32,
    reports_seen: usize,
    done: bool,
}

impl Follower {
    /// Follows a run that is live here.
    pub fn live(runs: Arc<Runs>, run: Arc<LiveRun>, after: u32) -> Self {
        let summary = run.summary();
        Self { runs, summary, source: Source::Live(run, Cursor::after(after)) }
    }

    /// Follows a run that the store knows.
    pub fn stored(runs: Arc<Runs>, summary: RunSummary, after: u32) -> Self {
        let cursor = StoredCursor { last_result: after, ..StoredCursor::default() };
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
                    self.source = Source::Stored(StoredCursor {
                        last_result: cursor.last_result(),
                        // The other driver's list of ended modules has another order: told again is
                        // harmless, left out is not.
                        ..StoredCursor::default()
                    });
                }
                None => return self.next_stored(until),
            }
        }
    }

    fn next_stored(&mut self, until: Instant) -> Result<Step, StorageError> {
        loop {
            // A run that was stopped here is on its way out of memory: it has no news.
            if let Some(run) = self.runs.live(self.summary.id).filter(|run| run.stopped().is_none()) {
                return self.go_live(run, until);
            }
            let frames = self.read_stored()?;
            match frames {
                None => return Ok(Step::Gone),
                Some(frames) if !frames.is_empty() => return Ok(Step::Frames(frames)),
                Some(_) if matches!(&self.source, Source::Stored(cursor) if cursor.done) => {
                    return Ok(Step::End);
                }
                Some(_) => {}
            }
            if self.runs.wait_for_shutdown(until.min(Instant::now() + POLL_EVERY)) {
                return Ok(Step::Shutdown);
            }
            if Instant::now() >= until {
                return Ok(Step::Quiet);
            }
        }
    }

    /// The run was taken over by this very process.
    fn go_live(&mut self, run: Arc<LiveRun>, until: Instant) -> Result<Step, StorageError> {
        if let Source::Stored(cursor) = &self.source {
            let cursor = Cursor::at(cursor.last_result, cursor.reports_seen);
            self.source = Source::Live(run, cursor);
        }
        self.next(until)
    }

    /// What the store has beyond the cursor. `None`: the run is gone.
    fn read_stored(&mut self) -> Result<Option<Vec<Frame>>, StorageError> {
        let Source::Stored(cursor) = &mut self.source else { return Ok(Some(Vec::new())) };
        if cursor.done {
            return Ok(Some(Vec::new()));
        }
        let journal = self.runs.journal();
        // The summary first: results that come between the two reads are read again next time, whereas
        // the other order could see the end before the last results.
        let Some(summary) = journal.run(self.summary.id, self.summary.account)? else { return Ok(None) };
        self.summary = summary;
        let mut frames = Vec::new();
        loop {
            let page = journal.results(self.summary.id, cursor.last_result, PAGE)?;
            let Some(last) = page.last() else { break };
            cursor.last_result = last.id;
            frames.extend(page.iter().map(event::result_frame));
        }
        let completed = self.summary.progress.modules_completed as usize;
        if completed > cursor.reports_seen {
            let reports = journal.modules(self.summary.id)?;
            let since = cursor.reports_seen.min(reports.len());
            cursor.reports_seen = reports.len();
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
        if self.summary.status.is_terminal() {
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
