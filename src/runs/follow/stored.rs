//! [`StoredCursor`]: the position of a reader in a stored run.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::storage::StorageError;
use crate::model::drive::Changes;
use crate::model::run::RunSummary;
use crate::runs::event::{self, DoneData, Frame, ProgressData};
use crate::runs::family::frames::frames;
use crate::runs::live::Place;
use crate::runs::remote_run::RemoteRun;
use crate::runs::shared_read::{PAGE, SharedRead};
use crate::store::Store;

/// The maximum number of results of one step of a replay, which bounds the memory of a reader that reads slowly.
const REPLAY_PAGE: usize = 32;
/// The time for which a reader tolerates an unavailable store. Readers of live runs get nothing new in that time
/// either.
const OUTAGE_TIMEOUT: Duration = Duration::from_secs(30);
/// A revision that is greater than that of any write.
const NEWEST: u64 = i64::MAX as u64;

/// The time at which changed results are read from the store. New ones are read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefreshPolicy {
    /// Changed results are read when a module or the run has ended.
    WithProgress,
    /// Changed results are read at once.
    AtOnce,
}

/// The position of a reader in a stored run.
#[derive(Clone)]
pub(super) struct StoredCursor {
    pub(super) place: Place,
    /// Whether the `done` frame was read.
    pub(super) done: bool,
    pub(super) remote: Arc<RemoteRun>,
    /// The number of the last read.
    pub(super) read: u64,
    /// New results that may be newer than [`Place::revision`], by a hash of what they were when they were read.
    ahead: HashMap<u32, u64>,
    /// The revision at which the replay began, until it ends.
    replay: Option<u64>,
    /// The time since which the store does not answer.
    silent_since: Option<Instant>,
}

/// The frames of results that were read.
#[derive(Default)]
struct Found {
    /// The frames of new results. They come before the progress that counts them.
    frames: Vec<Frame>,
    /// The frames of changed results. They come after the progress of the modules that have changed them.
    again: Vec<Frame>,
}

impl StoredCursor {
    pub(super) fn at(place: Place, remote: Arc<RemoteRun>) -> Self {
        Self { place, done: false, remote, read: 0, ahead: HashMap::new(), replay: None, silent_since: None }
    }

    /// Returns whether a replay has begun and not ended.
    pub(super) fn is_replaying(&self) -> bool {
        self.replay.is_some()
    }

    /// Returns the next frames. The cursor moves only if all of them could be read. A reader that has no results yet
    /// gets the existing ones first, step by step.
    pub(super) fn read(
        &mut self,
        store: &Store,
        read: &SharedRead,
        refresh: RefreshPolicy,
    ) -> Result<Vec<Frame>, StorageError> {
        let mut next = self.clone();
        if next.place.revision.is_none() {
            let frames = next.replay(store, &read.summary)?;
            if next.is_replaying() {
                *self = next;
                return Ok(frames);
            }
            let rest = next.read(store, read, refresh)?;
            *self = next;
            return Ok([frames, rest].concat());
        }
        let Found { mut frames, again } = next.results(store, read, refresh)?;
        frames.extend(next.progress(store, read)?);
        frames.extend(again);
        if read.summary.status.is_terminal() {
            next.done = true;
            frames.extend(family(store, &read.summary)?);
            frames.push(event::done_frame(&DoneData::of(&read.summary)));
        }
        *self = next;
        Ok(frames)
    }

    /// Returns whether to wait longer for a store that does not answer. Must be called with the result of each read.
    pub(super) fn tolerates<T>(&mut self, tried: &Result<T, StorageError>) -> bool {
        let is_silent = tried.as_ref().is_err_and(StorageError::is_unavailable);
        if !is_silent {
            self.silent_since = None;
        }
        is_silent && self.silent_since.get_or_insert_with(Instant::now).elapsed() < OUTAGE_TIMEOUT
    }

    /// Returns frames of results. New ones are sent at once. Changed ones are sent with progress, as from a live run,
    /// because a result that changes with each read would otherwise be sent each time.
    fn results(
        &mut self,
        store: &Store,
        read: &SharedRead,
        refresh: RefreshPolicy,
    ) -> Result<Found, StorageError> {
        let summary = &read.summary;
        if refresh == RefreshPolicy::AtOnce || self.has_progress(summary) || summary.status.is_terminal() {
            self.all_changes(store, read)
        } else if self.known() < summary.total_results {
            self.new_results(store, read)
        } else {
            Ok(Found::default())
        }
    }

