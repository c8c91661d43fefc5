//! Batches and their rows. A row is started in `start`.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::accounts::lock_shared;
use super::audit::note;
use super::fragments::{encode_ids, ids};
use super::outbox::report_end_of_batch;
use super::start::note_request;
use super::summary::{read_summary, run_columns};
use crate::base::ids::{AccountId, BatchId, RunId};
use crate::base::storage::StorageError;
use crate::model::account::BEING_DELETED;
use crate::model::audit::{Action, AuditEvent, Origin};
use crate::model::batch::{Batch, BatchAdded, BatchRow, Counts, NewBatch, NextRow, RowRefusal, RowState};
use crate::model::run::{ModuleReport, RunSummary};
use crate::model::start::{RowRef, Started};
use crate::store::Store;
use crate::store::backend::{Operation, Statements};
use crate::store::document::{decode, decode_reports, encode, plain};
use crate::store::number::{limit, millis, number};
use crate::store::value::{Row, values};

const INSERT: &str = "INSERT INTO batches (id, account, name, simulated, created_at, unconfirmed) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
/// Adds rows. `?2` is an array of `[POSITION, SEARCH]`.
const INSERT_ROWS: &str = "INSERT INTO batch_rows (batch, position, search, state) \
     SELECT ?1, CAST(value ->> 0 AS bigint), value ->> 1, 'pending' FROM json_each(?2)";

macro_rules! batch_columns {
    () => {
        "id, account, name, simulated, created_at, stopped_at, ended_at, \
         retry_at IS NOT NULL AND ended_at IS NULL, pending, running, completed, failed, refused, skipped, began_at"
    };
}
const BATCH: &str = concat!("SELECT ", batch_columns!(), " FROM batches WHERE id = ?1 AND account = ?2");
const LIST: &str = concat!(
    "SELECT ",
    batch_columns!(),
    " FROM batches WHERE account = ?1 AND (created_at, id) < (?2, ?3) ORDER BY created_at DESC, id DESC LIMIT ?4"
);
const ROWS: &str = "SELECT position, search, state, reason, run FROM batch_rows \
     WHERE batch = ?1 AND position > ?2 ORDER BY position LIMIT ?3";
const RUNS: &str = concat!("SELECT ", run_columns!(), " FROM runs WHERE id IN ", ids!("?1"));
const REPORTS: &str = "SELECT r.id, r.reports FROM runs r JOIN \
     (SELECT run FROM batch_rows WHERE batch = ?1 AND position > ?2 ORDER BY position LIMIT ?3) w ON w.run = r.id";

const STOP: &str = "UPDATE batches SET stopped_at = ?3, retry_at = NULL \
     WHERE id = ?1 AND account = ?2 AND stopped_at IS NULL AND ended_at IS NULL RETURNING 1";
const SKIP_ROWS: &str = "UPDATE batch_rows SET state = 'skipped' WHERE batch = ?1 AND state = 'pending'";

/// Selects the batch whose next row is to be started. The account whose batches have the lowest turn comes first, and of
/// its batches the oldest.
const NEXT: &str = "SELECT b.id, b.account FROM batches b WHERE b.ended_at IS NULL AND b.stopped_at IS NULL AND NOT b.unconfirmed \
     AND b.simulated = ?1 AND (b.retry_at IS NULL OR b.retry_at <= now()) \
     AND b.pending > 0 \
     AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.id = b.account AND a.plan = ?2) \
     ORDER BY (SELECT max(o.turn) FROM batches o WHERE o.account = b.account AND o.ended_at IS NULL), \
     b.created_at, b.id LIMIT 1";
const FIRST_PENDING: &str = "SELECT position, search FROM batch_rows WHERE batch = ?1 AND state = 'pending' \
     ORDER BY position LIMIT 1";
/// Locks the batch of a row, as where a row is started: before the row.
const LOCK: &str = "SELECT 1 FROM batches WHERE id = ?1 /*pg FOR NO KEY UPDATE */";
const REFUSE: &str = "UPDATE batch_rows SET state = 'refused', reason = ?3 \
     WHERE batch = ?1 AND position = ?2 AND state = 'pending'";
const WAIT: &str = "UPDATE batches SET retry_at = now() + ms(?2) WHERE id IN (SELECT id FROM batches \
     WHERE account = ?1 AND ended_at IS NULL AND stopped_at IS NULL ORDER BY id /*pg FOR NO KEY UPDATE */)";

