//! `Ledger::erase_account` and `Retention::sweep`: what leaves the database for good.

use jiff::Timestamp;
use log::warn;
use rusqlite::{Transaction, params};
use uuid::Uuid;

use super::audit::note;
use super::error::storage;
use super::{At, Database, Durability};
use crate::account::audit::{Action, Deed, Origin};
use crate::account::ledger::Erased;
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::runs::retention::{BatchSize, Retention, Swept};
use crate::store::retention::{first_batch, swept};
use crate::store::row::limit;

const OLD_RUNS: &str = "SELECT id, total_results FROM runs \
     WHERE completed_at < ?1 AND status <> 'running' ORDER BY completed_at LIMIT ?2";

impl Database {
    pub(super) fn erase(
        &self,
        id: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Erased>, StorageError> {
        let erased = self.write(Durability::Full, |tx| {
            let remove = |sql: &str| tx.execute(sql, [id.0]).map(|rows| rows as u64).map_err(storage);
            let keys = remove("DELETE FROM api_keys WHERE account = ?1")?;
            remove("DELETE FROM idempotency_keys WHERE account = ?1")?;
            let runs = remove("DELETE FROM runs WHERE account = ?1")?;
            if remove("DELETE FROM accounts WHERE id = ?1")? == 0 {
                return Ok(None);
            }
            let deed = Deed::of_account(Action::AccountDeleted, id).with("keys", keys).with("runs", runs);
            note(tx, &deed, at, by)?;
            Ok(Some(Erased { keys, runs }))
        })?;
        if erased.is_some() {
            self.empty_log();
        }
        Ok(erased)
    }

    /// What was removed still stands in the log of writes until it is written over. Where a reader is in
    /// the way, the next checkpoint does it.
    fn empty_log(&self) {
        let emptied =
            self.writer.lock().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        match emptied {
            Ok(0) => {}
            Ok(_) => warn!("the database's log was not emptied: somebody reads it; it is soon"),
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
        if old_runs(&*self.reader()?, ended_before, most)?.is_empty() {
            return Ok(Swept::Runs(0));
        }
        self.write(Durability::Process, |tx| {
            let old = old_runs(tx, ended_before, most)?;
            let runs = remove_runs(tx, &old)?;
            if runs > 0 {
                note(tx, &swept(runs, ended_before), at, by)?;
            }
            Ok(Swept::Runs(runs))
        })
    }
}

fn old_runs(
    connection: &rusqlite::Connection,
    ended_before: Timestamp,
    most: BatchSize,
) -> Result<Vec<Uuid>, StorageError> {
    let mut statement = connection.prepare_cached(OLD_RUNS).map_err(storage)?;
    let rows = statement
        .query_map(params![At(ended_before), limit(most.runs)], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(storage)?;
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
