//! Runs, results and charges.

use std::sync::Weak;
use std::time::Duration;

use jiff::Timestamp;
use postgres::types::ToSql;
use uuid::Uuid;

use super::audit::note;
use super::error::storage;
use super::read::{CHANGES, RESULTS, result, summary, text};
use super::session::{Values, Work};
use super::start::refund;
use super::{Database, at, herald};
use crate::account::account::BEING_DELETED;
use crate::account::audit::{Action, Deed, Origin};
use crate::account::credits::Charge;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::modules::query::SearchType;
use crate::runs::health::Tallies;
use crate::runs::journal::{
    Batch, Changes, Checkpoint, Claim, Ending, Idempotency, InstanceId, Journal, Lease, ListFilter, NewRun,
    Resumable, Started, Write,
};
use crate::runs::news::{Ear, News};
use crate::runs::run::{ModuleReport, ResultRecord, RunSummary, Status};
use crate::store::document::{decode, decode_reports, encode, encode_reports, unreadable};
use crate::store::row::{RUN_COLUMNS, bigint, bounds, limit, number, run_columns};

const RUN: &str = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = $1 AND account = $2");

/// One text for each set of filters: each has an index that leads to what it shows, and to nothing else. (With both
/// filters one of the two does, and what the other one leaves out is passed over.)
macro_rules! list {
    ($filters:literal) => {
        concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs WHERE account = $1 AND (created_at, id) < ($2, $3)",
            $filters,
            " ORDER BY created_at DESC, id DESC LIMIT $4"
        )
    };
}
/// No index leads to a part of a query: the account's runs are passed one by one.
const LIST_WITH_TEXT: &str = list!(
    " AND ($5::text IS NULL OR search_type = $5) AND ($6::text IS NULL OR status = $6) \
     AND strpos(lower(query), lower($7)) > 0"
);
/// A run that another instance is just taking is passed over, not waited for. One whose account is being deleted goes
/// with it.
const TAKE_OVER: &str = concat!(
    "WITH due AS (SELECT id AS due_id FROM runs WHERE status = 'running' \
         AND (owner IS NULL OR lease_until <= now()) AND simulated = $2 AND id <> ALL ($3) \
         AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = runs.account AND a.plan = $6) \
         ORDER BY created_at, id LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED), \
     taken AS (UPDATE runs SET owner = $1, epoch = epoch + 1, lease_until = now() + make_interval(secs => $5) \
         FROM due WHERE id = due_id RETURNING runs.*) \
     SELECT ",
    run_columns!(),
    ", planned::text, reports::text, epoch FROM taken AS runs ORDER BY created_at, id"
);
/// Gives the runs whose lease could not be renewed. Rows are locked in the order of their ids, as by everyone who locks
/// several.
const RENEW: &str = "WITH held AS (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS h(id, owner, epoch)), \
     locked AS (SELECT r.id FROM runs r JOIN held h ON r.id = h.id AND r.owner = h.owner AND r.epoch = h.epoch \
         WHERE r.status = 'running' ORDER BY r.id FOR NO KEY UPDATE OF r), \
     renewed AS (UPDATE runs r SET lease_until = now() + make_interval(secs => $4) FROM locked l \
         WHERE r.id = l.id RETURNING r.id) \
     SELECT id FROM held WHERE id NOT IN (SELECT id FROM renewed)";
const RELEASE: &str = "UPDATE runs SET owner = NULL, lease_until = NULL WHERE id IN \
     (SELECT id FROM runs WHERE status = 'running' AND owner = $1 ORDER BY id FOR NO KEY UPDATE)";
