//! The runs of watches: which are due, the transaction that takes the place of one, and the comparison of one that has
//! ended.

use jiff::Timestamp;
use uuid::Uuid;

use super::outbox::report_watch;
use super::watch_row::watch_columns;
use crate::base::ids::{AccountId, WatchChangeId, WatchId};
use crate::base::storage::StorageError;
use crate::model::credits::{PREMIUM_COST, STANDARD_COST};
use crate::model::start::{NewRun, Refused, Started, WatchStart};
use crate::model::watch::{Comparison, EndedRun, Watch};
use crate::store::Store;
use crate::store::backend::{Operation, Statements};
use crate::store::document::encode;
use crate::store::value::values;

/// A watch of which a run may be started.
macro_rules! idle {
    () => {
        "paused IS NULL AND NOT is_open AND NOT unconfirmed"
    };
}

const DUE: &str = concat!(
    "SELECT ",
    watch_columns!(),
    " FROM watches WHERE ",
    idle!(),
    " AND next_at <= now() AND (next_at, id) > (?2, ?3) AND simulated = ?1 ORDER BY next_at, id LIMIT ?4"
);
/// Locks a watch, and reads the time by which its runs are due.
const LOCK: &str = concat!(
    "SELECT ",
    watch_columns!(),
    ", date_trunc('milliseconds', now()) FROM watches WHERE id = ?1 AND account = ?2 /*pg FOR NO KEY UPDATE */"
);
const EXISTS: &str = "SELECT 1 FROM runs WHERE id = ?1";
const BEGIN: &str = "UPDATE watches SET last_run = ?2, is_open = true, next_at = ?3 WHERE id = ?1";
const PAUSE: &str = concat!(
    "UPDATE watches SET paused = 'credits' WHERE id = ?1 AND next_at = ?2 AND ",
    idle!(),
    " RETURNING 1"
);
const LOCK_DUE: &str = concat!(
    "SELECT ",
    watch_columns!(),
    ", date_trunc('milliseconds', now()) FROM watches WHERE id = ?1 AND next_at = ?2 AND ",
    idle!(),
    " /*pg FOR NO KEY UPDATE */"
);
const MOVE: &str = "UPDATE watches SET next_at = ?2 WHERE id = ?1";
const UNPAID: &str = "SELECT DISTINCT account FROM watches WHERE paused = 'credits' AND account > ?1 ORDER BY account LIMIT ?2";
/// Makes watches active. `?2` and `?3` tell whether standard and premium runs can be paid.
const RESUME: &str = "UPDATE watches SET paused = NULL WHERE id IN (SELECT id FROM watches WHERE account = ?1 \
     AND paused = 'credits' AND CASE WHEN premium THEN CAST(?3 AS boolean) ELSE CAST(?2 AS boolean) END ORDER BY id /*pg FOR NO KEY UPDATE */)";
const ENDED: &str = concat!(
    "SELECT ",
    watch_columns!(),
    ", baseline FROM watches w WHERE is_open AND simulated = ?1 \
     AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = w.last_run AND r.status = 'running') ORDER BY id LIMIT ?2"
);
const CLOSE: &str = "UPDATE watches SET is_open = false, baseline = coalesce(?3, baseline) \
     WHERE id = ?1 AND last_run = ?2 AND is_open";
const ADD_CHANGE: &str = "INSERT INTO watch_changes (id, watch, kind, run_before, run_after, at, difference) \
     VALUES (?1, ?2, ?3, ?4, ?5, date_trunc('milliseconds', now()), ?6)";

/// Locks the watch of a run that is being started. Returns the moment at which its next run will be due, or why the run
/// must not be started. Of two transactions for one watch, the second waits here for the end of the first.
pub(super) fn take_place(
    statements: &mut dyn Statements,
    run: &NewRun,
    start: WatchStart,
) -> Result<Result<Timestamp, Started>, StorageError> {
    let locked = statements.first::<(Watch, Timestamp)>(LOCK, values![start.watch, run.account])?;
    let Some((watch, now)) = locked else { return Ok(Err(Started::Refused(Refused::WatchNotDue))) };
    Ok(match (start.due_at, watch.last_run) {
        // The last run may have been deleted, and the watch not closed yet.
        (None, Some(last)) if watch.is_open && statements.has(EXISTS, values![last])? => {
            Err(Started::Repeated(last))
        }
        (None, _) => Ok(watch.next_at),
        (Some(due_at), _)
            if watch.paused.is_none() && !watch.is_open && watch.next_at == due_at && due_at <= now =>
        {
            Ok(watch.every.next_after(watch.id, watch.created_at, now))
        }
        (Some(_), _) => Err(Started::Refused(Refused::WatchNotDue)),
    })
}

