//! Runs, results and charges.

use jiff::Timestamp;
use uuid::Uuid;

use super::audit::note;
use super::error::storage;
use super::read::{CHANGES, RESULTS, result, summary, text};
use super::session::Work;
use super::start::refund;
use super::{Database, at};
use crate::account::audit::{Action, Deed, Origin};
use crate::account::credits::Charge;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::modules::query::SearchType;
use crate::runs::health::Tallies;
use crate::runs::journal::{
    Batch, Changes, Checkpoint, Ending, Idempotency, InstanceId, Journal, ListFilter, NewRun, Resumable,
    Started, Write,
};
use crate::runs::run::{ModuleReport, ResultRecord, RunSummary, Status};
use crate::store::document::{decode, decode_reports, encode, encode_reports, unreadable};
use crate::store::row::{RUN_COLUMNS, bounds, limit, run_columns};

const RUN: &str = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = $1 AND account = $2");
const LIST: &str = concat!(
    "SELECT ",
    run_columns!(),
    " FROM runs WHERE account = $1 AND (created_at, id) < ($2, $3) \
     AND ($4::text IS NULL OR search_type = $4) AND ($5::text IS NULL OR status = $5) \
     ORDER BY created_at DESC, id DESC LIMIT $6"
);
/// A run that another instance is just taking is passed over, not waited for.
const TAKE_OVER: &str = concat!(
    "WITH due AS (SELECT id AS due_id FROM runs WHERE status = 'running' \
         AND (owner IS NULL OR lease_until <= $2) AND simulated = $5 \
         ORDER BY created_at, id LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED), \
     taken AS (UPDATE runs SET owner = $1, lease_until = $3 FROM due WHERE id = due_id RETURNING runs.*) \
     SELECT ",
    run_columns!(),
    ", planned::text, reports::text FROM taken AS runs ORDER BY created_at, id"
);
/// What every write of a driver is bound to; `$1` is the run, `$2` the driver.
macro_rules! driven {
    () => {
        "id = $1 AND owner = $2 AND status = 'running'"
    };
}
pub(super) use driven;

impl Journal for Database {
    fn start(&self, run: &NewRun, charge: &Charge) -> Result<Started, StorageError> {
        self.start_run(run, charge)
    }

    fn known_request(
        &self,
        account: AccountId,
        idempotency: &Idempotency,
    ) -> Result<Option<Started>, StorageError> {
        self.request_of(account, idempotency)
    }

    fn add_results(&self, run: RunId, owner: InstanceId, batch: &Batch) -> Result<Write, StorageError> {
        self.write_results(run, owner, batch)
    }

    fn checkpoint(
        &self,
        run: RunId,
        owner: InstanceId,
        checkpoint: &Checkpoint,
        lease_until: Timestamp,
    ) -> Result<Write, StorageError> {
        let rows = self.session()?.execute(
            concat!(
                "UPDATE runs SET progress = $3::text::json, coverage = $4::text::json, \
                 reports = $5::text::json, lease_until = $6 WHERE ",
                driven!()
            ),
            &[
                &run.0,
                &owner.0,
                &encode(&checkpoint.progress)?,
                &encode(&checkpoint.coverage)?,
                &encode_reports(&checkpoint.modules)?,
                &at(lease_until),
            ],
        )?;
        Ok(taken(rows))
    }

    fn finish(
        &self,
        run: RunId,
        owner: InstanceId,
        checkpoint: &Checkpoint,
        ending: &Ending,
    ) -> Result<Write, StorageError> {
        if !ending.status.is_terminal() {
            return Err(StorageError::broken("a run cannot end in the status running"));
        }
        self.write(|work| {
            let ended = work.execute(
                concat!(
                    "UPDATE runs SET status = $3, progress = $4::text::json, coverage = $5::text::json, \
                     reports = $6::text::json, error = $7::text::json, completed_at = $8, owner = NULL, \
                     lease_until = NULL WHERE ",
                    driven!()
                ),
                &[
                    &run.0,
                    &owner.0,
                    &ending.status.as_str(),
                    &encode(&checkpoint.progress)?,
                    &encode(&checkpoint.coverage)?,
                    &encode_reports(&checkpoint.modules)?,
                    &ending.error.as_ref().map(encode).transpose()?,
                    &at(ending.completed_at),
                ],
            )?;
            if ended == 1 && ending.status == Status::Failed {
                refund(work, run, ending.completed_at)?;
            }
            Ok(taken(ended))
        })
    }

    fn release(&self, owner: InstanceId, now: Timestamp) -> Result<(), StorageError> {
        let sql = "UPDATE runs SET owner = NULL, lease_until = $2 WHERE status = 'running' AND owner = $1";
        self.session()?.execute(sql, &[&owner.0, &at(now)]).map(|_| ())
    }

