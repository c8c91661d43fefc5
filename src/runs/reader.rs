//! [`Reader`]: finds, lists and follows runs.

use std::sync::Arc;
use std::time::Instant;

use super::follow::{Follower, Next};
use super::live::LiveRun;
use super::record::{RunRecord, RunState, read_run, results_after};
use super::registry::Registry;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::drive::Position;
use crate::model::family::FollowState;
use crate::model::notes::StoredNotes;
use crate::model::page::{Cursor, ListFilter, Page};
use crate::model::run::{ModuleReport, ResultRecord, RunSummary, Status};
use crate::modules::query::Query;
use crate::store::Store;

/// A run in memory or in the store.
pub enum Found {
    /// The run is live in this process.
    Live(Arc<LiveRun>),
    /// The run is only in the store.
    Stored(Box<RunSummary>),
}

impl Found {
    /// Returns the id of the run.
    pub fn id(&self) -> RunId {
        match self {
            Self::Live(run) => run.id(),
            Self::Stored(summary) => summary.id,
        }
    }

    /// Returns the current state of a live run, or that of a stored run when it was read.
    pub fn summary(&self) -> RunSummary {
        match self {
            Self::Live(run) => run.summary(),
            Self::Stored(summary) => (**summary).clone(),
        }
    }

    fn into_summary(self) -> RunSummary {
        match self {
            Self::Live(run) => run.summary(),
            Self::Stored(summary) => *summary,
        }
    }

    /// Returns the current status of a live run, or the status of a stored run when it was read.
    pub fn status(&self) -> Status {
        self.summary().status
    }
}

/// A component that finds, lists and follows runs, in memory or in the store.
pub struct Reader {
    registry: Arc<Registry>,
}

impl Reader {
    pub(super) fn new(registry: Arc<Registry>) -> Self {
        Self { registry }
    }

    fn store(&self) -> &Store {
        &self.registry.context.store
    }

