//! Runs: their lifecycle, and reading them.

use std::sync::Weak;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::audit::note;
use super::credits::refund;
use super::fragments::driven;
use super::outbox::report_end;
use super::queue::{has_begun, queue_length, queue_position};
use super::results::{self, RESULTS, reports};
use super::start::{self, forget_request};
use super::summary::run_columns;
use super::take_over::take_over;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::{Action, AuditEvent, Origin};
use crate::model::credits::Charge;
use crate::model::drive::{
    Claim, Delta, Ending, InstanceId, Lease, Notification, Resumable, Subscriber, Write,
};
use crate::model::page::ListFilter;
use crate::model::run::{ModuleReport, ResultRecord, RunSummary, Status};
use crate::model::start::{Idempotency, NewRun, QueueLength, Started};
use crate::modules::query::SearchType;
use crate::store::Store;
use crate::store::backend::Operation;
use crate::store::document::{Json, encode};
use crate::store::value::{Value, values};

/// Selects a run with its position in the queue, which no list has: it is counted.
const RUN: &str =
    concat!("SELECT ", run_columns!(), ", ", queue_position!(), " FROM runs WHERE id = ?1 AND account = ?2");

/// The statements of a list, one for each set of filters. For each there is an index that leads only to the rows that
/// it returns. With both filters the index of the status is used, and runs of another type are skipped.
macro_rules! list {
    ($filters:literal) => {
        concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs WHERE account = ?1 AND (created_at, id) < (?2, ?3)",
            $filters,
            " ORDER BY created_at DESC, id DESC LIMIT ?4"
        )
    };
}
const LIST: &str = list!("");
const LIST_BY_TYPE: &str = list!(" AND search_type = ?5");
const LIST_BY_STATUS: &str = list!(" AND status = ?5");
const LIST_BY_BOTH: &str = list!(" AND search_type || '' = ?5 AND status = ?6");
/// Selects runs by a part of their query. No index supports this, so it reads the account's runs one by one.
const LIST_BY_TEXT: &str = list!(
    " AND (CAST(?5 AS text) IS NULL OR search_type = ?5) AND (CAST(?6 AS text) IS NULL OR status = ?6) \
     AND strpos(lower(query), lower(?7)) > 0"
);

const FINISH: &str = concat!(
    "UPDATE runs SET status = ?4, planned = '[]', error = ?5, completed_at = ?6, owner = NULL, lease_until = NULL WHERE ",
    driven!()
);
const RELEASE: &str = concat!(
    "UPDATE runs SET owner = NULL, lease_until = NULL WHERE id IN (SELECT id FROM runs WHERE owner = ?1 AND ",
    has_begun!(),
    " /*pg ORDER BY id FOR NO KEY UPDATE */)"
);
/// Removes expired keys. Every instance runs this, so keys that another instance is deleting are skipped.
const FORGET_IDEMPOTENCY: &str = "DELETE FROM idempotency_keys WHERE run IN \
     (SELECT run FROM idempotency_keys WHERE created_at < ?1 /*pg FOR UPDATE SKIP LOCKED */)";

/// Selects the runs of one family.
const LIST_BY_ROOT: &str = list!(
    " AND (id = ?7 OR root_run = ?7) AND (CAST(?5 AS text) IS NULL OR search_type = ?5) \
     AND (CAST(?6 AS text) IS NULL OR status = ?6)"
);

/// Selects the runs that have ended with a normal form of the query.
const LIST_BY_NORMAL: &str =
    list!(" AND search_type = ?5 AND normal = ?6 AND simulated = ?7 AND id <> ?8 AND status <> 'running'");

const LIST_BY_WATCH: &str = list!(" AND watch = ?5");

/// Selects runs with a tag: `?7` as a JSON text, which is a part of the array of tags. An index leads to the tagged runs.
const LIST_BY_TAG: &str = list!(
    " AND tags IS NOT NULL AND strpos(tags, ?7) > 0 AND (CAST(?5 AS text) IS NULL OR search_type = ?5) \
     AND (CAST(?6 AS text) IS NULL OR status = ?6) \
     AND (CAST(?8 AS text) IS NULL OR strpos(lower(query), lower(?8)) > 0) \
     AND (CAST(?9 AS uuid) IS NULL OR id = ?9 OR root_run = ?9)"
);

impl Store {
    /// Records the idempotency key, books the charge and creates the run, in one transaction.
    pub fn start(&self, run: &NewRun, charge: &Charge) -> Result<Started, StorageError> {
        let is_created = |started: &Started| *started == Started::Created;
        self.write_if(Operation::new("start"), is_created, |statements| start::start(statements, run, charge))
    }

