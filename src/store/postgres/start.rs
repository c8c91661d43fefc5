//! `Journal::start` and what undoes its charge.

use jiff::Timestamp;
use postgres::Row;
use uuid::Uuid;

use super::audit::note;
use super::error::storage;
use super::session::Work;
use super::{Database, at};
use crate::account::account::BEING_DELETED;
use crate::account::credits::Charge;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::runs::journal::{Idempotency, NewRun, Started};
use crate::runs::run::{Coverage, Progress};
use crate::store::audit::started;
use crate::store::document::{encode, plain};
use crate::store::row::{bigint, number};

/// A run's cost is added to what its cycle has used, unless that would pass the cap; a row comes back if
/// it was. Two of these for one cycle wait for each other on its row.
const CHARGE: &str = "INSERT INTO credit_usage AS known (account, cycle_start, used) \
     SELECT $1::uuid, $2::timestamptz, $3::bigint WHERE $4::bigint IS NULL OR $3 <= $4 \
     ON CONFLICT (account, cycle_start) DO UPDATE SET used = known.used + excluded.used \
     WHERE $4::bigint IS NULL OR known.used + excluded.used <= $4 \
     RETURNING used";

/// What a key that is still valid stands for.
const REQUEST: &str = "SELECT run, body_hash FROM idempotency_keys \
     WHERE account = $1 AND key = $2 AND created_at >= $3";

/// Ten ids that vanish one after the other between two statements: something else is wrong.
const TRIES: usize = 10;

impl Database {
    pub(super) fn start_run(&self, run: &NewRun, charge: &Charge) -> Result<Started, StorageError> {
        let mut session = self.session()?;
        let mut work = session.begin()?;
        let outcome = begin(&mut work, run, charge)?;
        if outcome == Started::Created {
            work.commit()?;
        } else {
            work.roll_back()?;
        }
        Ok(outcome)
    }

    pub(super) fn request_of(
        &self,
        account: AccountId,
        idempotency: &Idempotency,
    ) -> Result<Option<Started>, StorageError> {
        let (key, since) = (plain(&idempotency.key), at(idempotency.valid_since));
        let rows = self.session()?.query(REQUEST, &[&account.0, &key, &since])?;
        rows.first().map(|row| request_of(row, idempotency)).transpose()
    }
}

fn begin(work: &mut Work<'_>, run: &NewRun, charge: &Charge) -> Result<Started, StorageError> {
    // Its deletion waits for this transaction, or this one for its deletion.
    let known = "SELECT 1 FROM accounts WHERE id = $1 AND plan <> $2 FOR KEY SHARE";
    if work.query(known, &[&run.account.0, &BEING_DELETED])?.is_empty() {
        return Ok(Started::UnknownAccount);
    }
    if let Some(idempotency) = &run.idempotency
        && let Some(known) = note_request(work, run, idempotency)?
    {
        return Ok(known);
    }
    if !book(work, run, charge)? {
        return Ok(Started::InsufficientCredits { used: used(work, run, charge)? });
    }
    insert(work, run, charge)?;
    note(work, &started(run, charge), run.created_at, &run.origin)?;
    Ok(Started::Created)
}

/// Notes the key, or says what it stands for. Whoever comes second waits here for the first one's end.
fn note_request(
    work: &mut Work<'_>,
    run: &NewRun,
    idempotency: &Idempotency,
) -> Result<Option<Started>, StorageError> {
    let key = plain(&idempotency.key);
    work.execute(
        "DELETE FROM idempotency_keys WHERE account = $1 AND key = $2 AND created_at < $3",
        &[&run.account.0, &key, &at(idempotency.valid_since)],
    )?;
    for _ in 0..TRIES {
        let noted = work.execute(
            "INSERT INTO idempotency_keys (account, key, body_hash, run, created_at) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (account, key) DO NOTHING",
            &[&run.account.0, &key, &idempotency.body_hash.as_slice(), &run.id.0, &at(run.created_at)],
        )?;
        if noted == 1 {
            return Ok(None);
        }
        let known = work.query(REQUEST, &[&run.account.0, &key, &at(idempotency.valid_since)])?;
        // No row: its run was deleted between the two statements, and the key is free.
        if let Some(row) = known.first() {
            return request_of(row, idempotency).map(Some);
        }
    }
    Err(StorageError::unavailable("an idempotency key is noted and forgotten again and again"))
}

