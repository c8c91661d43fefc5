//! Runs: their lifecycle, and reading them.

use super::credits::{forget_request, refund};
use super::outbox::report_end;
use super::results::{RESULTS, save};
use super::take_over::{NOT_CONFIRMED, end_as_failed};
use super::*;

row! {
    RunSummary from "" {
        id, account, status, search_type, query, premium, options, choice, follow,
        family = "root_run, parent_run, depth", watch, batch, retry_of, simulated, total_results, revision, progress,
        coverage, credits_charged, created_at, completed_at, stopped_at, error,
        // It is counted where it is wanted.
        queue_position = "CAST(NULL AS bigint)", notes
    }
}

row! { StoppedRun from "" { id, at = "stopped_at", waits = "{waits}" } }

impl FromRow for Option<Membership> {
    fn from_row(row: &mut Row) -> Result<Self> {
        let (root, parent, depth) = row.read::<(Option<_>, Option<_>, _)>()?;
        Ok(root.zip(parent).map(|(root, parent)| Membership { root, parent, depth }))
    }
}

/// Selects a run with its position in the queue, which no list has: it is counted.
const RUN: &str = "SELECT {row}, {queue_position} FROM runs WHERE id = ?1 AND account = ?2";

const RELEASE: &str = "UPDATE runs SET owner = NULL, lease_until = NULL WHERE id IN (SELECT id FROM runs \
     WHERE owner = ?1 AND {has_begun} /*pg ORDER BY id FOR NO KEY UPDATE */)";
/// Locks a run. A transaction that starts a run of its family locks it, too, so none is started while the family is
/// stopped or deleted.
const LOCK: &str = "SELECT 1 FROM runs WHERE id = ?1 AND account = ?2 /*pg FOR UPDATE */";
/// Deletes a run, and the runs of its family if `?3` is true.
const DELETE: &str = "DELETE FROM runs WHERE (id = ?1 OR root_run = ?1 AND ?3) AND coalesce(account, NULL) = ?2 \
     RETURNING id";
/// Marks a run that has not ended, or that still follows leads, and the runs of its family. `?3` is the time. A run that
/// was stopped before keeps its time.
const STOP: &str = "UPDATE runs SET stopped_at = coalesce(stopped_at, ?3) WHERE id IN (SELECT id FROM runs \
     WHERE (id = ?1 OR root_run = ?1) AND coalesce(account, NULL) = ?2 AND (status = 'running' OR id = ?1 \
     AND following = 'running') ORDER BY id /*pg FOR NO KEY UPDATE */) \
     RETURNING {row}, status = 'running', stopped_at = ?3";

/// Selects runs that wait, unconfirmed, for longer than it takes to confirm them.
const WAITING: &str = "SELECT id FROM runs WHERE unconfirmed AND status = 'running' AND owner IS NULL \
     AND coalesce(lease_until, created_at) <= now() - ms(?1) LIMIT 100 /*pg FOR NO KEY UPDATE SKIP LOCKED */";
const DELETE_BATCHES: &str = "DELETE FROM batches WHERE unconfirmed AND created_at <= now() - ms(?1)";
const DELETE_WATCHES: &str = "DELETE FROM watches WHERE unconfirmed AND created_at <= now() - ms(?1)";

impl Store {
    /// Saves what a driver has collected and renews the lease for `holds`, in one transaction. A result is unique in its run
    /// by its [`EntityKey`](crate::model::entity::EntityKey). If the entity of a new result is stored under the same id, an
    /// earlier try was stored after all, and the new result replaces it. If the entity is stored under another id, the new
    /// result is ignored. A new entity with a used id is an error.
    pub fn save(&self, run: RunId, lease: Lease, delta: &Delta, holds: Duration) -> Result<Write> {
        self.write(background("save").light(), |tx| save(tx, run, lease, delta, Ok(holds)))
    }

    /// Saves what a driver has collected, ends the run and releases the lease, in one transaction. A failed run is
    /// refunded once, to the cycle that paid.
    pub fn finish(&self, run: RunId, lease: Lease, delta: &Delta, ending: &Ending) -> Result<Write> {
        self.write(background("finish"), |tx| {
            if save(tx, run, lease, delta, Err(ending))? == Write::LeaseLost {
                return Ok(Write::LeaseLost);
            }
            if ending.error.is_some() {
                refund(tx, run, ending.completed_at)?;
            }
            report_end(tx, run)?;
            Ok(Write::Done)
        })
    }

    /// Releases the runs that `owner` drives, so that any instance can take them over at once.
    pub fn release(&self, owner: InstanceId) -> Result<()> {
        self.write(background("release"), |tx| {
            if tx.execute(RELEASE, values![owner.0])? > 0 {
                tx.announce(Notification::Released)?;
            }
            Ok(())
        })
    }

    /// Returns a run of that account, or `None` if the run is unknown, deleted or of another account.
    pub fn run(&self, id: RunId, account: AccountId) -> Result<Option<RunSummary>> {
        let found = self.first::<(RunSummary, _)>("run", RUN, values![id, account])?;
        Ok(found.map(|(run, queue_position)| RunSummary { queue_position, ..run }))
    }

    /// Returns at most `count` results of a run with ids above `after`, in order.
    pub fn results(&self, id: RunId, after: u32, count: usize) -> Result<Vec<ResultRecord>> {
        self.all("results", RESULTS, values![id, after, count])
    }

