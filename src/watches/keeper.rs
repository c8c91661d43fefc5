//! [`WatchKeeper`]: starts the runs of watches that are due, and compares those that have ended.
//!
//! Every instance does so. What is done twice has no effect: a run is started and closed by a transaction that checks
//! whether another instance was faster.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use log::{error, info, log, warn};
use serde_json::json;

use super::baseline::Baseline;
use crate::account::service::Accounts;
use crate::base::ids::{AccountId, WatchId};
use crate::base::pages::items;
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::credits::Charge;
use crate::model::refusal::{Code, Refusal};
use crate::model::search::Search;
use crate::model::start::{Cause, NewRun, WatchStart};
use crate::model::watch::{Comparison, EndedRun, Watch};
use crate::modules::query::SearchType;
use crate::runs::service::{Runs, StartResult};
use crate::store::Store;

/// The number of watches that are read at once.
const BATCH: usize = 100;
/// The number of baselines that are read at once. Each has hundreds of reports and results.
const BASELINES: usize = 10;

/// The periodic tasks of watches. There is one value for each process.
pub struct WatchKeeper {
    store: Arc<Store>,
    runs: Arc<Runs>,
    accounts: Arc<Accounts>,
    simulated: bool,
}

impl WatchKeeper {
    /// Creates the tasks. `simulated` is whether this process queries the simulated web.
    pub fn new(store: Arc<Store>, runs: Arc<Runs>, accounts: Arc<Accounts>, simulated: bool) -> Self {
        Self { store, runs, accounts, simulated }
    }

    /// Compares the runs that have ended, and starts those that are due. The maintenance thread calls this about once a
    /// second. Failures are logged: the next call tries again.
    pub fn run_due_tasks(&self) {
        for done in [self.close_ended(), self.start_due()] {
            if let Err(refusal) = done {
                log!(refusal.log_level(), "cannot keep watches for now: {refusal}");
            }
        }
    }

    /// Starts the runs that are due, in batches and in the order in which they became due.
    fn start_due(&self) -> Result<(), Refusal> {
        type Due = (Timestamp, WatchId, Result<Watch, StorageError>);
        let due = |last: Option<&Due>| {
            self.store.due_watches(self.simulated, last.map(|(at, id, _)| (*at, *id)), BATCH)
        };
        let mut full = HashSet::new();
        items(BATCH, due).try_for_each(|due| {
            let (_, id, watch) = due?;
            let done = match watch {
                Ok(watch) if full.contains(&watch.account) => Ok(()),
                Ok(watch) => self.start(&watch, &mut full),
                Err(error) => Err(error.into()),
            };
            or_logged(id, done)
        })
    }

    /// Starts a run, unless another instance did, or it is tried again later. If the queue takes no further run of the account,
    /// the account is added to `full`.
    ///
    /// # Errors
    /// Returns why further ones cannot be started for now.
    fn start(&self, watch: &Watch, full: &mut HashSet<AccountId>) -> Result<(), Refusal> {
        if watch.premium && !self.runs.browsers.is_available() {
            return Ok(());
        }
        let Some(owner) = self.accounts.owner(watch.account)? else { return Ok(()) };
        if watch.premium && !owner.plan.premium {
            return self.pause(watch);
        }
        let charge = self.accounts.charge(&owner, watch.search().cost());
        let new = new_run(&self.runs, watch, Some(watch.next_at), charge, Origin::SYSTEM);
        let refusal = match self.runs.start_later(new) {
            Ok(StartResult::Started(run)) => {
                info!("run {}: started by the watch {}", run.id, watch.id);
                return Ok(());
            }
            Ok(StartResult::Repeated(_)) => return Ok(()),
            Err(refusal) => refusal,
        };
        match refusal.code {
            Code::InsufficientCredits => self.pause(watch),
            Code::Suppressed => Ok(self.store.skip_run(watch)?),
            Code::InvalidRequest => {
                warn!("watch {}: no run is started: {refusal}", watch.id);
                Ok(self.store.skip_run(watch)?)
            }
            Code::Overloaded => {
                full.insert(watch.account);
                Ok(())
            }
            _ if refusal.is_failure() => Err(refusal),
            // Another instance was faster, or the account is being deleted.
            _ => Ok(()),
        }
    }