    /// Returns a run of that account, or `None` if the run is unknown, deleted or of another account.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn find(&self, id: RunId, account: AccountId) -> Result<Option<Found>, StorageError> {
        if let Some(run) = self.live(id) {
            return Ok((run.opening().account == account).then_some(Found::Live(run)));
        }
        let stored = self.store().run(id, account)?;
        Ok(stored.map(|summary| Found::Stored(Box::new(summary))))
    }

    /// Returns a run of that account as it is stored, even if it is live in this process.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn stored(&self, id: RunId, account: AccountId) -> Result<Option<Found>, StorageError> {
        Ok(self.store().run(id, account)?.map(|summary| Found::Stored(Box::new(summary))))
    }

    /// Returns the run with that id if it is live in this process and this copy is not out of date.
    pub fn live(&self, id: RunId) -> Option<Arc<LiveRun>> {
        self.registry.live(id)
    }

    /// Returns the reports of the modules that have ended.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn reports(&self, found: &Found) -> Result<Vec<Arc<ModuleReport>>, StorageError> {
        match found {
            Found::Live(run) => Ok(run.reports()),
            Found::Stored(summary) => {
                Ok(self.store().modules(summary.id)?.into_iter().map(Arc::new).collect())
            }
        }
    }

    /// Returns the complete run with its results and reports.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn record(&self, found: &Found) -> Result<RunRecord, StorageError> {
        let as_of = self.registry.context.clock.now();
        let mut record = match found {
            Found::Live(run) => run.record(as_of),
            Found::Stored(summary) => read_run(self.store(), (**summary).clone(), as_of)?,
        };
        let notes = self.notes(found)?;
        notes.annotate(&mut record.results);
        record.summary.notes = notes.run;
        Ok(record)
    }

    /// Returns the complete state of a run with how far its leads are followed, if it is the first of a family.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn record_with_follow(&self, found: &Found) -> Result<RunRecord, StorageError> {
        let mut record = self.record(found)?;
        record.follow = self.follow_state(&record.summary)?;
        Ok(record)
    }

    fn follow_state(&self, run: &RunSummary) -> Result<Option<FollowState>, StorageError> {
        if !run.is_following_root() {
            return Ok(None);
        }
        Ok(self.store().family(run.id, run.account)?.as_ref().map(FollowState::of))
    }

    /// Returns the state of a run without its results and modules.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn state(&self, found: &Found) -> Result<RunState, StorageError> {
        let (notes, summary) = (self.notes(found)?, found.summary());
        let (follow, annotations) = (self.follow_state(&summary)?, notes.results);
        Ok(RunState { summary: RunSummary { notes: notes.run, ..summary }, follow, annotations })
    }

    /// Returns the results with ids above `after` that a run had in this state, with what is noted about them. All
    /// readers of a live run share them.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn results(
        &self,
        found: &Found,
        state: &RunState,
        after: u32,
    ) -> Result<Vec<Arc<ResultRecord>>, StorageError> {
        let mut results = match found {
            Found::Live(run) => run.snapshot().1,
            Found::Stored(run) => results_after(self.store(), run.id, 0)?.into_iter().map(Arc::new).collect(),
        };
        // Those of the state are the first. What was found since belongs to the next one.
        results.truncate(state.summary.total_results as usize);
        results.retain(|result| result.id > after);
        for result in &mut results {
            if let Some(annotation) = state.annotations.get(&result.id) {
                Arc::make_mut(result).annotation = Some(annotation.clone());
            }
        }
        Ok(results)
    }

    /// Returns what is noted about a run and its results. The store is not asked about a run in memory of which nothing
    /// is noted, so that it can be read while the store is unavailable.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn notes(&self, found: &Found) -> Result<StoredNotes, StorageError> {
        match found {
            Found::Live(run) if !run.is_annotated() => Ok(StoredNotes::default()),
            found => self.store().notes(found.id()),
        }
    }

    /// Returns the complete run with its thumbnails.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn record_with_thumbnails(&self, found: &Found) -> Result<RunRecord, StorageError> {
        let mut record = self.record(found)?;
        // A picture may have been stored since, or its run deleted: then the result has none.
        if record.summary.options.avatars {
            record.thumbnails = self.store().thumbnails(found.id())?;
        }
        Ok(record)
    }

    /// Returns the thumbnail of a result as a PNG.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn thumbnail(&self, run: RunId, result: u32) -> Result<Option<Vec<u8>>, StorageError> {
        self.store().thumbnail(run, result)
    }

    /// Waits until a run ends, even if another instance drives it, and until the given moment at most. The run is
    /// then [`Found::Live`] or [`Found::Stored`], and may still be running. Returns `None` if it was deleted
    /// meanwhile.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn wait_for_end(&self, found: Found, until: Instant) -> Result<Option<Found>, StorageError> {
        if matches!(&found, Found::Stored(run) if run.status.is_terminal()) {
            return Ok(Some(found));
        }
        let run = found.into_summary();
        let (id, account) = (run.id, run.account);
        let mut follower = self.follow_from(run, Position::END, 0);
        while let Next::Frames(_) = follower.next(until)? {}
        self.find(id, account)
    }

    /// Returns a follower of a run that leaves out results up to `after`.
    pub fn follow(&self, found: Found, after: u32) -> Follower {
        self.follow_from(found.into_summary(), Position::default(), after)
    }

    fn follow_from(&self, run: RunSummary, at: Position, left_out: u32) -> Follower {
        Follower::new(Arc::clone(&self.registry), run, at, left_out)
    }

    /// Returns at most `limit` runs before a place that can be compared with a run, the newest first: those that have ended,
    /// with the same account, type and normal form of the query. There are none if the run itself has not ended.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn comparable(
        &self,
        run: &RunSummary,
        before: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<RunSummary>, StorageError> {
        match Query::parse(run.search_type, &run.query) {
            Ok(query) if run.status.is_terminal() => {
                self.store().comparable(run, query.normal(), before, limit)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Returns at most `limit` runs of an account that match the filter.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn page(&self, account: AccountId, filter: &ListFilter, limit: usize) -> Result<Page, StorageError> {
        // One additional run shows whether there is a further page.
        let mut runs = self.store().list(account, filter, limit.saturating_add(1))?;
        let has_more = runs.len() > limit;
        runs.truncate(limit);
        let next = runs.last().filter(|_| has_more).map(Cursor::after);
        for summary in &mut runs {
            if let Some(run) = self.live(summary.id) {
                let notes = std::mem::take(&mut summary.notes);
                *summary = RunSummary { notes, ..run.summary() };
            }
        }
        // A run may have ended since the list was read.
        runs.retain(|run| filter.status.is_none_or(|status| run.status == status));
        Ok(Page { runs, next })
    }
}
