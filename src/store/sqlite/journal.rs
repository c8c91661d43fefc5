//! Runs, results and charges.

use std::sync::Weak;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Transaction, params};
use uuid::Uuid;

use super::audit::note;
use super::error::storage;
use super::start::refund;
use super::{At, Database, Durability, read};
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
use crate::runs::news::Ear;
use crate::runs::run::{ModuleReport, ResultRecord, RunSummary, Status};
use crate::store::document::{encode, encode_reports, unreadable};
use crate::store::row::{bigint, limit, millis, number, run_columns};

const RUN: &str = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = ?1 AND account = ?2");
const RUN_OF_ANYONE: &str = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = ?1");

/// One text for each set of filters: each has an index that leads to what it shows, and to nothing else. (With both
/// filters the one of the status does, and what is of another type is passed over.)
macro_rules! list {
    ($filters:literal) => {
        concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs WHERE account = ?1 AND (created_at, id) < (?2, ?3)",
            $filters,
            " ORDER BY created_at DESC, id DESC LIMIT ?4"
        )
    };
}

/// No index leads to a part of a query: the account's runs are passed one by one.
const LIST_WITH_TEXT: &str = list!(
    " AND (?5 IS NULL OR +search_type = ?5) AND (?6 IS NULL OR +status = ?6) \
     AND instr(lower_case(query), lower_case(?7)) > 0"
);

/// What every write of a driver is bound to; `?1` is the run, `?2` and `?3` its lease.
macro_rules! driven {
    () => {
        "id = ?1 AND owner = ?2 AND epoch = ?3 AND status = 'running'"
    };
}
pub(super) use driven;

