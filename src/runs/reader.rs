//! Finding, listing and following runs. What readers see is read from the store, except by those that follow a run.

use std::sync::Arc;
use std::time::Instant;

use super::follow::{Follower, Next};
use super::record::{RunRecord, RunState, read_run, results_after};
use super::service::Runs;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::drive::Position;
use crate::model::family::FollowState;
use crate::model::page::{Cursor, ListFilter, cut};
use crate::model::run::{ResultRecord, RunSummary};
use crate::modules::query::Query;

impl Runs {
    /// Returns the complete run with its results and reports.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn record(&self, run: RunSummary) -> Result<RunRecord, StorageError> {
        let notes = self.store.notes(run.id)?;
        let mut record = read_run(&self.store, run, self.clock.now())?;
        notes.annotate(&mut record.results);
        record.summary.notes = notes.run;
        Ok(record)
    }

    /// Returns how far the leads of a run are followed, if it is the first of a family.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn follow_state(&self, run: &RunSummary) -> Result<Option<FollowState>, StorageError> {
        if !run.is_following_root() {
            return Ok(None);
        }
        Ok(self.store.family(run.id, run.account)?.as_ref().map(FollowState::of))
    }

    /// Returns the state of a run without its results and modules.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn state(&self, run: RunSummary) -> Result<RunState, StorageError> {
        let (notes, follow) = (self.store.notes(run.id)?, self.follow_state(&run)?);
        Ok(RunState { summary: RunSummary { notes: notes.run.clone(), ..run }, follow, notes })
    }

    /// Returns the results that a run had in this state, with what is noted about them.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn results(&self, state: &RunState) -> Result<Vec<ResultRecord>, StorageError> {
        let mut results = results_after(&self.store, state.summary.id, 0)?;
        // Those of the state are the first. What was found since belongs to the next one.
        results.truncate(state.summary.total_results as usize);
        state.notes.annotate(&mut results);
        Ok(results)
    }

    /// Returns the complete run with its thumbnails.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn record_with_thumbnails(&self, run: RunSummary) -> Result<RunRecord, StorageError> {
        let mut record = self.record(run)?;
        // A picture may have been stored since, or its run deleted: then the result has none.
        if record.summary.options.avatars {
            record.thumbnails = self.store.thumbnails(record.summary.id)?;
        }
        Ok(record)
    }

    /// Returns the answer with that SHA-256 that a run has kept as evidence, compressed with gzip.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn evidence(&self, run: RunId, sha256: &str) -> Result<Option<Vec<u8>>, StorageError> {
        self.store.evidence(run, sha256)
    }

    /// Waits until a run ends, even if another instance drives it, and until the given moment at most. Returns the run, which
    /// may still be running, or `None` if it was deleted meanwhile.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn wait_for_end(
        self: &Arc<Self>,
        run: RunSummary,
        until: Instant,
    ) -> Result<Option<RunSummary>, StorageError> {
        if run.status.is_terminal() {
            return Ok(Some(run));
        }
        let (id, account) = (run.id, run.account);
        let mut follower = Follower::new(Arc::clone(self), &run, Position::END, 0);
        while let Next::Frames(_) = follower.next(until)? {}
        self.store.run(id, account)
    }

    /// Returns a follower of a run that leaves out results up to `after`.
    pub fn follow(self: &Arc<Self>, run: &RunSummary, after: u32) -> Follower {
        Follower::new(Arc::clone(self), run, Position::default(), after)
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
                self.store.comparable(run, query.normal(), before, limit)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Returns at most `limit` runs of an account that match the filter, and the beginning of the next page, if there is
    /// one.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn page(
        &self,
        account: AccountId,
        filter: &ListFilter,
        limit: usize,
    ) -> Result<(Vec<RunSummary>, Option<Cursor>), StorageError> {
        // One additional run shows whether there is a further page.
        let mut runs = self.store.list(account, filter, limit.saturating_add(1))?;
        let next = cut(&mut runs, limit).map(Cursor::after);
        Ok((runs, next))
    }
}