/// Selects batches with nothing left to do.
const OVER: &str = "SELECT id FROM batches WHERE simulated = ?1 AND ended_at IS NULL AND pending = 0 AND running = 0 LIMIT 100";
const END: &str = concat!(
    "UPDATE batches SET ended_at = date_trunc('milliseconds', now()), retry_at = NULL \
     WHERE id = ?1 AND ended_at IS NULL AND pending = 0 AND running = 0 RETURNING ",
    batch_columns!()
);

impl Store {
    /// Adds a batch with all its rows, and an audit entry.
    pub fn add_batch(&self, batch: &NewBatch, by: &Origin) -> Result<BatchAdded, StorageError> {
        let is_done = |added: &BatchAdded| *added == BatchAdded::Done;
        self.write_if(Operation::on_runs("add_batch"), is_done, |statements| add(statements, batch, by))
    }

    /// Returns a batch of that account, or `None` if there is none with that id.
    pub fn batch(&self, account: AccountId, id: BatchId) -> Result<Option<Batch>, StorageError> {
        let rows = self.rows(Operation::on_runs("batch"), BATCH, values![id, account])?;
        rows.first().map(read_batch).transpose()
    }

    /// Returns at most `count` batches of an account before a place in the order of `(created_at, id)`, the newest
    /// first.
    pub fn batches(
        &self,
        account: AccountId,
        before: Option<(Timestamp, BatchId)>,
        count: usize,
    ) -> Result<Vec<Batch>, StorageError> {
        let (before, id) = before.unwrap_or((Timestamp::MAX, BatchId(Uuid::max())));
        let values = values![account, before, id, limit(count)];
        self.rows(Operation::on_runs("batches"), LIST, values)?.iter().map(read_batch).collect()
    }

    /// Returns at most `count` rows of a batch with positions above `after`, in order.
    pub fn batch_rows(&self, id: BatchId, after: u32, count: usize) -> Result<Vec<BatchRow>, StorageError> {
        self.read(Operation::on_runs("batch_rows"), |statements| read_rows(statements, id, after, count))
    }

    /// Returns the reports of the modules that have ended, of the runs of the rows with positions above `after`, at most
    /// `count` of them.
    pub fn batch_reports(
        &self,
        id: BatchId,
        after: u32,
        count: usize,
    ) -> Result<Vec<(RunId, Vec<ModuleReport>)>, StorageError> {
        let rows =
            self.rows(Operation::on_runs("batch_reports"), REPORTS, values![id, after, limit(count)])?;
        rows.iter().map(|row| Ok((row.get(0)?, decode_reports(row.text(1)?)?))).collect()
    }

    /// Stops a batch: no further row is started. Adds an audit entry unless it was stopped or had ended before. Returns
    /// `false` if the account has no such batch.
    pub fn stop_batch(
        &self,
        account: AccountId,
        id: BatchId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(Operation::on_runs("stop_batch"), |statements| {
            if statements.rows(STOP, values![id, account, at])?.is_empty() {
                return Ok(!statements.rows(BATCH, values![id, account])?.is_empty());
            }
            let skipped = statements.execute(SKIP_ROWS, values![id])?;
            let event = AuditEvent::of_object(Action::BatchStopped, account, id).with("skipped", skipped);
            note(statements, &event, at, by)?;
            Ok(true)
        })
    }

    /// Returns the row that is to be started next on the simulated or the real web. Accounts take turns. Batches that
    /// wait for credits are left out until their next try.
    pub fn next_row(&self, simulated: bool) -> Result<Option<NextRow>, StorageError> {
        self.read(Operation::on_runs("next_row").in_background(), |statements| {
            let next = statements.rows(NEXT, values![simulated, BEING_DELETED])?;
            let Some(next) = next.first() else { return Ok(None) };
            let (batch, account): (BatchId, AccountId) = (next.get(0)?, next.get(1)?);
            let first = statements.rows(FIRST_PENDING, values![batch])?;
            let Some(first) = first.first() else { return Ok(None) };
            let row = RowRef { batch, position: number(first.get(0)?)? };
            Ok(Some(NextRow { row, account, search: decode(first.text(1)?).ok() }))
        })
    }

    /// Refuses a pending row.
    pub fn refuse_row(&self, row: RowRef, reason: RowRefusal) -> Result<(), StorageError> {
        let operation = Operation::on_runs("refuse_row").in_background().light();
        self.write(operation, |statements| {
            statements.rows(LOCK, values![row.batch])?;
            statements.execute(REFUSE, values![row.batch, row.position, reason.as_str()]).map(drop)
        })
    }

    /// Records that an account has not enough credits for its batches. They are tried again after that time.
    pub fn wait_for_credits(&self, account: AccountId, pause: Duration) -> Result<(), StorageError> {
        let operation = Operation::on_runs("wait_for_credits").in_background().light();
        self.write(operation, |statements| {
            statements.execute(WAIT, values![account, millis(pause)]).map(drop)
        })
    }