/// What every write of a driver is bound to; `$1` is the run, `$2` and `$3` its lease.
macro_rules! driven {
    () => {
        "id = $1 AND owner = $2 AND epoch = $3 AND status = 'running'"
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

    fn add_results(&self, run: RunId, lease: Lease, batch: &Batch) -> Result<Write, StorageError> {
        self.write_results(run, lease, batch).inspect(|write| self.tell(run, lease, *write))
    }

    fn checkpoint(
        &self,
        run: RunId,
        lease: Lease,
        checkpoint: &Checkpoint,
        holds: Duration,
    ) -> Result<Write, StorageError> {
        let rows = self.session()?.execute(
            concat!(
                "UPDATE runs SET progress = $4::text::json, coverage = $5::text::json, \
                 reports = $6::text::json, lease_until = now() + make_interval(secs => $7) WHERE ",
                driven!()
            ),
            &[
                &run.0,
                &lease.owner.0,
                &bigint(lease.epoch)?,
                &encode(&checkpoint.progress)?,
                &encode(&checkpoint.coverage)?,
                &encode_reports(&checkpoint.modules)?,
                &holds.as_secs_f64(),
            ],
        )?;
        self.tell(run, lease, taken(rows));
        Ok(taken(rows))
    }

    fn renew(&self, leases: &[(RunId, Lease)], holds: Duration) -> Result<Vec<RunId>, StorageError> {
        let runs: Vec<Uuid> = leases.iter().map(|(run, _)| run.0).collect();
        let owners: Vec<Uuid> = leases.iter().map(|(_, lease)| lease.owner.0).collect();
        let epochs: Vec<i64> =
            leases.iter().map(|(_, lease)| bigint(lease.epoch)).collect::<Result<_, _>>()?;
        let lost = self.session()?.change(RENEW, &[&runs, &owners, &epochs, &holds.as_secs_f64()])?;
        lost.iter().map(|row| row.try_get(0).map(RunId).map_err(storage)).collect()
    }

    fn finish(
        &self,
        run: RunId,
        lease: Lease,
        checkpoint: &Checkpoint,
        ending: &Ending,
    ) -> Result<Write, StorageError> {
        if !ending.status.is_terminal() {
            return Err(StorageError::broken("a run cannot end in the status running"));
        }
        let write = self.write(|work| {
            let ended = work.execute(
                concat!(
                    "UPDATE runs SET status = $4, progress = $5::text::json, coverage = $6::text::json, \
                     reports = $7::text::json, planned = '[]', error = $8::text::json, completed_at = $9, owner = NULL, \
                     lease_until = NULL WHERE ",
                    driven!()
                ),
                &[
                    &run.0,
                    &lease.owner.0,
                    &bigint(lease.epoch)?,
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
        })?;
        self.tell(run, lease, write);
        Ok(write)
    }

    fn release(&self, owner: InstanceId) -> Result<(), StorageError> {
        self.write(|work| {
            if work.execute(RELEASE, &[&owner.0])? > 0 {
                herald::announce(work, News::Released)?;
            }
            Ok(())
        })
    }

    fn take_over(&self, claim: &Claim<'_>) -> Result<Vec<Resumable>, StorageError> {
        let except: Vec<Uuid> = claim.except.iter().map(|run| run.0).collect();
        let (limit, holds) = (limit(claim.limit), claim.holds.as_secs_f64());
        let taken = self.write(|work| {
            let values: Values<'_> =
                &[&claim.owner.0, &claim.simulated, &except, &limit, &holds, &BEING_DELETED];
            let rows = work.query(TAKE_OVER, values)?;
            let mut taken = Vec::new();
            for row in &rows {
                match resumable(work, row, claim.owner) {
                    Ok(run) => taken.push(run),
                    Err(error) if error.is_unavailable() => return Err(error),
                    Err(error) => end_unreadable(work, row, &error)?,
                }
            }
            Ok(taken)
        })?;
        // Whoever drove them before, and only stood still, hears that they are no longer its own.
        taken.iter().for_each(|run| self.tell(run.summary.id, run.lease, Write::Done));
        Ok(taken)
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
        let (before, count) = (at(before), limit(count));
        if let Some(text) = &filter.text {
            let values: [&(dyn ToSql + Sync); 7] =
                [&account.0, &before, &id.0, &count, &search_type, &status, text];
            return self.session()?.query(LIST_WITH_TEXT, &values)?.iter().map(summary).collect();
        }
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![&account.0, &before, &id.0, &count];
        values.extend(search_type.iter().chain(&status).map(|value| value as &(dyn ToSql + Sync)));
        let sql = match (search_type, status) {
            (None, None) => list!(""),
            (Some(_), None) => list!(" AND search_type = $5"),
            (None, Some(_)) => list!(" AND status = $5"),
            (Some(_), Some(_)) => list!(" AND search_type = $5 AND status = $6"),
        };
        let rows = self.session()?.query(sql, &values)?;
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
                herald::announce(work, News::Deleted(id))?;
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

    fn listen(&self, ear: Weak<dyn Ear>) -> Result<bool, StorageError> {
        self.start_listening(ear)?;
        self.herald.start(self.pool.clone())?;
        Ok(true)
    }
}

impl Database {
    /// Lets the other instances know, soon, of a write that was taken.
    fn tell(&self, run: RunId, lease: Lease, write: Write) {
        if write == Write::Done {
            self.herald.tell(run, lease.epoch);
        }
    }
}

fn taken(rows: u64) -> Write {
    if rows == 1 { Write::Done } else { Write::LeaseLost }
}

fn resumable(work: &mut Work<'_>, row: &postgres::Row, owner: InstanceId) -> Result<Resumable, StorageError> {
    let id: Uuid = row.try_get(0).map_err(storage)?;
    let results = work.query(RESULTS, &[&id, &0i64, &i64::MAX])?;
    Ok(Resumable {
        lease: owner.lease(number(row.try_get(RUN_COLUMNS + 2).map_err(storage)?)?),
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
    error: &StorageError,
) -> Result<(), StorageError> {
    let run = RunId(row.try_get(0).map_err(storage)?);
    log::error!("run {run} cannot be resumed and is ended as failed: {error}");
    let ended = work.query(
        "UPDATE runs SET status = 'failed', error = $2::text::json, \
         completed_at = date_trunc('milliseconds', now()), owner = NULL, lease_until = NULL \
         WHERE id = $1 RETURNING completed_at",
        &[&run.0, &encode(&unreadable())?],
    )?;
    match ended.first() {
        Some(row) => refund(work, run, row.try_get(0).map_err(storage)?),
        None => Ok(()),
    }
}
