//! Deleting accounts and old runs.
//!
//! An account is closed in one short transaction, and removed in as many further ones as necessary. One long
//! transaction would block all drivers of its runs, each with a connection of the pool (PostgreSQL), or every other
//! writer (SQLite).

use super::accounts::{SET_PLAN, locked_plan};
use super::*;
use crate::base::clock::rfc3339_millis;

const LAST_EVENT: &str = "SELECT max(at) FROM (SELECT max(at) AS at FROM audit WHERE at <= ?1 \
     UNION ALL SELECT max(completed_at) FROM runs WHERE completed_at <= ?1) events";

/// Removes what an account has besides its runs. Each statement locks the rows in the order of their ids, as every
/// statement that locks several rows. Watches go before webhooks: a transaction that reports a change locks the watch
/// first, and then the webhooks. The last one removes the keys.
const ERASE: [&str; 8] = [
    "DELETE FROM idempotency_keys WHERE account = ?1",
    "DELETE FROM web_sessions WHERE account = ?1",
    "DELETE FROM set_up_links WHERE account = ?1",
    "DELETE FROM passwords WHERE account = ?1",
    "{erase watches}",
    "{erase webhooks}",
    "{erase batches}",
    "{erase api_keys}",
];

/// Removes batches that ended long ago and have no run left.
const REMOVE_BATCHES: &str = "DELETE FROM batches WHERE id IN \
     (SELECT id FROM batches b WHERE b.ended_at < ?1 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.batch = b.id) \
     ORDER BY id LIMIT ?2 /*pg FOR UPDATE SKIP LOCKED */)";
const LIVE_RUNS: &str = "SELECT id FROM runs WHERE account = ?1 AND status = 'running'";
const SOME_LIVE_RUNS: &str = "{some_runs account = ?1 AND status = 'running' ORDER BY id}";
const SOME_RUNS: &str = "{some_runs account = ?1 ORDER BY created_at DESC, id DESC}";

const ANY_OLD: &str = "SELECT EXISTS (SELECT 1 FROM runs WHERE completed_at < ?1 AND status <> 'running') \
     OR EXISTS (SELECT 1 FROM watch_changes WHERE at < ?1) OR EXISTS \
     (SELECT 1 FROM batches b WHERE b.ended_at < ?1 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.batch = b.id))";
/// Locks the removal of old runs to the end of a batch, so that one instance at a time does it. SQLite has one writer
/// in any case.
const SWEEP_LOCK: &str =
    "SELECT true /*pg AND pg_try_advisory_xact_lock(1397507139, hashtext(current_schema())) */";
const OLD_RUNS: &str = "{some_runs completed_at < ?1 AND status <> 'running' ORDER BY completed_at}";

/// The maximum number of changes of watches that are removed at once.
const CHANGES_BATCH: i64 = 1000;
const SWEEP_CHANGES: &str = "DELETE FROM watch_changes WHERE id IN \
     (SELECT id FROM watch_changes WHERE at < ?1 ORDER BY at LIMIT ?2 /*pg FOR UPDATE SKIP LOCKED */)";

fn is_closed(tx: &mut Tx, id: AccountId) -> Result<bool> {
    let sql = "SELECT 1 FROM accounts WHERE id = ?1 AND plan = ?2";
    tx.has(sql, values![id, BEING_DELETED])
}

fn count_runs(tx: &mut Tx, id: AccountId) -> Result<u64> {
    tx.one("SELECT count(*) FROM runs WHERE account = ?1", values![id])
}

/// Removes what an account has besides its runs. Returns the number of its keys.
fn erase(tx: &mut Tx, id: AccountId) -> Result<u64> {
    ERASE.iter().try_fold(0, |_, sql| tx.execute(sql, values![id]))
}

impl Store {
    /// Begins the deletion of an account, and returns the amount of data that is deleted with it. From now on nothing
    /// can be done for the account: its keys are removed, no run is started or taken over, no key is added, and the
    /// drivers and readers of its runs are notified. For an account that is already being deleted, returns the
    /// remaining amount. Returns `None` if the account is unknown.
    pub fn close_account(&self, id: AccountId, by: &Origin) -> Result<Option<Erased>> {
        self.write("close_account", |tx| {
            let Some(plan) = locked_plan(tx, id)? else { return Ok(None) };
            let runs = count_runs(tx, id)?;
            if plan == BEING_DELETED {
                return Ok(Some(Erased { keys: 0, runs }));
            }
            tx.execute(SET_PLAN, values![id, BEING_DELETED])?;
            let keys = erase(tx, id)?;
            let event = AuditEvent::of_account(Action::AccountDeleted, id).with("keys", keys);
            tx.note(&event.with("runs", runs), by)?;
            for run in tx.all(LIVE_RUNS, values![id])? {
                tx.announce(Notification::Deleted(run))?;
            }
            tx.announce(Notification::Access)?;
            Ok(Some(Erased { keys, runs }))
        })
    }

