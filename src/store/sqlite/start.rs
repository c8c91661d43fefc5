//! `Journal::start` and what undoes its charge.

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use uuid::Uuid;

use super::audit::note;
use super::error::storage;
use super::{At, Database, Durability};
use crate::account::account::BEING_DELETED;
use crate::account::credits::Charge;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::runs::journal::{Idempotency, NewRun, Started};
use crate::runs::run::{Coverage, Progress};
use crate::store::audit::started;
use crate::store::document::{encode, plain};
use crate::store::row::{bigint, millis, number};

/// A run's cost is added to what its cycle has used, unless that would pass the cap; a row comes back if
/// it was.
const CHARGE: &str = "INSERT INTO credit_usage (account, cycle_start, used) \
     SELECT ?1, ?2, ?3 WHERE ?4 IS NULL OR ?3 <= ?4 \
     ON CONFLICT (account, cycle_start) DO UPDATE SET used = used + excluded.used \
     WHERE ?4 IS NULL OR used + excluded.used <= ?4 \
     RETURNING used";

impl Database {
    pub(super) fn start_run(&self, run: &NewRun, charge: &Charge) -> Result<Started, StorageError> {
        // The write lock is held from here on: what is read stays true until the commit.
        self.write(Durability::Full, |tx| {
            let known = "SELECT 1 FROM accounts WHERE id = ?1 AND plan <> ?2";
            let is_known = tx
                .prepare_cached(known)
                .and_then(|mut statement| statement.exists(params![run.account.0, BEING_DELETED]));
            if !is_known.map_err(storage)? {
                return Ok(Started::UnknownAccount);
            }
            if let Some(idempotency) = &run.idempotency
                && let Some(known) = known_request(tx, run, idempotency)?
            {
                return Ok(known);
            }
            if !book(tx, run, charge)? {
                return Ok(Started::InsufficientCredits { used: used(tx, run, charge)? });
            }
            insert(tx, run, charge)?;
            note(tx, &started(run, charge), run.created_at, &run.origin)?;
            Ok(Started::Created)
        })
    }

    pub(super) fn request_of(
        &self,
        account: AccountId,
        idempotency: &Idempotency,
    ) -> Result<Option<Started>, StorageError> {
        request_of(&*self.reader()?, account, idempotency)
    }
}

fn known_request(
    tx: &Transaction<'_>,
    run: &NewRun,
    idempotency: &Idempotency,
) -> Result<Option<Started>, StorageError> {
    let key = plain(&idempotency.key);
    tx.prepare_cached("DELETE FROM idempotency_keys WHERE account = ?1 AND key = ?2 AND created_at < ?3")
        .and_then(|mut statement| statement.execute(params![run.account.0, key, At(idempotency.valid_since)]))
        .map_err(storage)?;
    request_of(tx, run.account, idempotency)
}

fn request_of(
    connection: &Connection,
    account: AccountId,
    idempotency: &Idempotency,
) -> Result<Option<Started>, StorageError> {
    let sql =
        "SELECT run, body_hash FROM idempotency_keys WHERE account = ?1 AND key = ?2 AND created_at >= ?3";
    let values = params![account.0, plain(&idempotency.key), At(idempotency.valid_since)];
    let known: Option<(Uuid, [u8; 32])> = connection
        .prepare_cached(sql)
        .and_then(|mut statement| {
            statement.query_row(values, |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(storage)?;
    Ok(known.map(|(id, body_hash)| {
        if body_hash == idempotency.body_hash { Started::Repeated(RunId(id)) } else { Started::Mismatch }
    }))
}

fn book(tx: &Transaction<'_>, run: &NewRun, charge: &Charge) -> Result<bool, StorageError> {
    let credits = bigint(charge.credits)?;
    // A cap that SQL cannot count to is no cap.
    let allowed = charge.allowed.map(|allowed| i64::try_from(allowed).unwrap_or(i64::MAX));
    tx.prepare_cached(CHARGE)
        .and_then(|mut statement| {
            statement
                .query_row(params![run.account.0, At(charge.cycle.start), credits, allowed], |_| Ok(()))
                .optional()
        })
        .map(|booked| booked.is_some())
        .map_err(storage)
}

fn used(tx: &Transaction<'_>, run: &NewRun, charge: &Charge) -> Result<u64, StorageError> {
    let used: Option<i64> = tx
        .query_row(
            "SELECT used FROM credit_usage WHERE account = ?1 AND cycle_start = ?2",
            params![run.account.0, At(charge.cycle.start)],
            |row| row.get(0),
        )
        .optional()
        .map_err(storage)?;
    used.map_or(Ok(0), number)
}

fn insert(tx: &Transaction<'_>, run: &NewRun, charge: &Charge) -> Result<(), StorageError> {
    let credits = bigint(charge.credits)?;
    let progress = Progress { modules_total: number(bigint(run.modules.len())?)?, ..Progress::default() };
    let execute = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
        tx.prepare_cached(sql).and_then(|mut statement| statement.execute(values)).map_err(storage)
    };
    execute(
        "INSERT INTO runs (id, account, status, search_type, premium, simulated, credits_charged, created_at, owner, \
         lease_until, query, progress, coverage, planned, reports) \
         VALUES (?1, ?2, 'running', ?3, ?4, ?5, ?6, ?7, ?8, CAST(unixepoch('subsec') * 1000 AS INTEGER) + ?9, \
         ?10, ?11, ?12, ?13, '[]')",
        &[
            &run.id.0,
            &run.account.0,
            &run.search_type.as_str(),
            &run.premium,
            &run.simulated,
            &credits,
            &At(run.created_at),
            &run.owner.0,
            &millis(run.holds),
            &plain(&run.query),
            &encode(&progress)?,
            &encode(&Coverage::default())?,
            &encode(&run.modules)?,
        ],
    )?;
    execute(
        "INSERT INTO charges (run, kind, account, cycle_start, credits, at) \
         VALUES (?1, 'charge', ?2, ?3, ?4, ?5)",
        &[&run.id.0, &run.account.0, &At(charge.cycle.start), &credits, &At(run.created_at)],
    )?;
    if let Some(idempotency) = &run.idempotency {
        execute(
            "INSERT INTO idempotency_keys (account, key, body_hash, run, created_at) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
            &[
                &run.account.0,
                &plain(&idempotency.key),
                &idempotency.body_hash,
                &run.id.0,
                &At(run.created_at),
            ],
        )?;
    }
    Ok(())
}

/// Gives a run's credits back to the cycle that paid. The ledger takes one refund a run.
pub(super) fn refund(tx: &Transaction<'_>, run: RunId, at: At) -> Result<(), StorageError> {
    let refunded = tx
        .execute(
            "INSERT INTO charges (run, kind, account, cycle_start, credits, at) \
             SELECT run, 'refund', account, cycle_start, credits, ?2 FROM charges \
             WHERE run = ?1 AND kind = 'charge' ON CONFLICT (run, kind) DO NOTHING",
            params![run.0, at],
        )
        .map_err(storage)?;
    if refunded == 0 {
        return Ok(());
    }
    tx.execute(
        "UPDATE credit_usage SET used = used - charges.credits FROM charges \
         WHERE charges.run = ?1 AND charges.kind = 'refund' \
         AND credit_usage.account = charges.account AND credit_usage.cycle_start = charges.cycle_start",
        [run.0],
    )
    .map_err(storage)?;
    tx.execute("UPDATE runs SET credits_charged = 0 WHERE id = ?1", [run.0]).map_err(storage)?;
    Ok(())
}
