//! Readers of a run: of one that is live here, or of one that only the store knows.

mod look;
mod stored;

use std::sync::Arc;
use std::time::Instant;

use super::event::{self, Frame, RunData};
use super::live::{Cursor, LiveRun, Next, Place, Stopped};
use super::news::Watch;
use super::run::{RunSummary, Status};
use super::service::Runs;
use crate::base::storage::StorageError;
use look::Look;
pub(super) use look::Looks;
use stored::{Eagerness, StoredCursor};

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
            match self.read_patiently(&watch, seen)? {
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
        let look = self.ask()?.map(|summary| Arc::new(Look::new(summary)));
        let Some(frames) = self.read_stored(look, Eagerness::AtOnce)? else { return Ok(Step::Gone) };
        if let Source::Stored(StoredCursor { place, done: false, .. }) = &self.source {
            self.source = Source::Live(run, Cursor::at(*place));
        }
        if frames.is_empty() { self.next(until) } else { Ok(Step::Frames(frames)) }
    }

    fn ask(&self) -> Result<Option<RunSummary>, StorageError> {
        self.runs.journal().run(self.summary.id, self.summary.account)
    }

    /// The number of the last look.
    fn seen(&self) -> u64 {
        if let Source::Stored(cursor) = &self.source { cursor.look } else { 0 }
    }

    /// What the store has beyond the cursor. `None`: the run is gone.
    fn read_stored(
        &mut self,
        look: Option<Arc<Look>>,
        eagerness: Eagerness,
    ) -> Result<Option<Vec<Frame>>, StorageError> {
        let Source::Stored(cursor) = &mut self.source else { return Ok(Some(Vec::new())) };
        // The summary was read first: it says up to which write results are read, and the end is not seen before them.
        let Some(look) = look else { return Ok(None) };
        self.summary = look.summary.clone();
        cursor.look = look.number;
        cursor.read(self.runs.journal(), &look, eagerness).map(Some)
    }

    /// The same, together with other readers that heard so many news; nothing while the store is away for a short time.
    fn read_patiently(&mut self, watch: &Watch, heard: u64) -> Result<Option<Vec<Frame>>, StorageError> {
        let look = watch.look(heard, self.seen(), Instant::now(), || self.ask());
        let read = look.and_then(|look| self.read_stored(look, Eagerness::WithProgress));
        let Source::Stored(cursor) = &mut self.source else { return read };
        if cursor.bears_with(&read) { Ok(Some(Vec::new())) } else { read }
    }
}