    /// Returns the run of a valid idempotency key as [`Started::Repeated`], or [`Refused::Mismatch`](crate::model::start::Refused::Mismatch) if the body
    /// differs. Returns `None` if the key is not known.
    pub fn known_request(
        &self,
        account: AccountId,
        idempotency: &Idempotency,
    ) -> Result<Option<Started>, StorageError> {
        let operation = Operation::new("known_request");
        self.read(operation, |statements| start::known_request(statements, account, idempotency))
    }

    /// Saves what a driver has collected and renews the lease for `holds`, in one transaction. A result is unique in its run
    /// by its [`EntityKey`](crate::model::entity::EntityKey). If the entity of a new result is stored under the same id, an
    /// earlier try was stored after all, and the new result replaces it. If the entity is stored under another id, the new
    /// result is ignored. A new entity with a used id is an error.
    pub fn save(
        &self,
        run: RunId,
        lease: Lease,
        delta: &Delta,
        holds: Duration,
    ) -> Result<Write, StorageError> {
        let operation = Operation::new("save").in_background().light();
        let write =
            self.write(operation, |statements| results::save(statements, run, lease, delta, holds))?;
        // A save of nothing only renews the lease.
        Ok(if delta.is_empty() { write } else { self.published(run, lease, write) })
    }

    /// Saves what a driver has collected, ends the run and releases the lease, in one transaction. A failed run is
    /// refunded once, to the cycle that paid.
    pub fn finish(
        &self,
        run: RunId,
        lease: Lease,
        delta: &Delta,
        ending: &Ending,
    ) -> Result<Write, StorageError> {
        if !ending.status.is_terminal() {
            return Err(StorageError::broken("a run cannot end in the status running"));
        }
        let error = ending.error.as_ref().map(encode).transpose()?;
        let (status, at) = (ending.status.as_str(), ending.completed_at);
        let values = values![run, lease.owner.0, lease.epoch, status, error, at];
        let write = self.write(Operation::new("finish").in_background(), |statements| {
            if results::save(statements, run, lease, delta, Duration::ZERO)? == Write::LeaseLost {
                return Ok(Write::LeaseLost);
            }
            let ended = statements.execute(FINISH, values)?;
            if ended == 1 && ending.status == Status::Failed {
                refund(statements, run, at)?;
            }
            if ended == 1 {
                report_end(statements, run)?;
            }
            Ok(taken(ended))
        })?;
        Ok(self.published(run, lease, write))
    }

    /// Releases the runs that `owner` drives, so that any instance can take them over at once.
    pub fn release(&self, owner: InstanceId) -> Result<(), StorageError> {
        self.write(Operation::new("release").in_background(), |statements| {
            if statements.execute(RELEASE, values![owner.0])? > 0 {
                statements.announce(Notification::Released)?;
            }
            Ok(())
        })
    }

    /// Takes over running runs without a driver. Interrupted runs come first, each with a lease of the next epoch,
    /// then waiting ones in the order of their positions in the queue. Accounts alternate: first the oldest waiting run
    /// of each account, then the second of each.
    pub fn take_over(&self, claim: &Claim<'_>) -> Result<Vec<Resumable>, StorageError> {
        let operation = Operation::new("take_over").in_background();
        let taken = self.write(operation, |statements| take_over(statements, claim))?;
        // An earlier driver that was only delayed detects that the run is no longer its own.
        taken.iter().for_each(|run| self.backend.publish(run.summary.id, run.lease.epoch));
        Ok(taken)
    }

    /// Counts the runs of the simulated or the real web that wait for their first driver, and those of an account among
    /// them.
    pub fn queue_length(
        &self,
        simulated: bool,
        account: Option<AccountId>,
    ) -> Result<QueueLength, StorageError> {
        let operation = Operation::new("queue_length");
        self.read(operation, |statements| queue_length(statements, simulated, account))
    }

    /// Returns a run of that account, or `None` if the run is unknown, deleted or of another account.
    pub fn run(&self, id: RunId, account: AccountId) -> Result<Option<RunSummary>, StorageError> {
        let found = self.first::<(RunSummary, _)>(Operation::new("run"), RUN, values![id, account])?;
        Ok(found.map(|(run, queue_position)| RunSummary { queue_position, ..run }))
    }

    /// Returns at most `count` results of a run with ids above `after`, in order.
    pub fn results(&self, id: RunId, after: u32, count: usize) -> Result<Vec<ResultRecord>, StorageError> {
        let results = self.all(Operation::new("results"), RESULTS, values![id, after, count])?;
        Ok(results.into_iter().map(|Json(result)| result).collect())
    }