    /// Ends the batches with no row that is pending and no run that is running, and reports each to the webhooks of its
    /// account, once. Returns them.
    pub fn end_batches(&self, simulated: bool) -> Result<Vec<BatchId>, StorageError> {
        let operation = Operation::on_runs("end_batches").in_background();
        let mut ended = Vec::new();
        for row in self.rows(operation, OVER, values![simulated])? {
            let id: BatchId = row.get(0)?;
            let is_ended = self.write(operation, |statements| {
                let rows = statements.rows(END, values![id])?;
                let Some(row) = rows.first() else { return Ok(false) };
                report_end_of_batch(statements, &read_batch(row)?)?;
                Ok(true)
            })?;
            ended.extend(is_ended.then_some(id));
        }
        Ok(ended)
    }
}

fn add(statements: &mut dyn Statements, batch: &NewBatch, by: &Origin) -> Result<BatchAdded, StorageError> {
    let NewBatch { id, account, name, simulated, created_at, rows, idempotency } = batch;
    if !lock_shared(statements, *account)? {
        return Ok(BatchAdded::UnknownAccount);
    }
    if let Some(idempotency) = idempotency {
        // A key stands for one run or for one batch.
        match note_request(statements, *account, RunId(id.0), *created_at, idempotency)? {
            None => {}
            Some(Started::Repeated(RunId(earlier))) => return Ok(BatchAdded::Repeated(BatchId(earlier))),
            Some(_) => return Ok(BatchAdded::Mismatch),
        }
    }
    let name = name.as_deref().map(plain);
    let values = values![*id, *account, name, *simulated, *created_at, idempotency.is_none()];
    statements.execute(INSERT, values)?;
    let encoded = rows.iter().map(|(position, search)| Ok((position, encode(search)?)));
    let encoded = encoded.collect::<Result<Vec<_>, StorageError>>()?;
    statements.execute(INSERT_ROWS, values![*id, encode(&encoded)?])?;
    let event = AuditEvent::of_object(Action::BatchCreated, *account, id).with("searches", rows.len());
    note(statements, &event, *created_at, by)?;
    Ok(BatchAdded::Done)
}

/// Reads a row of [`batch_columns`].
fn read_batch(row: &Row) -> Result<Batch, StorageError> {
    Ok(Batch {
        id: row.get(0)?,
        account: row.get(1)?,
        name: row.get(2)?,
        simulated: row.get(3)?,
        created_at: row.get(4)?,
        stopped_at: row.get(5)?,
        ended_at: row.get(6)?,
        lacks_credits: row.get(7)?,
        counts: Counts {
            pending: number(row.get(8)?)?,
            running: number(row.get(9)?)?,
            completed: number(row.get(10)?)?,
            failed: number(row.get(11)?)?,
            refused: number(row.get(12)?)?,
            skipped: number(row.get(13)?)?,
        },
        began_at: row.get(14)?,
    })
}

fn read_rows(
    statements: &mut dyn Statements,
    id: BatchId,
    after: u32,
    count: usize,
) -> Result<Vec<BatchRow>, StorageError> {
    let rows = statements.rows(ROWS, values![id, after, limit(count)])?;
    let mut ids = Vec::new();
    for row in &rows {
        ids.extend(row.get::<Option<RunId>>(4)?.map(|run| run.0));
    }
    let runs = statements.rows(RUNS, values![encode_ids(ids)?])?;
    let runs = runs.iter().map(read_summary).collect::<Result<Vec<RunSummary>, _>>()?;
    let mut read = Vec::with_capacity(rows.len());
    for row in &rows {
        let state = match (row.text(2)?, row.get::<Option<RunId>>(4)?) {
            ("pending", _) => RowState::Pending,
            ("skipped", _) => RowState::Skipped,
            ("refused", _) => RowState::Refused(read_reason(row)?),
            (_, run) => match runs.iter().find(|known| Some(known.id) == run) {
                Some(run) => RowState::Started(Box::new(run.clone())),
                // The run was deleted between two statements, and the row with it.
                None => continue,
            },
        };
        read.push(BatchRow { position: number(row.get(0)?)?, search: decode(row.text(1)?)?, state });
    }
    Ok(read)
}

fn read_reason(row: &Row) -> Result<RowRefusal, StorageError> {
    RowRefusal::from_name(row.text(3)?)
        .ok_or_else(|| StorageError::broken("a row of a batch was refused for an unknown reason"))
}
