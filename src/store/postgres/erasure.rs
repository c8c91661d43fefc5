//! `Ledger::erase_account` and `Retention::sweep`: what leaves the database for good.

use jiff::Timestamp;
use uuid::Uuid;

use super::audit::note;
use super::error::storage;
use super::session::Work;
use super::{Database, at, herald};
use crate::account::audit::{Action, Deed, Origin};
use crate::account::ledger::Erased;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::runs::news::News;
use crate::runs::retention::{BatchSize, Retention, Swept};
use crate::store::limits::LONG_WORK;
use crate::store::retention::{first_batch, swept};
use crate::store::row::limit;

/// Rows are locked in the order of their ids, as by everyone who locks several.
const ERASE_KEYS: &str = "DELETE FROM api_keys WHERE id IN \
     (SELECT id FROM api_keys WHERE account = $1 ORDER BY id FOR UPDATE)";
const ERASE_RUNS: &str =
    "DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE account = $1 ORDER BY id FOR UPDATE)";

const LIVE_RUNS: &str = "SELECT id FROM runs WHERE account = $1 AND status = 'running'";

/// Held to the end of a batch: one instance removes old runs at a time.
const TURN: &str = "SELECT pg_try_advisory_xact_lock(1397507139, hashtext(current_schema()))";
/// A run that is just being deleted is passed over, not waited for.
const OLD_RUNS: &str = "SELECT id, total_results FROM runs \
     WHERE completed_at < $1 AND status <> 'running' ORDER BY completed_at LIMIT $2 FOR UPDATE SKIP LOCKED";

impl Database {
    pub(super) fn erase(
        &self,
        id: AccountId,
        moment: Timestamp,
        by: &Origin,
    ) -> Result<Option<Erased>, StorageError> {
        self.write(|work| {
            for setting in LONG_WORK {
                work.execute(setting, &[])?;
            }
            // Whoever is about to start a run or add a key for it waits for the end, and finds no account.
            if work.query("SELECT 1 FROM accounts WHERE id = $1 FOR UPDATE", &[&id.0])?.is_empty() {
                return Ok(None);
            }
            // Nothing is started for it from here on; what ends by itself meanwhile is told of in vain.
            for row in work.query(LIVE_RUNS, &[&id.0])? {
                herald::announce(work, News::Deleted(RunId(row.try_get(0).map_err(storage)?)))?;
            }
            let runs = work.execute(ERASE_RUNS, &[&id.0])?;
            work.execute("DELETE FROM idempotency_keys WHERE account = $1", &[&id.0])?;
            let keys = work.execute(ERASE_KEYS, &[&id.0])?;
            work.execute("DELETE FROM accounts WHERE id = $1", &[&id.0])?;
            let deed = Deed::of_account(Action::AccountDeleted, id).with("keys", keys).with("runs", runs);
            note(work, &deed, moment, by)?;
            herald::announce(work, News::Access)?;
            Ok(Some(Erased { keys, runs }))
        })
    }
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
            let old = old_runs(work, ended_before, most)?;
            let runs = remove_runs(work, &old)?;
            if runs > 0 {
                note(work, &swept(runs, ended_before), moment, by)?;
            }
            Ok(Swept::Runs(runs))
        })
    }
}

fn is_our_turn(work: &mut Work<'_>) -> Result<bool, StorageError> {
    work.query(TURN, &[])?.first().map_or(Ok(false), |row| row.try_get(0).map_err(storage))
}

fn old_runs(
    work: &mut Work<'_>,
    ended_before: Timestamp,
    most: BatchSize,
) -> Result<Vec<Uuid>, StorageError> {
    let rows = work.query(OLD_RUNS, &[&at(ended_before), &limit(most.runs)])?;
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
