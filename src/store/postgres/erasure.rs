//! `Retention::sweep`, and what removes an account: what leaves the database for good.
//!
//! An account is closed in one short transaction, which tells everyone, and removed in as many more as it takes: one
//! long transaction would let all drivers of its runs wait for it, each with a connection of the pool.

use jiff::Timestamp;
use uuid::Uuid;

use super::audit::note;
use super::error::storage;
use super::session::{Values, Work};
use super::{Database, at, herald};
use crate::account::account::BEING_DELETED;
use crate::account::audit::{Action, Deed, Origin};
use crate::account::ledger::{Erased, Erasure};
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::runs::news::News;
use crate::runs::retention::{BATCH, BatchSize, Retention, Swept};
use crate::store::retention::{first_batch, swept};
use crate::store::row::{limit, number};

/// Rows are locked in the order of their ids, as by everyone who locks several.
const ERASE_KEYS: &str = "DELETE FROM api_keys WHERE id IN \
     (SELECT id FROM api_keys WHERE account = $1 ORDER BY id FOR UPDATE)";
const ERASE_REQUESTS: &str = "DELETE FROM idempotency_keys WHERE account = $1";
/// How its owner signs in.
const ERASE_SIGN_IN: [&str; 3] = [
    "DELETE FROM web_sessions WHERE account = $1",
    "DELETE FROM set_up_links WHERE account = $1",
    "DELETE FROM passwords WHERE account = $1",
];

const LIVE_RUNS: &str = "SELECT id FROM runs WHERE account = $1 AND status = 'running'";
/// What others just write to or remove is passed over, not waited for: it comes with a later part.
const SOME_LIVE_RUNS: &str = "SELECT id, total_results FROM runs \
     WHERE account = $1 AND status = 'running' ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED";
const SOME_RUNS: &str = "SELECT id, total_results FROM runs \
     WHERE account = $1 ORDER BY created_at DESC, id DESC LIMIT $2 FOR UPDATE SKIP LOCKED";

/// Held to the end of a batch: one instance removes old runs at a time.
const TURN: &str = "SELECT pg_try_advisory_xact_lock(1397507139, hashtext(current_schema()))";
/// A run that is just being deleted is passed over, not waited for.
const OLD_RUNS: &str = "SELECT id, total_results FROM runs \
     WHERE completed_at < $1 AND status <> 'running' ORDER BY completed_at LIMIT $2 FOR UPDATE SKIP LOCKED";

impl Database {
    pub(super) fn close(
        &self,
        id: AccountId,
        moment: Timestamp,
        by: &Origin,
    ) -> Result<Option<Erased>, StorageError> {
        self.write(|work| {
            // Whoever is just starting a run or adding a key is not waited for: see `erase_rest`.
            let rows = work.query("SELECT plan FROM accounts WHERE id = $1 FOR NO KEY UPDATE", &[&id.0])?;
            let Some(row) = rows.first() else { return Ok(None) };
            let runs = count_runs(work, id)?;
            if row.try_get::<_, &str>(0).map_err(storage)? == BEING_DELETED {
                return Ok(Some(Erased { keys: 0, runs }));
            }
            work.execute("UPDATE accounts SET plan = $2 WHERE id = $1", &[&id.0, &BEING_DELETED])?;
            work.execute(ERASE_REQUESTS, &[&id.0])?;
            erase_sign_in(work, id)?;
            let keys = work.execute(ERASE_KEYS, &[&id.0])?;
            let deed = Deed::of_account(Action::AccountDeleted, id).with("keys", keys).with("runs", runs);
            note(work, &deed, moment, by)?;
            for row in work.query(LIVE_RUNS, &[&id.0])? {
                herald::announce(work, News::Deleted(RunId(row.try_get(0).map_err(storage)?)))?;
            }
            herald::announce(work, News::Access)?;
            Ok(Some(Erased { keys, runs }))
        })
    }