    /// Returns the modules of a run that have ended.
    pub fn modules(&self, id: RunId) -> Result<Vec<ModuleReport>> {
        const SQL: &str = "SELECT {reports ?1}";
        Ok(self.first("modules", SQL, values![id])?.unwrap_or_default())
    }

    /// Returns at most `count` runs of an account, the newest first.
    pub fn list(&self, account: AccountId, filter: &ListFilter, count: usize) -> Result<Vec<RunSummary>> {
        let Cursor(before, id) = filter.before.unwrap_or(Cursor::START);
        let (of_type, status) =
            (filter.search_type.map(SearchType::as_str), filter.status.map(Status::as_str));
        // With both a type and a status, the index of the status is used, and runs of another type are skipped. No index
        // supports a text, so the account's runs are read one by one. A tag is a part of the array of tags as a JSON text,
        // and an index leads to the runs that have any.
        let (sql, further) = match filter {
            ListFilter { watch: Some(watch), .. } => ("{runs AND watch = ?5}", values![*watch]),
            ListFilter { tag: Some(tag), text, root, .. } => (
                "{runs AND {filters} AND tags IS NOT NULL AND strpos(tags, ?7) > 0 \
                 AND (CAST(?8 AS text) IS NULL OR strpos(lower(query), lower(?8)) > 0) \
                 AND (CAST(?9 AS uuid) IS NULL OR id = ?9 OR root_run = ?9)}",
                values![of_type, status, encode(tag)?, text.as_ref(), *root],
            ),
            ListFilter { root: Some(root), .. } => {
                ("{runs AND {filters} AND (id = ?7 OR root_run = ?7)}", values![of_type, status, *root])
            }
            ListFilter { text: Some(text), .. } => (
                "{runs AND {filters} AND strpos(lower(query), lower(?7)) > 0}",
                values![of_type, status, text],
            ),
            _ => match (of_type, status) {
                (None, None) => ("{runs}", values![]),
                (Some(of_type), None) => ("{runs AND search_type = ?5}", values![of_type]),
                (None, Some(status)) => ("{runs AND status = ?5}", values![status]),
                (Some(of_type), Some(status)) => {
                    ("{runs AND search_type || '' = ?5 AND status = ?6}", values![of_type, status])
                }
            },
        };
        self.all("list", sql, [values![account, before, id, count], further].concat())
    }

    /// Returns at most `count` other runs that have ended, of the account, type and web of a run and with this normal form
    /// of the query, the newest first.
    pub fn comparable(
        &self,
        run: &RunSummary,
        normal: &str,
        before: Option<Cursor>,
        count: usize,
    ) -> Result<Vec<RunSummary>> {
        let Cursor(before, id) = before.unwrap_or(Cursor::START);
        let search_type = run.search_type.as_str();
        let values = values![run.account, before, id, count, search_type, normal, run.simulated, run.id];
        let sql = "{runs AND search_type = ?5 AND normal = ?6 AND simulated = ?7 AND id <> ?8 AND status <> 'running'}";
        self.all("comparable", sql, values)
    }

    /// Deletes a run's query, results and modules, and also those of all runs of its family if it is the root and
    /// `with_family` is true. Their charges stay booked. Returns the runs; none if the run is unknown, of another account,
    /// or already deleted.
    pub fn delete(
        &self,
        id: RunId,
        account: AccountId,
        with_family: bool,
        by: &Origin,
    ) -> Result<Vec<RunId>> {
        self.write(Operation::from("delete").erasing(), |tx| {
            if !tx.has(LOCK, values![id, account])? {
                return Ok(Vec::new());
            }
            let runs = tx.all(DELETE, values![id, account, with_family])?;
            for run in &runs {
                forget_request(tx, *run)?;
                tx.note(&AuditEvent::of_object(Action::RunDeleted, account, run), by)?;
                tx.announce(Notification::Deleted(*run))?;
            }
            Ok(runs)
        })
    }

    /// Records that the owner stops a run, and the runs below it if it is the root of a family. Returns those that have
    /// not ended, which includes runs that were stopped before. Returns `None` if the run is unknown, deleted or of
    /// another account. A root that follows leads is stopped even if it has ended itself.
    pub fn stop(
        &self,
        id: RunId,
        account: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Option<Vec<StoppedRun>>> {
        self.write("stop", |tx| {
            if !tx.has(LOCK, values![id, account])? {
                return Ok(None);
            }
            let mut stopped = Vec::new();
            for (run, is_live, is_new) in tx.all::<(StoppedRun, _, _)>(STOP, values![id, account, at])? {
                if is_new {
                    tx.note(&AuditEvent::of_object(Action::RunStopped, account, run.id), by)?;
                }
                if is_live {
                    tx.announce(Notification::Stopped(run.id))?;
                    stopped.push(run);
                }
            }
            Ok(Some(stopped))
        })
    }

    /// Ends waiting runs, and deletes batches and watches, that have been unconfirmed for that long.
    pub fn undo_unconfirmed(&self, age: Duration) -> Result<()> {
        self.write(background("undo_unconfirmed"), |tx| {
            for run in tx.all(WAITING, values![age])? {
                end_as_failed(tx, run, NOT_CONFIRMED)?;
            }
            tx.execute(DELETE_BATCHES, values![age])?;
            tx.execute(DELETE_WATCHES, values![age]).map(drop)
        })
    }
}