    fn pause(&self, watch: &Watch) -> Result<(), Refusal> {
        if self.store.pause_unpaid(watch.id, watch.next_at)? {
            info!("watch {}: paused, because its account cannot pay for a run", watch.id);
        }
        Ok(())
    }

    /// Makes watches active again whose account has credits: in a new cycle, or after a change of its plan. The maintenance
    /// thread calls this every minute.
    pub fn resume_paid(&self) {
        if let Err(error) = self.try_to_resume() {
            log!(error.log_level(), "cannot resume watches for now: {error}");
        }
    }

    fn try_to_resume(&self) -> Result<(), StorageError> {
        let unpaid = |last: Option<&AccountId>| self.store.unpaid_accounts(last.copied(), BATCH);
        for account in items(BATCH, unpaid) {
            let account = account?;
            let Some(owner) = self.accounts.owner(account)? else { continue };
            let credits = self.accounts.balance(&owner)?.remaining().unwrap_or(u64::MAX);
            self.store.resume_paid(account, credits, owner.plan.premium)?;
        }
        Ok(())
    }

    /// Compares the runs that have ended with the baselines of their watches.
    fn close_ended(&self) -> Result<(), Refusal> {
        let ended = |last: Option<&EndedRun>| {
            self.store.ended_runs(self.simulated, last.map(|last| last.watch), BASELINES)
        };
        items(BASELINES, ended).try_for_each(|one| {
            let one = one?;
            or_logged(one.watch, self.close(&one).map_err(Refusal::from))
        })
    }

    fn close(&self, ended: &EndedRun) -> Result<(), StorageError> {
        let EndedRun { watch, run, .. } = ended;
        let shown = match self.compare(ended) {
            Err(error) if !error.is_unavailable() => {
                error!("watch {watch}: the run {run} cannot be read to be compared: {error}");
                Comparison::default()
            }
            compared => compared?,
        };
        let changes = shown.changes.len();
        if self.store.close_run(ended, &shown)? && changes > 0 {
            info!("watch {watch}: {changes} changes in the run {run}");
        }
        Ok(())
    }

    fn compare(&self, ended: &EndedRun) -> Result<Comparison, StorageError> {
        let nothing = Ok(Comparison::default());
        let Some(found) = self.store.run(ended.run, ended.account)? else { return nothing };
        let record = self.runs.record(found)?;
        let Some(run) = record.findings() else { return nothing };
        let catalog = self.runs.catalog();
        // A baseline that cannot be read is that of a watch without a run, so that the watch continues.
        let before = ended.baseline.as_ref().and_then(|text| serde_json::from_str(text).ok());
        let mut before: Baseline = before.unwrap_or_default();
        before.judge(|run| match self.store.run(run, ended.account)? {
            Some(_) => self.store.notes(run).map(Some),
            None => Ok(None),
        })?;
        match before.compare(&run, catalog.profiles()) {
            Ok((changes, baseline)) => {
                Ok(Comparison { changes, baseline: Some(json!(baseline).to_string()) })
            }
            Err(error) => {
                warn!("watch {}: the run {} is not compared: {error}", ended.watch, ended.run);
                nothing
            }
        }
    }
}

/// Logs what a watch failed with, so that the others go on, unless the store is unavailable to them, too.
fn or_logged(watch: WatchId, done: Result<(), Refusal>) -> Result<(), Refusal> {
    match done {
        Err(refusal) if refusal.code != Code::Unavailable => {
            error!("watch {watch}: cannot be kept for now: {refusal}");
            Ok(())
        }
        done => done,
    }
}

/// Returns a run of a watch that can be started. `due_at` is the moment at which it was due, or `None` on request of the
/// owner. On request it starts also if the watch is paused, and the moment of the next run stays. If the last run has not
/// ended or was not compared yet, that is returned as [`StartResult::Repeated`].
pub fn new_run(
    runs: &Runs,
    watch: &Watch,
    due_at: Option<Timestamp>,
    charge: Charge,
    origin: Origin,
) -> NewRun {
    let premium = watch.premium && watch.search_type == SearchType::Username;
    let (search, cause) = (Search { premium, ..watch.search() }, WatchStart { watch: watch.id, due_at });
    runs.new_run(watch.account, search, Cause::Watch(cause), charge, origin)
}