    /// Returns the modules of a run that have ended.
    pub fn modules(&self, id: RunId) -> Result<Vec<ModuleReport>, StorageError> {
        const SQL: &str = concat!("SELECT ", reports!("?1"));
        Ok(self.first(Operation::new("modules"), SQL, values![id])?.unwrap_or_default())
    }

    /// Returns at most `count` runs of an account, the newest first.
    pub fn list(
        &self,
        account: AccountId,
        filter: &ListFilter,
        count: usize,
    ) -> Result<Vec<RunSummary>, StorageError> {
        let (before, id) = filter.before.unwrap_or((Timestamp::MAX, RunId(Uuid::max())));
        let search_type = filter.search_type.map(SearchType::as_str);
        let status = filter.status.map(Status::as_str);
        let mut values: Vec<Value<'_>> = values![account, before, id, count].to_vec();
        let sql = match (&filter.root, &filter.text) {
            _ if filter.watch.is_some() => {
                values.push(Value::from(filter.watch));
                LIST_BY_WATCH
            }
            _ if filter.tag.is_some() => {
                let tag = filter.tag.as_ref().map(encode).transpose()?;
                let text = filter.text.as_ref();
                values.extend_from_slice(values![search_type, status, tag, text, filter.root]);
                LIST_BY_TAG
            }
            (Some(root), _) => {
                values.extend_from_slice(values![search_type, status, *root]);
                LIST_BY_ROOT
            }
            (None, Some(text)) => {
                values.extend_from_slice(values![search_type, status, text]);
                LIST_BY_TEXT
            }
            (None, None) => {
                values.extend(search_type.into_iter().chain(status).map(Value::from));
                match (search_type, status) {
                    (None, None) => LIST,
                    (Some(_), None) => LIST_BY_TYPE,
                    (None, Some(_)) => LIST_BY_STATUS,
                    (Some(_), Some(_)) => LIST_BY_BOTH,
                }
            }
        };
        self.all(Operation::new("list"), sql, &values)
    }

    /// Returns at most `count` other runs that have ended, of the account, type and web of a run and with this normal form
    /// of the query, the newest first.
    pub fn comparable(
        &self,
        run: &RunSummary,
        normal: &str,
        before: Option<(Timestamp, RunId)>,
        count: usize,
    ) -> Result<Vec<RunSummary>, StorageError> {
        let (before, id) = before.unwrap_or((Timestamp::MAX, RunId(Uuid::max())));
        let search_type = run.search_type.as_str();
        let values = values![run.account, before, id, count, search_type, normal, run.simulated, run.id];
        self.all(Operation::new("comparable"), LIST_BY_NORMAL, values)
    }

    /// Deletes a run's query, results and modules. Its charge stays booked. Returns `false` if the run is unknown, of
    /// another account, or already deleted.
    pub fn delete(
        &self,
        id: RunId,
        account: AccountId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(Operation::new("delete").erasing(), |statements| {
            // The run's row is deleted together with its results. Its charge stays in the ledger.
            let sql = "DELETE FROM runs WHERE id = ?1 AND account = ?2";
            let is_deleted = statements.execute(sql, values![id, account])? == 1;
            if is_deleted {
                forget_request(statements, id)?;
                note(statements, &AuditEvent::of_object(Action::RunDeleted, account, id), at, by)?;
                statements.announce(Notification::Deleted(id))?;
            }
            Ok(is_deleted)
        })
    }

    /// Removes the idempotency keys that were recorded before `before`.
    pub fn forget_idempotency(&self, before: Timestamp) -> Result<(), StorageError> {
        let operation = Operation::new("forget_idempotency").in_background().light();
        self.change(operation, FORGET_IDEMPOTENCY, values![before]).map(drop)
    }

    /// Delivers notifications of this and other processes to `subscriber` as long as it exists. The first one is
    /// [`Notification::Connected`](crate::model::drive::Notification::Connected), which is sent when the subscription
    /// is established. Returns `false` if the store serves only one process and sends no notifications.
    pub fn listen(&self, subscriber: Weak<dyn Subscriber>) -> Result<bool, StorageError> {
        self.measured("listen", false, || self.backend.listen(subscriber))
    }
}

impl Store {
    /// Notifies other instances of a driver's write if it was accepted. Returns `write`.
    fn published(&self, run: RunId, lease: Lease, write: Write) -> Write {
        if write != Write::LeaseLost {
            self.backend.publish(run, lease.epoch);
        }
        write
    }
}

fn taken(rows: u64) -> Write {
    if rows == 1 { Write::Done } else { Write::LeaseLost }
}