    /// Returns frames of the next results in their current state and without a gap, even if some have changed since
    /// the replay began. Later changes are sent as changes.
    fn replay(&mut self, store: &Store, summary: &RunSummary) -> Result<Vec<Frame>, StorageError> {
        let until = *self.replay.get_or_insert(summary.revision);
        let known = self.known();
        let changes = Changes { since: Some(NEWEST), known, until: NEWEST, after: known };
        let page = store.changes(summary.id, changes, REPLAY_PAGE)?;
        let mut frames = Vec::with_capacity(page.len());
        for record in &page {
            let frame = event::result_frame(record);
            self.ahead.insert(record.id, hash_of(&frame));
            self.place.last_result = record.id;
            frames.push(frame);
        }
        if page.len() < REPLAY_PAGE {
            self.place.revision = Some(until);
            self.replay = None;
        }
        Ok(frames)
    }

    fn has_progress(&self, summary: &RunSummary) -> bool {
        summary.progress.modules_completed as usize > self.place.reports
    }

    fn known(&self) -> u32 {
        self.place.last_result.max(self.place.left_out)
    }

    /// Returns frames of the results that were written since the last such read: new ones in their current state,
    /// known ones up to the revision of the summary.
    fn all_changes(&mut self, store: &Store, read: &SharedRead) -> Result<Found, StorageError> {
        let summary = &read.summary;
        let known = self.known();
        let (since, until) = (self.place.revision, summary.revision);
        let is_new = since.is_none_or(|seen| seen < until) || known < summary.total_results;
        let mut found = Found::default();
        if !is_new && !summary.status.is_terminal() {
            return Ok(found);
        }
        let mut changes = Changes { since, known, until, after: self.place.left_out };
        let mut ahead = HashMap::new();
        loop {
            let page = read.changes(store, changes)?;
            for record in page.iter() {
                let frame = event::result_frame(record);
                if record.id > known {
                    ahead.insert(record.id, hash_of(&frame));
                    found.frames.push(frame);
                } else if self.ahead.get(&record.id) != Some(&hash_of(&frame)) {
                    found.again.push(frame);
                }
            }
            if let Some(last) = page.last() {
                self.place.last_result = self.place.last_result.max(last.id);
                changes.after = last.id;
            }
            if page.len() < PAGE {
                self.place.revision = Some(since.unwrap_or(0).max(until));
                self.ahead = ahead;
                return Ok(found);
            }
        }
    }

    /// Returns frames of new results. Their hashes in `ahead` later show which of them have changed since.
    fn new_results(&mut self, store: &Store, read: &SharedRead) -> Result<Found, StorageError> {
        let mut frames = Vec::new();
        loop {
            let known = self.known();
            let changes = Changes { since: Some(NEWEST), known, until: NEWEST, after: known };
            let page = read.changes(store, changes)?;
            for record in page.iter() {
                let frame = event::result_frame(record);
                self.ahead.insert(record.id, hash_of(&frame));
                self.place.last_result = self.place.last_result.max(record.id);
                frames.push(frame);
            }
            if page.len() < PAGE {
                return Ok(Found { frames, again: Vec::new() });
            }
        }
    }

    fn progress(&mut self, store: &Store, read: &SharedRead) -> Result<Option<Frame>, StorageError> {
        let summary = &read.summary;
        if !self.has_progress(summary) {
            return Ok(None);
        }
        // The modules are read after the summary. Those that ended in between come with the next progress, after their
        // results.
        let reports = read.modules(store)?;
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

fn hash_of(frame: &Frame) -> u64 {
    let mut hasher = DefaultHasher::new();
    frame.hash(&mut hasher);
    hasher.finish()
}

/// Returns the frames about the leads of the run that were followed.
fn family(store: &Store, summary: &RunSummary) -> Result<Vec<Frame>, StorageError> {
    // Leads of other runs may have been followed by hand.
    let root = summary.family.map_or(summary.id, |place| place.root);
    Ok(frames(&store.lookups(summary.id)?, &store.children(root, summary.id)?))
}
