//! `Retention::sweep`, and what removes an account: what leaves the database for good.
//!
//! SQLite has one writer at a time, and everyone waits for it: an account is closed in one short transaction and removed
//! in as many more as it takes.

use jiff::Timestamp;
use log::warn;
use rusqlite::{OptionalExtension, Transaction, params};
use uuid::Uuid;

use super::audit::note;
use super::error::storage;
use super::{At, Database, Durability};
use crate::account::account::BEING_DELETED;
use crate::account::audit::{Action, Deed, Origin};
use crate::account::ledger::{Erased, Erasure};
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::runs::retention::{BATCH, BatchSize, Retention, Swept};
use crate::store::retention::{first_batch, swept};
use crate::store::row::{limit, number};

const OLD_RUNS: &str = "SELECT id, total_results FROM runs \
     WHERE completed_at < ?1 AND status <> 'running' ORDER BY completed_at LIMIT ?2";

const ERASE_KEYS: &str = "DELETE FROM api_keys WHERE account = ?1";
const ERASE_REQUESTS: &str = "DELETE FROM idempotency_keys WHERE account = ?1";
/// How its owner signs in.
const ERASE_SIGN_IN: [&str; 3] = [
    "DELETE FROM web_sessions WHERE account = ?1",
    "DELETE FROM set_up_links WHERE account = ?1",
    "DELETE FROM passwords WHERE account = ?1",
];

const SOME_LIVE_RUNS: &str = "SELECT id, total_results FROM runs \
     WHERE account = ?1 AND status = 'running' ORDER BY id LIMIT ?2";
const SOME_RUNS: &str = "SELECT id, total_results FROM runs \
     WHERE account = ?1 ORDER BY created_at DESC, id DESC LIMIT ?2";