/// A row of [`REQUEST`].
fn request_of(row: &Row, idempotency: &Idempotency) -> Result<Started, StorageError> {
    let id: Uuid = row.try_get(0).map_err(storage)?;
    let body_hash: &[u8] = row.try_get(1).map_err(storage)?;
    let same = body_hash == idempotency.body_hash;
    Ok(if same { Started::Repeated(RunId(id)) } else { Started::Mismatch })
}

fn book(work: &mut Work<'_>, run: &NewRun, charge: &Charge) -> Result<bool, StorageError> {
    // A cap that SQL cannot count to is no cap.
    let allowed = charge.allowed.map(|allowed| i64::try_from(allowed).unwrap_or(i64::MAX));
    let values: [&(dyn postgres::types::ToSql + Sync); 4] =
        [&run.account.0, &at(charge.cycle.start), &bigint(charge.credits)?, &allowed];
    Ok(!work.query(CHARGE, &values)?.is_empty())
}

fn used(work: &mut Work<'_>, run: &NewRun, charge: &Charge) -> Result<u64, StorageError> {
    let rows = work.query(
        "SELECT used FROM credit_usage WHERE account = $1 AND cycle_start = $2",
        &[&run.account.0, &at(charge.cycle.start)],
    )?;
    rows.first().map_or(Ok(0), |row| number(row.try_get(0).map_err(storage)?))
}

fn insert(work: &mut Work<'_>, run: &NewRun, charge: &Charge) -> Result<(), StorageError> {
    let credits = bigint(charge.credits)?;
    let progress = Progress { modules_total: number(bigint(run.modules.len())?)?, ..Progress::default() };
    work.execute(
        "INSERT INTO runs (id, account, status, search_type, premium, simulated, credits_charged, created_at, owner, \
         lease_until, query, progress, coverage, planned, reports) \
         VALUES ($1, $2, 'running', $3, $4, $5, $6, $7, $8, now() + make_interval(secs => $9), $10, \
         $11::text::json, $12::text::json, $13::text::json, '[]')",
        &[
            &run.id.0,
            &run.account.0,
            &run.search_type.as_str(),
            &run.premium,
            &run.simulated,
            &credits,
            &at(run.created_at),
            &run.owner.0,
            &run.holds.as_secs_f64(),
            &plain(&run.query),
            &encode(&progress)?,
            &encode(&Coverage::default())?,
            &encode(&run.modules)?,
        ],
    )?;
    work.execute(
        "INSERT INTO charges (run, kind, account, cycle_start, credits, at) \
         VALUES ($1, 'charge', $2, $3, $4, $5)",
        &[&run.id.0, &run.account.0, &at(charge.cycle.start), &credits, &at(run.created_at)],
    )?;
    Ok(())
}

/// Gives a run's credits back to the cycle that paid. The ledger takes one refund a run.
pub(super) fn refund(work: &mut Work<'_>, run: RunId, moment: Timestamp) -> Result<(), StorageError> {
    let refunded = work.execute(
        "INSERT INTO charges (run, kind, account, cycle_start, credits, at) \
         SELECT run, 'refund', account, cycle_start, credits, $2 FROM charges \
         WHERE run = $1 AND kind = 'charge' ON CONFLICT (run, kind) DO NOTHING",
        &[&run.0, &at(moment)],
    )?;
    if refunded == 0 {
        return Ok(());
    }
    work.execute(
        "UPDATE credit_usage u SET used = u.used - c.credits FROM charges c \
         WHERE c.run = $1 AND c.kind = 'refund' AND u.account = c.account AND u.cycle_start = c.cycle_start",
        &[&run.0],
    )?;
    work.execute("UPDATE runs SET credits_charged = 0 WHERE id = $1", &[&run.0])?;
    Ok(())
}