/// Records that a run of a watch was started.
pub(super) fn begin(
    statements: &mut dyn Statements,
    run: &NewRun,
    watch: WatchId,
    next_at: Option<Timestamp>,
) -> Result<(), StorageError> {
    statements.execute(BEGIN, values![watch, run.id, next_at]).map(drop)
}

impl Store {
    /// Returns at most `count` active watches of the simulated or the real web whose next run is due, after this one in
    /// the order of `(next_at, id)`. Writes nothing.
    pub fn due_watches(
        &self,
        simulated: bool,
        after: Option<(Timestamp, WatchId)>,
        count: usize,
    ) -> Result<Vec<Watch>, StorageError> {
        let (at, id) = after.unwrap_or((Timestamp::UNIX_EPOCH, WatchId(Uuid::nil())));
        let operation = Operation::new("due_watches").in_background();
        self.all(operation, DUE, values![simulated, at, id, count])
    }

    /// Pauses an active watch whose account cannot pay for the run that is due at this moment. Returns `false` if that run
    /// was started or skipped meanwhile.
    pub fn pause_unpaid(&self, id: WatchId, due_at: Timestamp) -> Result<bool, StorageError> {
        let operation = Operation::new("pause_unpaid").in_background().light();
        Ok(!self.change(operation, PAUSE, values![id, due_at])?.is_empty())
    }

    /// Gives up the run that is due at this moment. The next one is due at the next moment of the interval.
    pub fn skip_run(&self, id: WatchId, due_at: Timestamp) -> Result<(), StorageError> {
        self.write(Operation::new("skip_run").in_background().light(), |statements| {
            let locked = statements.first::<(Watch, Timestamp)>(LOCK_DUE, values![id, due_at])?;
            let Some((watch, now)) = locked else { return Ok(()) };
            let next_at = watch.every.next_after(id, watch.created_at, now);
            statements.execute(MOVE, values![id, next_at]).map(drop)
        })
    }

    /// Returns at most `count` accounts with ids above `after` that have watches which are paused because of credits.
    pub fn unpaid_accounts(
        &self,
        after: Option<AccountId>,
        count: usize,
    ) -> Result<Vec<AccountId>, StorageError> {
        let after = after.unwrap_or(AccountId(Uuid::nil()));
        let operation = Operation::new("unpaid_accounts").in_background();
        self.all(operation, UNPAID, values![after, count])
    }

    /// Makes the watches of an account active that are paused because of credits, if a run costs at most that many
    /// credits.
    pub fn resume_paid(&self, account: AccountId, credits: u64, premium: bool) -> Result<(), StorageError> {
        let (standard, premium) = (credits >= STANDARD_COST, premium && credits >= PREMIUM_COST);
        let operation = Operation::new("resume_paid").in_background().light();
        self.change(operation, RESUME, values![account, standard, premium]).map(drop)
    }

    /// Returns at most `count` watches whose last run has ended or was deleted, and was not compared.
    pub fn ended_runs(&self, simulated: bool, count: usize) -> Result<Vec<EndedRun>, StorageError> {
        let operation = Operation::new("ended_runs").in_background();
        let ended = self.all::<(Watch, _)>(operation, ENDED, values![simulated, count])?;
        let run = |(watch, baseline): (Watch, _)| match watch.last_run {
            Some(run) => Ok(EndedRun { watch, run, baseline }),
            None => Err(StorageError::broken("a watch has an open run without an id")),
        };
        ended.into_iter().map(run).collect()
    }

    /// Records that the last run of a watch was compared, with what that has shown, and adds the deliveries that report it.
    /// Does nothing and returns `false` if the run was compared before.
    pub fn close_run(&self, ended: &EndedRun, shown: &Comparison) -> Result<bool, StorageError> {
        let watch = ended.watch.id;
        self.write(Operation::new("close_run").in_background(), |statements| {
            if statements.execute(CLOSE, values![watch, ended.run, shown.baseline.as_deref()])? == 0 {
                return Ok(false);
            }
            for change in &shown.changes {
                let difference = encode(&change.difference)?;
                let (id, kind) = (WatchChangeId::new(), change.kind.as_str());
                let values = values![id, watch, kind, change.run_before, ended.run, difference];
                statements.execute(ADD_CHANGE, values)?;
            }
            report_watch(statements, watch, ended.run, &shown.changes)?;
            Ok(true)
        })
    }
}
