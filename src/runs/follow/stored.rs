//! What the store has of a run beyond what a reader has seen.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::look::Look;
use crate::base::storage::StorageError;
use crate::runs::event::{self, DoneData, Frame, ProgressData};
use crate::runs::journal::{Changes, Journal};
use crate::runs::live::Place;
use crate::runs::news::Watch;
use crate::runs::run::RunSummary;

/// Results read from the store at once.
pub(super) const PAGE: usize = 500;
/// How long a reader of the store bears with one that does not answer: readers of live runs see nothing new
/// in that time either.
const PATIENCE: Duration = Duration::from_secs(30);
/// Newer than any write that a run has seen.
const NEWEST: u64 = i64::MAX as u64;

/// When results that have changed are read from the store. New ones are read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eagerness {
    /// When a module ended, or the run did.
    WithProgress,
    /// Now.
    AtOnce,
}

/// Where a reader of the store stands.
#[derive(Clone)]
pub(super) struct StoredCursor {
    pub(super) place: Place,
    /// The `done` frame has been read.
    pub(super) done: bool,
    pub(super) watch: Arc<Watch>,
    /// The number of the last look.
    pub(super) look: u64,
    /// New results that were read since all changes were, as they were then.
    ahead: HashMap<u32, Frame>,
    /// The store has not answered since.
    silent_since: Option<Instant>,
}

/// Results that were read.
#[derive(Default)]
struct Found {
    /// Those that the reader does not have: they belong before the progress that counts them.
    frames: Vec<Frame>,
    /// Those that have changed. They come after it: no reader gets one twice between two progress frames.
    again: Vec<Frame>,
}

impl StoredCursor {
    pub(super) fn at(place: Place, watch: Arc<Watch>) -> Self {
        Self { place, done: false, watch, look: 0, ahead: HashMap::new(), silent_since: None }
    }

    /// What comes next; the cursor moves on only where all of it could be read.
    pub(super) fn read(
        &mut self,
        journal: &dyn Journal,
        look: &Look,
        eagerness: Eagerness,
    ) -> Result<Vec<Frame>, StorageError> {
        let mut next = self.clone();
        let Found { mut frames, again } = next.results(journal, look, eagerness)?;
        frames.extend(next.progress(journal, look)?);
        frames.extend(again);
        if look.summary.status.is_terminal() {
            next.done = true;
            frames.push(done(&look.summary));
        }
        *self = next;
        Ok(frames)
    }

    /// Whether a store that does not answer may still come back: to be asked after each try.
    pub(super) fn bears_with<T>(&mut self, tried: &Result<T, StorageError>) -> bool {
        let is_silent = tried.as_ref().is_err_and(StorageError::is_unavailable);
        if !is_silent {
            self.silent_since = None;
        }
        is_silent && self.silent_since.get_or_insert_with(Instant::now).elapsed() < PATIENCE
    }

    /// Changed results come with progress, as they do from a live run: one that changes with each read would
    /// be sent each time. New ones do not wait for it.
    fn results(
        &mut self,
        journal: &dyn Journal,
        look: &Look,
        eagerness: Eagerness,
    ) -> Result<Found, StorageError> {
        let summary = &look.summary;
        let is_first = self.place.revision.is_none();
        if eagerness == Eagerness::AtOnce
            || is_first
            || self.has_progress(summary)
            || summary.status.is_terminal()
        {
            self.all_changes(journal, look)
        } else if self.known() < summary.total_results {
            self.new_results(journal, look)
        } else {
            Ok(Found::default())
        }
    }

    fn has_progress(&self, summary: &RunSummary) -> bool {
        summary.progress.modules_completed as usize > self.place.reports
    }

    fn known(&self) -> u32 {
        self.place.last_result.max(self.place.left_out)
    }

    /// Frames of the results that were written since the reader looked last, up to the summary's revision.
    fn all_changes(&mut self, journal: &dyn Journal, look: &Look) -> Result<Found, StorageError> {
        let summary = &look.summary;
        let known = self.known();
        let (since, until) = (self.place.revision, summary.revision);
        let is_new = since.is_none_or(|seen| seen < until) || known < summary.total_results;
        let mut found = Found::default();
        if !is_new && !summary.status.is_terminal() {
            return Ok(found);
        }
        let mut changes = Changes { since, known, until, after: self.place.left_out };
        loop {
            let page = look.changes(journal, changes)?;
            for record in page.iter() {
                let frame = event::result_frame(record);
                if record.id > known {
                    found.frames.push(frame);
                } else if self.ahead.get(&record.id) != Some(&frame) {
                    found.again.push(frame);
                }
            }
            if let Some(last) = page.last() {
                self.place.last_result = self.place.last_result.max(last.id);
                changes.after = last.id;
            }
            if page.len() < PAGE {
                self.place.revision = Some(since.unwrap_or(0).max(until));
                self.ahead.clear();
                return Ok(found);
            }
        }
    }

    /// Frames of the results that the reader does not have. Which of them change before all changes are read
    /// is known by what they were `ahead` of that.
    fn new_results(&mut self, journal: &dyn Journal, look: &Look) -> Result<Found, StorageError> {
        let mut frames = Vec::new();
        loop {
            let known = self.known();
            let changes = Changes { since: Some(NEWEST), known, until: NEWEST, after: known };
            let page = look.changes(journal, changes)?;
            for record in page.iter() {
                let frame = event::result_frame(record);
                self.ahead.insert(record.id, Arc::clone(&frame));
                self.place.last_result = self.place.last_result.max(record.id);
                frames.push(frame);
            }
            if page.len() < PAGE {
                return Ok(Found { frames, again: Vec::new() });
            }
        }
    }

    fn progress(&mut self, journal: &dyn Journal, look: &Look) -> Result<Option<Frame>, StorageError> {
        let summary = &look.summary;
        if !self.has_progress(summary) {
            return Ok(None);
        }
        // Read later than the summary: what ended meanwhile comes with the next one, and its results.
        let reports = look.modules(journal)?;
        let ended = reports.len().min(summary.progress.modules_completed as usize);
        let reports = &reports[..ended];
        let since = self.place.reports.min(reports.len());
        self.place.reports = reports.len();
        Ok(Some(event::progress_frame(&ProgressData {
            results_so_far: summary.total_results,
            progress: summary.progress,
            coverage: summary.coverage,
            module_status: reports[since..]
                .iter()
                .map(|report| (report.module.clone(), report.status))
                .collect(),
        })))
    }
}

fn done(summary: &RunSummary) -> Frame {
    event::done_frame(&DoneData {
        run_id: summary.id,
        status: summary.status,
        total_results: summary.total_results,
        progress: summary.progress,
        coverage: summary.coverage,
        results_available: true,
        error: summary.error.as_ref(),
    })
}