    pub(super) fn erase_part(&self, id: AccountId) -> Result<Erasure, StorageError> {
        self.write(|work| {
            let closed = "SELECT 1 FROM accounts WHERE id = $1 AND plan = $2";
            if work.query(closed, &[&id.0, &BEING_DELETED])?.is_empty() {
                return Ok(Erasure::Done);
            }
            let mut runs = batch(work, SOME_LIVE_RUNS, &[&id.0, &limit(BATCH.runs)], BATCH)?;
            for run in &runs {
                // Whoever began to follow it since the account was closed looks again.
                herald::announce(work, News::Deleted(RunId(*run)))?;
            }
            if runs.is_empty() {
                runs = batch(work, SOME_RUNS, &[&id.0, &limit(BATCH.runs)], BATCH)?;
            }
            if remove_runs(work, &runs)? > 0 { Ok(Erasure::More) } else { erase_rest(work, id) }
        })
    }

    pub(super) fn closed(&self) -> Result<Vec<AccountId>, StorageError> {
        let rows = self
            .session()?
            .query("SELECT id FROM accounts WHERE plan = $1 ORDER BY id", &[&BEING_DELETED])?;
        rows.iter().map(|row| row.try_get(0).map(AccountId).map_err(storage)).collect()
    }
}

fn count_runs(work: &mut Work<'_>, id: AccountId) -> Result<u64, StorageError> {
    let rows = work.query("SELECT count(*) FROM runs WHERE account = $1", &[&id.0])?;
    rows.first().map_or(Ok(0), |row| number(row.try_get(0).map_err(storage)?))
}

fn erase_sign_in(work: &mut Work<'_>, id: AccountId) -> Result<(), StorageError> {
    ERASE_SIGN_IN.iter().try_for_each(|sql| work.execute(sql, &[&id.0]).map(|_| ()))
}

/// The account itself, unless there are runs of it still.
fn erase_rest(work: &mut Work<'_>, id: AccountId) -> Result<Erasure, StorageError> {
    // Waits for those who began to start a run or to add a key before the account was closed.
    work.query("SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE", &[&id.0])?;
    if count_runs(work, id)? > 0 {
        return Ok(Erasure::More);
    }
    work.execute(ERASE_REQUESTS, &[&id.0])?;
    work.execute(ERASE_KEYS, &[&id.0])?;
    erase_sign_in(work, id)?;
    work.execute("DELETE FROM accounts WHERE id = $1", &[&id.0])?;
    herald::announce(work, News::Access)?;
    Ok(Erasure::Done)
}

impl Retention for Database {
    fn sweep(
        &self,
        ended_before: Timestamp,
        most: BatchSize,
        moment: Timestamp,
        by: &Origin,
    ) -> Result<Swept, StorageError> {
        self.write(|work| {
            if !is_our_turn(work)? {
                return Ok(Swept::Busy);
            }
            let old = batch(work, OLD_RUNS, &[&at(ended_before), &limit(most.runs)], most)?;
            let runs = remove_runs(work, &old)?;
            if runs > 0 {
                note(work, &swept(runs, ended_before), moment, by)?;
            }
            Ok(Swept::Runs(runs))
        })
    }

    fn wipe(&self) -> Result<bool, StorageError> {
        Ok(true)
    }
}

fn is_our_turn(work: &mut Work<'_>) -> Result<bool, StorageError> {
    work.query(TURN, &[])?.first().map_or(Ok(false), |row| row.try_get(0).map_err(storage))
}

/// The first of the runs that `sql` gives with the number of their results.
fn batch(
    work: &mut Work<'_>,
    sql: &'static str,
    values: Values<'_>,
    most: BatchSize,
) -> Result<Vec<Uuid>, StorageError> {
    let rows = work.query(sql, values)?;
    let read = |row: &postgres::Row| Ok((row.try_get(0)?, row.try_get(1)?));
    let rows = rows.iter().map(read).collect::<Result<Vec<(Uuid, i64)>, _>>().map_err(storage)?;
    first_batch(&rows, most)
}

fn remove_runs(work: &mut Work<'_>, runs: &[Uuid]) -> Result<u64, StorageError> {
    if runs.is_empty() {
        return Ok(0);
    }
    work.execute("DELETE FROM idempotency_keys WHERE run = ANY ($1)", &[&runs])?;
    work.execute("DELETE FROM runs WHERE id = ANY ($1)", &[&runs])
}
