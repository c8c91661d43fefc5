//! Batches: many searches that are accepted together. Each is an ordinary run, which is charged when it starts.
//!
//! A process starts a run of a batch only if it has a free driver and no other run waits for one. The accounts with
//! batches take turns. A row of a batch starts one run, even if several processes try or one of them is killed: the
//! row changes its state in the transaction that charges and creates the run.
//!
//! | file | holds |
//! |---|---|
//! | [`table`] | searches as CSV |
//! | [`draft`] | a list of searches that is checked before it becomes a batch |

pub mod draft;
pub mod table;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use log::{debug, error, info, log};
use serde::Serialize;
use utoipa::ToSchema;

use super::dispatcher::Slot;
use super::service::{Runs, StartResult};
use crate::base::ids::{AccountId, BatchId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::batch::{Batch, BatchRow, NewBatch, NextRow, RowRefusal};
use crate::model::credits::Charge;
use crate::model::page::cut;
use crate::model::refusal::{Code, Refusal};
use crate::model::run::ModuleReport;
use crate::model::search::Search;
use crate::model::start::{Cause, Idempotency, NewRun, Started};
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;

/// The maximum number of rows whose reports are read at once.
const REPORT_ROWS: usize = 50;
/// The time after which a batch whose account had not enough credits is tried again.
const CREDIT_PAUSE: Duration = Duration::from_secs(5);

/// Of the drivers of a process, runs of batches and those of their leads take at most one of this number, but at least one.
/// Few of them leave capacity for single searches at the hosts that all searches ask.
const DRIVER_SHARE: usize = 16;

/// A module that at least one search has asked: a column of the matrix.
#[derive(Debug, Serialize, ToSchema)]
pub struct MatrixColumn {
    /// Module id: see `GET /v1/modules`.
    #[schema(examples("github"))]
    pub module: String,
    /// Name of its platform.
    #[schema(examples("GitHub"))]
    pub platform: String,
    /// The number of searches with a hit.
    #[serde(skip)]
    pub hits: usize,
}

/// A query of the batch with its outcomes: a row of the matrix.
#[derive(Debug, Serialize, ToSchema)]
pub struct MatrixRow {
    /// Place of the search in the request, from 1.
    #[schema(minimum = 1)]
    pub row: u32,
    /// Type of the query.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Query as the caller sent it.
    #[schema(examples("octocat"))]
    pub query: String,
    /// `pending`, `running`, `completed`, `failed`, `refused` or `skipped`.
    #[schema(examples("completed"))]
    pub status: String,
    /// Run of the search; null if it was not started.
    #[schema(required)]
    pub run_id: Option<RunId>,
    /// An outcome for each column; null for a module that was not asked, or not yet.
    pub outcomes: Vec<Option<Outcome>>,
}

/// The queries of a batch by the platforms that were asked.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchMatrix {
    /// The columns: those with the most hits first, then by platform.
    pub columns: Vec<MatrixColumn>,
    /// The rows, in the order of the request.
    pub rows: Vec<MatrixRow>,
}

impl Runs {
    /// Creates a batch, whose searches then start one after the other. Returns its id, which that of another batch has
    /// if the request is repeated.
    ///
    /// # Errors
    /// Returns why it is refused.
    pub fn create_batch(
        &self,
        account: AccountId,
        name: Option<String>,
        rows: Vec<(u32, Search)>,
        idempotency: Option<Idempotency>,
        by: &Origin,
    ) -> Result<BatchId, Refusal> {
        let (id, simulated) = (BatchId::new(), self.config.simulated);
        let batch = NewBatch { id, account, name, simulated, rows, idempotency };
        let added = self.store.add_batch(&batch, by)?;
        self.wake();
        match added {
            Started::Created => Ok(id),
            Started::Repeated(RunId(earlier)) => Ok(BatchId(earlier)),
            Started::Refused(refusal) => Err(refusal),
        }
    }