impl Database {
    pub(super) fn close(
        &self,
        id: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Erased>, StorageError> {
        self.write(Durability::Full, |tx| {
            let plan: Option<String> = tx
                .query_row("SELECT plan FROM accounts WHERE id = ?1", [id.0], |row| row.get(0))
                .optional()
                .map_err(storage)?;
            let Some(plan) = plan else { return Ok(None) };
            let runs: i64 = tx
                .query_row("SELECT count(*) FROM runs WHERE account = ?1", [id.0], |row| row.get(0))
                .map_err(storage)?;
            let runs = number(runs)?;
            if plan == BEING_DELETED {
                return Ok(Some(Erased { keys: 0, runs }));
            }
            tx.execute("UPDATE accounts SET plan = ?2 WHERE id = ?1", params![id.0, BEING_DELETED])
                .map_err(storage)?;
            remove(tx, ERASE_REQUESTS, id)?;
            erase_sign_in(tx, id)?;
            let keys = remove(tx, ERASE_KEYS, id)?;
            let deed = Deed::of_account(Action::AccountDeleted, id).with("keys", keys).with("runs", runs);
            note(tx, &deed, at, by)?;
            Ok(Some(Erased { keys, runs }))
        })
    }

    pub(super) fn erase_part(&self, id: AccountId) -> Result<Erasure, StorageError> {
        let removed = self.noting_removal(self.write(Durability::Process, |tx| {
            if !is_closed(tx, id)? {
                return Ok(0);
            }
            let mut runs = batch(tx, SOME_LIVE_RUNS, params![id.0, limit(BATCH.runs)], BATCH)?;
            if runs.is_empty() {
                runs = batch(tx, SOME_RUNS, params![id.0, limit(BATCH.runs)], BATCH)?;
            }
            remove_runs(tx, &runs)
        }))?;
        if removed > 0 {
            return Ok(Erasure::More);
        }
        let accounts = self.noting_removal(self.write(Durability::Full, |tx| {
            if !is_closed(tx, id)? {
                return Ok(0);
            }
            // A command of an earlier version may have added some since.
            remove(tx, ERASE_REQUESTS, id)?;
            remove(tx, ERASE_KEYS, id)?;
            erase_sign_in(tx, id)?;
            remove(tx, "DELETE FROM accounts WHERE id = ?1", id)
        }))?;
        if accounts > 0 && self.lock.is_none() {
            self.wipe_by_command();
        }
        Ok(Erasure::Done)
    }

    pub(super) fn closed(&self) -> Result<Vec<AccountId>, StorageError> {
        let reader = self.reader()?;
        let mut statement =
            reader.prepare_cached("SELECT id FROM accounts WHERE plan = ?1 ORDER BY id").map_err(storage)?;
        let rows = statement.query_map([BEING_DELETED], |row| row.get(0).map(AccountId)).map_err(storage)?;
        rows.collect::<rusqlite::Result<_>>().map_err(storage)
    }

    /// A server's housekeeper comes round once a second; a command has nobody after it.
    fn wipe_by_command(&self) {
        match self.wipe_log_now() {
            Ok(true) => {}
            Ok(false) => warn!("the database's log was not emptied: somebody reads it; it is soon"),
            Err(error) => warn!("the database's log was not emptied: {error}"),
        }
    }
}

impl Retention for Database {
    fn sweep(
        &self,
        ended_before: Timestamp,
        most: BatchSize,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Swept, StorageError> {
        // Looked at first without the turn to write: most of the time there is nothing to do.
        let old = |connection: &rusqlite::Connection| {
            batch(connection, OLD_RUNS, params![At(ended_before), limit(most.runs)], most)
        };
        if old(&*self.reader()?)?.is_empty() {
            return Ok(Swept::Runs(0));
        }
        self.noting_removal(self.write(Durability::Process, |tx| {
            let runs = remove_runs(tx, &old(tx)?)?;
            if runs > 0 {
                note(tx, &swept(runs, ended_before), at, by)?;
            }
            Ok(Swept::Runs(runs))
        }))
    }

    fn wipe(&self) -> Result<bool, StorageError> {
        self.wipe_log()
    }
}

fn is_closed(tx: &Transaction<'_>, id: AccountId) -> Result<bool, StorageError> {
    tx.prepare_cached("SELECT 1 FROM accounts WHERE id = ?1 AND plan = ?2")
        .and_then(|mut statement| statement.exists(params![id.0, BEING_DELETED]))
        .map_err(storage)
}

fn erase_sign_in(tx: &Transaction<'_>, id: AccountId) -> Result<(), StorageError> {
    ERASE_SIGN_IN.iter().try_for_each(|sql| remove(tx, sql, id).map(|_| ()))
}

fn remove(tx: &Transaction<'_>, sql: &str, id: AccountId) -> Result<u64, StorageError> {
    tx.execute(sql, [id.0]).map(|rows| rows as u64).map_err(storage)
}

/// The first of the runs that `sql` gives with the number of their results.
fn batch(
    connection: &rusqlite::Connection,
    sql: &str,
    values: impl rusqlite::Params,
    most: BatchSize,
) -> Result<Vec<Uuid>, StorageError> {
    let mut statement = connection.prepare_cached(sql).map_err(storage)?;
    let rows = statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?))).map_err(storage)?;
    let rows: Vec<(Uuid, i64)> = rows.collect::<rusqlite::Result<_>>().map_err(storage)?;
    first_batch(&rows, most)
}

fn remove_runs(tx: &Transaction<'_>, runs: &[Uuid]) -> Result<u64, StorageError> {
    let mut keys = tx.prepare_cached("DELETE FROM idempotency_keys WHERE run = ?1").map_err(storage)?;
    let mut rows = tx.prepare_cached("DELETE FROM runs WHERE id = ?1").map_err(storage)?;
    let mut removed = 0;
    for run in runs {
        keys.execute([run]).map_err(storage)?;
        removed += rows.execute([run]).map_err(storage)? as u64;
    }
    Ok(removed)
}
