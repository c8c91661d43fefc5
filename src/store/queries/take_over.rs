//! Taking over runs without a driver.

use std::collections::HashMap;

use super::credits::refund;
use super::fragments::{has_begun, ids, run_columns, waits};
use super::outbox::report_end;
use super::prelude::*;
use super::results::RESULTS;
use crate::model::account::BEING_DELETED;
use crate::model::drive::{Claim, Resumable};
use crate::model::follow::Lookup;
use crate::model::run::{ModuleReport, RunError, RunSummary};
use crate::store::value::{row, values};

/// Selects runs without a driver by a condition, in that order. A run that another instance is taking at the same time
/// is skipped. A run whose account is being deleted is deleted with it.
macro_rules! due {
    ($condition:expr, $order:literal) => {
        concat!(
            "SELECT id FROM runs WHERE simulated = ?1 AND ",
            $condition,
            " AND (CAST(?5 AS uuid) IS NULL OR id = ?5) AND id NOT IN ",
            ids!("?3"),
            " AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.id = runs.account AND a.plan = ?2) ORDER BY ",
            $order,
            " LIMIT ?4 /*pg FOR NO KEY UPDATE SKIP LOCKED */"
        )
    };
}
/// Selects interrupted runs. `?6` tells whether to include those with an expired lease.
const INTERRUPTED: &str =
    due!(concat!(has_begun!(), " AND (owner IS NULL OR ?6 AND lease_until <= now())"), "created_at, id");
const WAITING: &str = due!(concat!(waits!(), " AND NOT unconfirmed"), "turn, created_at, id");
/// What a run that was taken over has besides its summary.
struct Taken {
    epoch: u64,
    started_at: Timestamp,
    now: Timestamp,
    planned: Json<Vec<String>>,
    reports: Vec<ModuleReport>,
    lookups: Json<Vec<Lookup>>,
}

row! {
    taken_columns: Taken from "" { epoch, started_at, now = "now()", planned, reports = "(SELECT string_agg(reports, ',' ORDER BY first) FROM module_reports WHERE run = runs.id)",
        lookups }
}

/// Takes over the selected runs. A run that an earlier version has driven counts from its creation, because that
/// version stores no start.
const TAKE: &str = concat!(
    "UPDATE runs SET owner = ?2, lease_until = now() + ms(?3), turn = NULL, \
     epoch = epoch + CASE WHEN ",
    waits!(),
    " THEN 0 ELSE 1 END, \
     started_at = coalesce(started_at, CASE WHEN owner IS NULL THEN now() ELSE created_at END) \
     WHERE id IN ",
    ids!("?1"),
    " RETURNING id, unconfirmed, ",
    taken_columns!(),
    ", ",
    run_columns!()
);
/// Why a run was ended: its documents cannot be read, or its caller was refused.
const UNREADABLE: &str = "the stored data of this search can no longer be read";
pub(super) const NOT_CONFIRMED: &str = "the start of the search was not confirmed in time";

const END: &str = "UPDATE runs SET status = 'failed', error = ?2, revision = revision + 1, \
     completed_at = date_trunc('milliseconds', now()), owner = NULL, lease_until = NULL \
     WHERE id = ?1 RETURNING completed_at";

impl Store {
    /// Takes over running runs without a driver. Interrupted runs come first, each with a lease of the next epoch,
    /// then waiting ones in the order of their positions in the queue. Accounts alternate: first the oldest waiting run
    /// of each account, then the second of each.
    pub fn take_over(&self, claim: &Claim<'_>) -> Result<Vec<Resumable>> {
        let taken = self.write(background("take_over"), |tx| take_over(tx, claim))?;
        // An earlier driver that was only delayed detects that the run is no longer its own.
        taken.iter().for_each(|run| self.publish(run.summary.id, run.lease.epoch));
        Ok(taken)
    }
}

/// Takes over the runs that `claim` selects, in their order. Ends runs that cannot be read as failed.
fn take_over(tx: &mut Tx<'_>, claim: &Claim<'_>) -> Result<Vec<Resumable>> {
    let except = encode_ids(claim.except.iter().map(|run| run.0))?;
    let values = |most| values![claim.simulated, BEING_DELETED, &except, most, claim.only];
    let mut of_interrupted = values(claim.limit);
    of_interrupted.push(claim.expired.into());
    let mut due: Vec<RunId> = tx.all(INTERRUPTED, of_interrupted)?;
    if due.len() < claim.limit {
        due.extend(tx.all::<RunId>(WAITING, values(claim.limit - due.len()))?);
    }
    if due.is_empty() {
        return Ok(Vec::new());
    }
    let ids = encode_ids(due.iter().map(|run| run.0))?;
    let rows = tx.rows(TAKE, values![ids, claim.owner.0, claim.holds])?;
    // This is read by itself, because the documents of the run may be unreadable.
    let rows = rows.into_iter().map(|row| Ok((row.clone().read::<(RunId, bool)>()?, row)));
    let mut rows = rows
        .map(|row| row.map(|((run, is_unconfirmed), row)| (run, (is_unconfirmed, row))))
        .collect::<Result<HashMap<_, _>>>()?;
    let mut taken = Vec::new();
    for run in due {
        let Some((is_unconfirmed, row)) = rows.remove(&run) else { continue };
        if is_unconfirmed {
            log::info!("run {run}: ended, since its caller was refused");
            end_as_failed(tx, run, NOT_CONFIRMED)?;
            continue;
        }
        match resumable(tx, run, row, claim) {
            Ok(run) => taken.push(run),
            Err(error) if error.is_unavailable() => return Err(error),
            Err(error) => {
                log::error!("run {run} cannot be resumed and is ended as failed: {error}");
                end_as_failed(tx, run, UNREADABLE)?;
            }
        }
    }
    Ok(taken)
}

/// Reads a row of [`TAKE`], and the results of its run.
fn resumable(tx: &mut Tx<'_>, run: RunId, row: Row, claim: &Claim<'_>) -> Result<Resumable> {
    let results = tx.all(RESULTS, values![run, 0i64, i64::MAX])?;
    let (_, taken, summary) = row.read::<((RunId, bool), Taken, RunSummary)>()?;
    let lease = claim.owner.lease(taken.epoch);
    let ran_for = match lease.epoch {
        0 => Duration::ZERO,
        _ => taken.now.duration_since(taken.started_at).try_into().unwrap_or_default(),
    };
    Ok(Resumable {
        lease,
        ran_for,
        summary,
        modules: taken.planned.0,
        done: taken.reports,
        lookups: taken.lookups.0,
        results: results.into_iter().map(|Json(result)| result).collect(),
    })
}

/// Ends a run as failed that cannot be resumed, and refunds it.
pub(super) fn end_as_failed(tx: &mut Tx<'_>, run: RunId, why: &str) -> Result<()> {
    let error = RunError { code: "store_failed".into(), message: why.into() };
    let Some(at) = tx.first(END, values![run, encode(&error)?])? else { return Ok(()) };
    refund(tx, run, at)?;
    report_end(tx, run)
}