    fn take_over(
        &self,
        owner: InstanceId,
        simulated: bool,
        now: Timestamp,
        lease_until: Timestamp,
        count: usize,
    ) -> Result<Vec<Resumable>, StorageError> {
        self.write(|work| {
            let rows =
                work.query(TAKE_OVER, &[&owner.0, &at(now), &at(lease_until), &limit(count), &simulated])?;
            let mut taken = Vec::new();
            for row in &rows {
                match resumable(work, row) {
                    Ok(run) => taken.push(run),
                    Err(error) if error.is_unavailable() => return Err(error),
                    Err(error) => end_unreadable(work, row, now, &error)?,
                }
            }
            Ok(taken)
        })
    }

    fn run(&self, id: RunId, account: AccountId) -> Result<Option<RunSummary>, StorageError> {
        self.session()?.query(RUN, &[&id.0, &account.0])?.first().map(summary).transpose()
    }

    fn results(&self, id: RunId, after: u32, count: usize) -> Result<Vec<ResultRecord>, StorageError> {
        let rows = self.session()?.query(RESULTS, &[&id.0, &i64::from(after), &limit(count)])?;
        rows.iter().map(result).collect()
    }

    fn changes(&self, id: RunId, changes: Changes, count: usize) -> Result<Vec<ResultRecord>, StorageError> {
        let (since, known, until) = bounds(changes)?;
        let after = i64::from(changes.after);
        let rows = self.session()?.query(CHANGES, &[&id.0, &after, &since, &known, &until, &limit(count)])?;
        rows.iter().map(result).collect()
    }

    fn modules(&self, id: RunId) -> Result<Vec<ModuleReport>, StorageError> {
        let rows = self.session()?.query("SELECT reports::text FROM runs WHERE id = $1", &[&id.0])?;
        rows.first().map_or(Ok(Vec::new()), |row| decode_reports(text(row, 0)?))
    }

    fn list(
        &self,
        account: AccountId,
        filter: &ListFilter,
        count: usize,
    ) -> Result<Vec<RunSummary>, StorageError> {
        let (before, id) = filter.before.unwrap_or((Timestamp::MAX, RunId(Uuid::max())));
        let search_type = filter.search_type.map(SearchType::as_str);
        let status = filter.status.map(Status::as_str);
        let rows = self
            .session()?
            .query(LIST, &[&account.0, &at(before), &id.0, &search_type, &status, &limit(count)])?;
        rows.iter().map(summary).collect()
    }

    fn delete(
        &self,
        id: RunId,
        account: AccountId,
        moment: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(|work| {
            // The row itself goes, and its results with it; the ledger stays.
            let sql = "DELETE FROM runs WHERE id = $1 AND account = $2";
            let deleted = work.execute(sql, &[&id.0, &account.0])?;
            if deleted == 1 {
                work.execute("DELETE FROM idempotency_keys WHERE run = $1", &[&id.0])?;
                note(work, &Deed::of_object(Action::RunDeleted, account, id), moment, by)?;
            }
            Ok(deleted == 1)
        })
    }

    fn share_health(&self, simulated: bool, learnt: &Tallies) -> Result<Tallies, StorageError> {
        self.add_health(simulated, learnt)
    }

    fn forget_idempotency(&self, before: Timestamp) -> Result<(), StorageError> {
        // Every instance does this: what another one is just deleting is passed over, not waited for.
        self.session()?
            .execute(
                "DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(SELECT ctid \
                 FROM idempotency_keys WHERE created_at < $1 FOR UPDATE SKIP LOCKED))",
                &[&at(before)],
            )
            .map(|_| ())
    }
}

fn taken(rows: u64) -> Write {
    if rows == 1 { Write::Done } else { Write::LeaseLost }
}

fn resumable(work: &mut Work<'_>, row: &postgres::Row) -> Result<Resumable, StorageError> {
    let id: Uuid = row.try_get(0).map_err(storage)?;
    let results = work.query(RESULTS, &[&id, &0i64, &i64::MAX])?;
    Ok(Resumable {
        summary: summary(row)?,
        modules: decode(text(row, RUN_COLUMNS)?)?,
        done: decode_reports(text(row, RUN_COLUMNS + 1)?)?,
        results: results.iter().map(result).collect::<Result<_, _>>()?,
    })
}

/// A run that cannot be read can never go on, and must not keep the others from it: it fails.
fn end_unreadable(
    work: &mut Work<'_>,
    row: &postgres::Row,
    now: Timestamp,
    error: &StorageError,
) -> Result<(), StorageError> {
    let run = RunId(row.try_get(0).map_err(storage)?);
    log::error!("run {run} cannot be resumed and is ended as failed: {error}");
    work.execute(
        "UPDATE runs SET status = 'failed', error = $2::text::json, completed_at = $3, owner = NULL, \
         lease_until = NULL WHERE id = $1",
        &[&run.0, &encode(&unreadable())?, &at(now)],
    )?;
    refund(work, run, now)
}