/// The present moment, as [`At`] keeps it. Leases are dated by it on PostgreSQL too: by the database's clock.
macro_rules! now {
    () => {
        "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
    };
}

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
        self.write_results(run, lease, batch)
    }

    fn checkpoint(
        &self,
        run: RunId,
        lease: Lease,
        checkpoint: &Checkpoint,
        holds: Duration,
    ) -> Result<Write, StorageError> {
        let (progress, coverage) = (encode(&checkpoint.progress)?, encode(&checkpoint.coverage)?);
        let reports = encode_reports(&checkpoint.modules)?;
        let (owner, epoch) = (lease.owner.0, bigint(lease.epoch)?);
        self.write(Durability::Process, |tx| {
            tx.prepare_cached(concat!(
                "UPDATE runs SET progress = ?4, coverage = ?5, reports = ?6, lease_until = ",
                now!(),
                " + ?7 WHERE ",
                driven!()
            ))
            .and_then(|mut statement| {
                statement.execute(params![run.0, owner, epoch, progress, coverage, reports, millis(holds)])
            })
            .map(taken)
            .map_err(storage)
        })
    }

    fn renew(&self, leases: &[(RunId, Lease)], holds: Duration) -> Result<Vec<RunId>, StorageError> {
        self.write(Durability::Process, |tx| {
            let mut statement = tx
                .prepare_cached(concat!("UPDATE runs SET lease_until = ", now!(), " + ?4 WHERE ", driven!()))
                .map_err(storage)?;
            let mut lost = Vec::new();
            for (run, lease) in leases {
                let values = params![run.0, lease.owner.0, bigint(lease.epoch)?, millis(holds)];
                if statement.execute(values).map_err(storage)? == 0 {
                    lost.push(*run);
                }
            }
            Ok(lost)
        })
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
        let (progress, coverage) = (encode(&checkpoint.progress)?, encode(&checkpoint.coverage)?);
        let reports = encode_reports(&checkpoint.modules)?;
        let error = ending.error.as_ref().map(encode).transpose()?;
        let (owner, epoch) = (lease.owner.0, bigint(lease.epoch)?);
        self.write(Durability::Full, |tx| {
            let ended = tx
                .prepare_cached(concat!(
                    "UPDATE runs SET status = ?4, progress = ?5, coverage = ?6, reports = ?7, planned = '[]', error = ?8, \
                     completed_at = ?9, owner = NULL, lease_until = NULL WHERE ",
                    driven!()
                ))
                .and_then(|mut statement| {
                    let (status, at) = (ending.status.as_str(), At(ending.completed_at));
                    let documents = (progress, coverage, reports, error);
                    statement.execute(params![
                        run.0,
                        owner,
                        epoch,
                        status,
                        documents.0,
                        documents.1,
                        documents.2,
                        documents.3,
                        at
                    ])
                })
                .map_err(storage)?;
            if ended == 1 && ending.status == Status::Failed {
                refund(tx, run, At(ending.completed_at))?;
            }
            Ok(taken(ended))
        })
    }

    fn release(&self, owner: InstanceId) -> Result<(), StorageError> {
        self.write(Durability::Full, |tx| {
            tx.execute(
                "UPDATE runs SET owner = NULL, lease_until = NULL WHERE status = 'running' AND owner = ?1",
                [owner.0],
            )
            .map(|_| ())
            .map_err(storage)
        })
    }

    fn take_over(&self, claim: &Claim<'_>) -> Result<Vec<Resumable>, StorageError> {
        self.write(Durability::Full, |tx| {
            let mut taken = Vec::new();
            for run in due(tx, claim)? {
                let lease = take(tx, run, claim)?;
                match resumable(tx, run, lease) {
                    Ok(run) => taken.push(run),
                    Err(error) if error.is_unavailable() => return Err(error),
                    Err(error) => end_unreadable(tx, run, &error)?,
                }
            }
            Ok(taken)
        })
    }

    fn run(&self, id: RunId, account: AccountId) -> Result<Option<RunSummary>, StorageError> {
        Ok(read::runs(&*self.reader()?, RUN, &[&id.0, &account.0])?.pop())
    }

    fn results(&self, id: RunId, after: u32, limit: usize) -> Result<Vec<ResultRecord>, StorageError> {
        read::results(&*self.reader()?, id, after, limit)
    }

    fn changes(&self, id: RunId, changes: Changes, limit: usize) -> Result<Vec<ResultRecord>, StorageError> {
        read::changes(&*self.reader()?, id, changes, limit)
    }

    fn modules(&self, id: RunId) -> Result<Vec<ModuleReport>, StorageError> {
        read::reports(&*self.reader()?, id)
    }

    fn list(
        &self,
        account: AccountId,
        filter: &ListFilter,
        count: usize,
    ) -> Result<Vec<RunSummary>, StorageError> {
        let (at, id) = filter.before.unwrap_or((Timestamp::MAX, RunId(Uuid::max())));
        let search_type = filter.search_type.map(SearchType::as_str);
        let status = filter.status.map(Status::as_str);
        let (at, count) = (At(at), limit(count));
        if let Some(text) = &filter.text {
            let values: [&dyn rusqlite::ToSql; 7] =
                [&account.0, &at, &id.0, &count, &search_type, &status, text];
            return read::runs(&*self.reader()?, LIST_WITH_TEXT, &values);
        }
        let mut values: Vec<&dyn rusqlite::ToSql> = vec![&account.0, &at, &id.0, &count];
        values.extend(search_type.iter().chain(&status).map(|value| value as &dyn rusqlite::ToSql));
        let sql = match (search_type, status) {
            (None, None) => list!(""),
            (Some(_), None) => list!(" AND search_type = ?5"),
            (None, Some(_)) => list!(" AND status = ?5"),
            (Some(_), Some(_)) => list!(" AND +search_type = ?5 AND status = ?6"),
        };
        read::runs(&*self.reader()?, sql, &values)
    }

    fn delete(
        &self,
        id: RunId,
        account: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.noting_removal(self.write(Durability::Full, |tx| {
            // The row itself goes, and its results with it; the ledger stays.
            let deleted = tx
                .execute("DELETE FROM runs WHERE id = ?1 AND account = ?2", params![id.0, account.0])
                .map_err(storage)?;
            if deleted == 1 {
                tx.execute("DELETE FROM idempotency_keys WHERE run = ?1", [id.0]).map_err(storage)?;
                note(tx, &Deed::of_object(Action::RunDeleted, account, id), at, by)?;
            }
            Ok(deleted == 1)
        }))
    }

    fn share_health(&self, simulated: bool, learnt: &Tallies) -> Result<Tallies, StorageError> {
        self.add_health(simulated, learnt)
    }

    fn forget_idempotency(&self, before: Timestamp) -> Result<(), StorageError> {
        self.write(Durability::Process, |tx| {
            tx.execute("DELETE FROM idempotency_keys WHERE created_at < ?1", [At(before)])
                .map(|_| ())
                .map_err(storage)
        })
    }

    fn listen(&self, _ear: Weak<dyn Ear>) -> Result<bool, StorageError> {
        Ok(false)
    }
}