    /// Returns at most `limit` batches of an account that are older than `before`, the newest first. Returns the last one if
    /// there are older ones, too.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn batches(
        &self,
        account: AccountId,
        before: Option<BatchId>,
        limit: usize,
    ) -> Result<(Vec<Batch>, Option<BatchId>), StorageError> {
        let store = &self.store;
        let place = match before.map(|id| store.batch(account, id)).transpose()? {
            None => None,
            Some(Some(batch)) => Some((batch.created_at, batch.id)),
            // There are none before one that is gone.
            Some(None) => return Ok((Vec::new(), None)),
        };
        let mut batches = store.batches(account, place, limit.saturating_add(1))?;
        let next = cut(&mut batches, limit).map(|last| last.id);
        Ok((batches, next))
    }

    /// Returns the outcomes by platform of at most `limit` searches of a batch with positions above `after`.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn matrix(&self, id: BatchId, after: u32, limit: usize) -> Result<BatchMatrix, StorageError> {
        let rows = self.store.batch_rows(id, after, limit)?;
        let (mut platforms, mut outcomes) = (BTreeMap::new(), HashMap::<_, HashMap<_, _>>::new());
        for some in rows.chunks(REPORT_ROWS) {
            for (run, reports) in self.store.batch_reports(id, some[0].position - 1, some.len())? {
                for ModuleReport { module, platform, status, .. } in reports {
                    outcomes.entry(run).or_default().insert(module.clone(), status);
                    platforms.entry(module).or_insert(platform);
                }
            }
        }
        let outcome = |row: &BatchRow, module: &String| {
            outcomes.get(&row.run?).and_then(|outcomes| outcomes.get(module)).copied()
        };
        let columns = platforms.into_iter().map(|(module, platform)| {
            let hits = rows.iter().filter(|row| outcome(row, &module) == Some(Outcome::Hit)).count();
            MatrixColumn { module, platform, hits }
        });
        let mut columns: Vec<MatrixColumn> = columns.collect();
        columns.sort_by_cached_key(|it| (Reverse(it.hits), it.platform.to_lowercase(), it.module.clone()));
        let rows = rows.iter().map(|row| MatrixRow {
            row: row.position,
            search_type: row.search_type,
            query: row.query.clone(),
            status: row.status.clone(),
            run_id: row.run,
            outcomes: columns.iter().map(|column| outcome(row, &column.module)).collect(),
        });
        Ok(BatchMatrix { rows: rows.collect(), columns })
    }

    /// Stops a batch: what has not begun is not searched. Returns `false` if the account has no such batch.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn stop_batch(&self, account: AccountId, id: BatchId, by: &Origin) -> Result<bool, StorageError> {
        let known = self.store.stop_batch(account, id, by)?;
        self.wake();
        Ok(known)
    }

    /// Ends the batches with nothing left to do, and starts rows as long as a driver is free for them. The maintenance
    /// thread calls this after free drivers have taken the runs that wait.
    pub fn feed_batches(self: &Arc<Self>) {
        if let Err(error) = self.try_to_feed() {
            log!(error.log_level(), "cannot continue the batches for now: {error}");
        }
    }

    /// Reserves a driver for a run of a batch, or of a lead of one, unless other runs wait or those of batches have their
    /// share. It is to be called with [`Runs::feeding`] locked, until the run is driven.
    fn reserve_for_batches(self: &Arc<Self>) -> Option<Slot> {
        let of_batches = self.driven().iter().filter(|run| run.opening.summary.is_of_batch()).count();
        let is_free =
            self.queue.lock().waiting == 0 && of_batches < (self.config.max_runs / DRIVER_SHARE).max(1);
        if is_free { self.reserve() } else { None }
    }

    /// Charges a search for a lead of a batch's run, and starts it if a driver is free for it: it does not wait in the queue.
    ///
    /// # Errors
    /// Returns why it is refused. If no driver is free, that is [`Code::Overloaded`].
    pub(super) fn start_of_batch(self: &Arc<Self>, new: NewRun) -> Result<StartResult, Refusal> {
        let _feeding = self.feeding.lock();
        let slot = self.reserve_for_batches().ok_or_else(|| Refusal::overloaded(5))?;
        self.begin(new, Some(slot))
    }

    fn try_to_feed(self: &Arc<Self>) -> Result<(), Refusal> {
        let simulated = self.config.simulated;
        for batch in self.store.end_batches(simulated)? {
            info!("batch {batch}: ended");
        }
        let (_feeding, mut held) = (self.feeding.lock(), Vec::new());
        while let Some(slot) = self.reserve_for_batches()
            && let Some(next) = self.store.next_row(simulated, &held)?
        {
            let batch = next.row.batch;
            match self.start_row(next, slot, &mut held) {
                Err(refusal) if refusal.code != Code::Unavailable => {
                    error!("batch {batch}: cannot continue for now: {refusal}");
                    held.push(batch);
                }
                Ok(false) => break,
                done => done.map(drop)?,
            }
        }
        Ok(())
    }

    /// Starts or refuses a row. Returns whether further rows can be started. A batch whose row waits for a browser is added to
    /// `held`: one that was started again, or another instance, has one later.
    fn start_row(
        self: &Arc<Self>,
        next: NextRow,
        slot: Slot,
        held: &mut Vec<BatchId>,
    ) -> Result<bool, Refusal> {
        let NextRow { row, account, search } = next;
        let refuse = |reason: RowRefusal| {
            debug!("batch {}: row {} is refused: {}", row.batch, row.position, reason.as_str());
            self.store.refuse_row(row, reason)?;
            Ok(true)
        };
        let Ok(search) = search else { return refuse(RowRefusal::Unreadable) };
        let Some((charge, has_premium)) = (self.charge_of)(account)? else {
            // The account is being deleted, or its plan is not configured.
            self.store.wait_for_credits(account, CREDIT_PAUSE)?;
            return Ok(true);
        };
        if search.premium && !has_premium {
            return refuse(RowRefusal::PlanRequired);
        }
        let charge = Charge { credits: search.cost(), ..charge };
        let new = self.new_run(account, search, Cause::Row(row), charge, Origin::SYSTEM);
        let Err(refusal) = self.begin(new, Some(slot)) else { return Ok(true) };
        match refusal.code {
            Code::InsufficientCredits => {
                self.store.wait_for_credits(account, CREDIT_PAUSE)?;
                Ok(true)
            }
            // An account that is being deleted has no batches a moment later. The others can be tried again then.
            Code::InvalidApiKey | Code::Overloaded => Ok(false),
            Code::InvalidRequest if refusal.fact("field") == "query" => refuse(RowRefusal::Unreadable),
            Code::InvalidRequest => refuse(RowRefusal::InvalidChoice),
            Code::Suppressed => refuse(RowRefusal::Suppressed),
            Code::PremiumUnavailable => {
                held.push(row.batch);
                Ok(true)
            }
            _ if refusal.is_failure() => Err(refusal),
            // Another process has started the row, or the batch was stopped.
            _ => Ok(true),
        }
    }
}