    /// Continues the deletion of a closed account. Removes some of its runs with their results or, after the last of
    /// them, the account and its email address. One call is short, so that others can write in between. Booked
    /// charges stay, identified only by the account's id. Returns whether the account is gone.
    pub fn erase_closed(&self, id: AccountId) -> Result<bool> {
        let operation = background("erase_closed").erasing();
        let removed = self.write(operation.light(), |tx| {
            if !is_closed(tx, id)? {
                return Ok(0);
            }
            let values = values![id, BATCH.runs, BATCH.results];
            let mut runs = tx.all(SOME_LIVE_RUNS, values.clone())?;
            for run in &runs {
                // Readers that started following the run after the account was closed look again.
                tx.announce(Notification::Deleted(*run))?;
            }
            if runs.is_empty() {
                runs = tx.all(SOME_RUNS, values)?;
            }
            remove_runs(tx, runs)
        })?;
        if removed > 0 {
            return Ok(false);
        }
        self.write(operation, |tx| {
            if !is_closed(tx, id)? {
                return Ok(true);
            }
            // This waits for transactions that began to start a run or to add a key before the account was closed.
            tx.has("SELECT 1 FROM accounts WHERE id = ?1 /*pg FOR UPDATE */", values![id])?;
            if count_runs(tx, id)? > 0 {
                return Ok(false);
            }
            erase(tx, id)?;
            tx.execute("DELETE FROM accounts WHERE id = ?1", values![id])?;
            tx.announce(Notification::Access)?;
            Ok(true)
        })
    }

    /// Returns the accounts whose deletion has begun and not ended.
    pub fn closed_accounts(&self) -> Result<Vec<AccountId>> {
        let sql = "SELECT id FROM accounts WHERE plan = ?1 ORDER BY id";
        self.all(background("closed_accounts"), sql, values![BEING_DELETED])
    }

    /// Returns the time of the last event until then that the audit or the end of a run shows, if any.
    pub fn last_event(&self, until: Timestamp) -> Result<Option<Timestamp>> {
        Ok(self.first(background("last_event").light(), LAST_EVENT, values![until])?.flatten())
    }

    /// Removes a batch of the runs that ended before `ended_before`, the oldest first. Records the removal in the audit
    /// unless there was nothing to remove. Returns the number of runs, or `None` if another instance is removing some.
    pub fn sweep(&self, ended_before: Timestamp, most: BatchSize) -> Result<Option<u64>> {
        let operation = background("sweep").light();
        // This is checked first without a transaction that writes, because most of the time there is nothing to do.
        if !self.read(operation, |tx| tx.one(ANY_OLD, values![ended_before]))? {
            return Ok(Some(0));
        }
        self.write(operation.erasing(), |tx| {
            if !tx.one(SWEEP_LOCK, values![])? {
                return Ok(None);
            }
            tx.execute(SWEEP_CHANGES, values![ended_before, CHANGES_BATCH])?;
            let old = tx.all(OLD_RUNS, values![ended_before, most.runs, most.results])?;
            let runs = remove_runs(tx, old)?;
            tx.execute(REMOVE_BATCHES, values![ended_before, most.runs])?;
            if runs > 0 {
                let event = AuditEvent::of_service(Action::RunsSwept).with("runs", runs);
                tx.note(&event.with("ended_before", rfc3339_millis(ended_before)), &Origin::SYSTEM)?;
            }
            Ok(Some(runs))
        })
    }
}

fn remove_runs(tx: &mut Tx, runs: Vec<RunId>) -> Result<u64> {
    if runs.is_empty() {
        return Ok(0);
    }
    let runs = encode_ids(runs.into_iter().map(|run| run.0))?;
    tx.execute("DELETE FROM idempotency_keys WHERE run IN {ids ?1}", values![&runs])?;
    tx.execute("DELETE FROM runs WHERE id IN {ids ?1}", values![&runs])
}