fn taken(rows: usize) -> Write {
    if rows == 1 { Write::Done } else { Write::LeaseLost }
}

/// Running runs that nobody drives, oldest first. One whose account is being deleted goes with it.
fn due(tx: &Transaction<'_>, claim: &Claim<'_>) -> Result<Vec<RunId>, StorageError> {
    let mut statement = tx
        .prepare_cached(concat!(
            "SELECT id FROM runs WHERE status = 'running' AND (owner IS NULL OR lease_until <= ",
            now!(),
            ") AND simulated = ?1 AND account NOT IN (SELECT id FROM accounts WHERE plan = ?2) \
             ORDER BY created_at, id"
        ))
        .map_err(storage)?;
    let values = params![claim.simulated, BEING_DELETED];
    let rows = statement.query_map(values, |row| row.get(0).map(RunId)).map_err(storage)?;
    let others = rows.filter(|run| run.as_ref().map_or(true, |run| !claim.except.contains(run)));
    others.take(claim.limit).collect::<rusqlite::Result<_>>().map_err(storage)
}

fn take(tx: &Transaction<'_>, run: RunId, claim: &Claim<'_>) -> Result<Lease, StorageError> {
    let epoch: i64 = tx
        .prepare_cached(concat!(
            "UPDATE runs SET owner = ?2, epoch = epoch + 1, lease_until = ",
            now!(),
            " + ?3 WHERE id = ?1 RETURNING epoch"
        ))
        .and_then(|mut statement| {
            statement.query_row(params![run.0, claim.owner.0, millis(claim.holds)], |row| row.get(0))
        })
        .map_err(storage)?;
    Ok(claim.owner.lease(number(epoch)?))
}

fn resumable(tx: &Transaction<'_>, run: RunId, lease: Lease) -> Result<Resumable, StorageError> {
    let summary = read::runs(tx, RUN_OF_ANYONE, &[&run.0])?
        .pop()
        .ok_or_else(|| StorageError::broken("a run vanished inside a transaction"))?;
    Ok(Resumable {
        lease,
        summary,
        modules: read::planned(tx, run)?,
        done: read::reports(tx, run)?,
        results: read::results(tx, run, 0, usize::MAX)?,
    })
}

/// A run that cannot be read can never go on, and must not keep the others from it: it fails.
fn end_unreadable(tx: &Transaction<'_>, run: RunId, error: &StorageError) -> Result<(), StorageError> {
    log::error!("run {run} cannot be resumed and is ended as failed: {error}");
    let ended_at = tx
        .query_row(
            concat!(
                "UPDATE runs SET status = 'failed', error = ?2, completed_at = ",
                now!(),
                ", owner = NULL, lease_until = NULL WHERE id = ?1 RETURNING completed_at"
            ),
            params![run.0, encode(&unreadable())?],
            |row| row.get(0),
        )
        .map_err(storage)?;
    refund(tx, run, ended_at)
}
