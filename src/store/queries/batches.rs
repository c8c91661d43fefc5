//! Batches and their rows. A row is started in `start`.

use super::accounts::{lock, too_many};
use super::credits::{New, note_request};
use super::outbox::report_end_of_batch;
use super::*;

/// The most batches of an account that have not ended.
const MOST_OPEN: u64 = 100;
const INSERT: &str = "INSERT INTO batches (id, account, name, simulated, created_at, unconfirmed) VALUES (?1, ?2, ?3, ?4, {now}, ?5)";
/// Adds rows. `?2` is an array of `[POSITION, SEARCH]`.
const INSERT_ROWS: &str = "INSERT INTO batch_rows (batch, position, search, state) \
     SELECT ?1, CAST(value ->> 0 AS bigint), value ->> 1, 'pending' FROM json_each(?2)";

row! {
    Batch from "" {
        id, account, name, simulated, created_at, stopped_at, ended_at,
        status = "CASE WHEN stopped_at IS NOT NULL THEN 'stopped' WHEN ended_at IS NOT NULL THEN 'completed' \
                  WHEN retry_at IS NOT NULL THEN 'waiting_for_credits' ELSE 'running' END",
        total = "pending + running + completed + failed + refused + skipped", counts,
        eta_seconds = "CASE WHEN retry_at IS NULL AND began_at <= now() AND pending + running > 0 AND completed + failed > 0 \
                       THEN (CAST(/*pg extract(epoch FROM */ now() - began_at /*pg ) * 1000 */ AS bigint) / 1000 \
                       * (pending + running) + completed + failed - 1) / (completed + failed) END"
    }
}

row! { Counts from "" { pending, running, completed, failed, refused, skipped } }

impl FromRow for BatchRow {
    /// A later version may have stored a search that this one cannot read. It has a type and a query at most.
    fn from_row(row: &mut Row) -> Result<Self> {
        let (position, search) = row.read::<(_, Result<serde_json::Value>)>()?;
        let search = search.unwrap_or_default();
        let part = |name: &str| search[name].as_str().unwrap_or_default();
        let search_type = SearchType::from_name(part("type")).unwrap_or(SearchType::Username);
        let query = part("query").to_owned();
        let (status, reason, run, total_results, stopped_at) = row.read()?;
        Ok(Self { position, search_type, query, status, reason, run, total_results, stopped_at, search })
    }

    fn columns() -> String {
        "w.position, w.search, coalesce(r.status, w.state), w.reason, w.run, r.total_results, r.stopped_at"
            .into()
    }
}

row! { RowRef from "r." { batch, position } }
row! { NextRow from "r." { row, account = "b.account", search } }

const BATCH: &str = "SELECT {row} FROM batches WHERE id = ?1 AND account = ?2";
const LIST: &str = "SELECT {row} FROM batches WHERE account = ?1 AND (created_at, id) < (?2, ?3) \
     ORDER BY created_at DESC, id DESC LIMIT ?4";
const ROWS: &str = "SELECT {row} FROM batch_rows w LEFT JOIN runs r ON r.id = w.run \
     WHERE w.batch = ?1 AND w.position > ?2 ORDER BY w.position LIMIT ?3";
const REPORTS: &str = "SELECT r.id, {reports r.id} FROM runs r JOIN (SELECT run FROM batch_rows \
     WHERE batch = ?1 AND position > ?2 ORDER BY position LIMIT ?3) w ON w.run = r.id";

const STOP: &str = "UPDATE batches SET stopped_at = {now}, retry_at = NULL \
     WHERE id = ?1 AND account = ?2 AND stopped_at IS NULL AND ended_at IS NULL RETURNING 1";
const SKIP_ROWS: &str = "UPDATE batch_rows SET state = 'skipped' WHERE batch = ?1 AND state = 'pending'";

/// Selects the row that is to be started next, of other batches than `?3`. The account whose batches have the lowest turn
/// comes first, and of its batches the oldest.
const NEXT: &str = "SELECT {row} FROM (SELECT b.id, b.account FROM batches b \
     JOIN (SELECT account, max(turn) AS turn FROM batches WHERE ended_at IS NULL GROUP BY account) AS a ON a.account = b.account \
     WHERE b.ended_at IS NULL AND b.stopped_at IS NULL AND NOT b.unconfirmed \
     AND b.simulated = ?1 AND (b.retry_at IS NULL OR b.retry_at <= now()) AND b.pending > 0 AND b.id NOT IN {ids ?3} \
     AND NOT EXISTS (SELECT 1 FROM accounts a WHERE a.id = b.account AND a.plan = ?2) \
     ORDER BY a.turn, b.created_at, b.id LIMIT 1) AS b JOIN batch_rows r ON r.batch = b.id AND r.state = 'pending' \
     ORDER BY r.position LIMIT 1";
/// Locks the batch of a row, as where a row is started: before the row.
const LOCK: &str = "SELECT 1 FROM batches WHERE id = ?1 /*pg FOR NO KEY UPDATE */";
const REFUSE: &str = "UPDATE batch_rows SET state = 'refused', reason = ?3 \
     WHERE batch = ?1 AND position = ?2 AND state = 'pending'";
const WAIT: &str = "UPDATE batches SET retry_at = now() + ms(?2) WHERE id IN (SELECT id FROM batches \
     WHERE account = ?1 AND ended_at IS NULL AND stopped_at IS NULL ORDER BY id /*pg FOR NO KEY UPDATE */)";

/// Selects batches with nothing left to do.
const OVER: &str = "SELECT id FROM batches WHERE simulated = ?1 AND ended_at IS NULL AND pending = 0 AND running = 0 LIMIT 100";
const END: &str = "UPDATE batches SET ended_at = {now}, retry_at = NULL \
     WHERE id = ?1 AND ended_at IS NULL AND pending = 0 AND running = 0 RETURNING {row}";

impl Store {
    /// Adds a batch with all its rows, and an audit entry.
    pub fn add_batch(&self, batch: &NewBatch, by: &Origin) -> Result<Started> {
        let is_created = |added: &Started| *added == Started::Created;
        let (id, may_be_undone) = (batch.id.value(), batch.idempotency.is_none());
        let new =
            New { operation: "add_batch", confirm: "{confirm batches}", id, may_be_undone, is_driven: false };
        self.create(&new, is_created, |tx| add(tx, batch, by))
    }

    /// Returns a batch of that account, or `None` if there is none with that id.
    pub fn batch(&self, account: AccountId, id: BatchId) -> Result<Option<Batch>> {
        self.first("batch", BATCH, values![id, account])
    }

    /// Returns at most `count` batches of an account before a place in the order of `(created_at, id)`, the newest
    /// first.
    pub fn batches(
        &self,
        account: AccountId,
        before: Option<(Timestamp, BatchId)>,
        count: usize,
    ) -> Result<Vec<Batch>> {
        let (before, id) = before.unwrap_or((Timestamp::MAX, BatchId(Uuid::max())));
        let values = values![account, before, id, count];
        self.all("batches", LIST, values)
    }

    /// Returns at most `count` rows of a batch with positions above `after`, in order.
    pub fn batch_rows(&self, id: BatchId, after: u32, count: usize) -> Result<Vec<BatchRow>> {
        self.all("batch_rows", ROWS, values![id, after, count])
    }

    /// Returns the reports of the modules that have ended, of the runs of the rows with positions above `after`, at most
    /// `count` of them.
    pub fn batch_reports(
        &self,
        id: BatchId,
        after: u32,
        count: usize,
    ) -> Result<Vec<(RunId, Vec<ModuleReport>)>> {
        self.all("batch_reports", REPORTS, values![id, after, count])
    }

    /// Stops a batch: no further row is started. Adds an audit entry unless it was stopped or had ended before. Returns
    /// `false` if the account has no such batch.
    pub fn stop_batch(&self, account: AccountId, id: BatchId, by: &Origin) -> Result<bool> {
        self.write("stop_batch", |tx| {
            if !tx.has(STOP, values![id, account])? {
                return Ok(tx.first::<Batch>(BATCH, values![id, account])?.is_some());
            }
            let skipped = tx.execute(SKIP_ROWS, values![id])?;
            let event = AuditEvent::of_object(Action::BatchStopped, account, id).with("skipped", skipped);
            tx.note(&event, by)?;
            Ok(true)
        })
    }

    /// Returns the row that is to be started next on the simulated or the real web. Accounts take turns. Batches that
    /// wait for credits are left out until their next try, and those that are `held`.
    pub fn next_row(&self, simulated: bool, held: &[BatchId]) -> Result<Option<NextRow>> {
        let held = encode_ids(held.iter().map(|id| id.0))?;
        self.first(background("next_row"), NEXT, values![simulated, BEING_DELETED, held])
    }

    /// Refuses a pending row.
    pub fn refuse_row(&self, row: RowRef, reason: RowRefusal) -> Result<()> {
        self.write(background("refuse_row").light(), |tx| {
            tx.has(LOCK, values![row.batch])?;
            tx.execute(REFUSE, values![row.batch, row.position, reason.as_str()]).map(drop)
        })
    }

    /// Records that an account has not enough credits for its batches. They are tried again after that time.
    pub fn wait_for_credits(&self, account: AccountId, pause: Duration) -> Result<()> {
        self.change(background("wait_for_credits").light(), WAIT, values![account, pause]).map(drop)
    }

    /// Ends the batches with no row that is pending and no run that is running, and reports each to the webhooks of its
    /// account, once. Returns them. One that cannot be ended is logged, and holds up no other.
    pub fn end_batches(&self, simulated: bool) -> Result<Vec<BatchId>> {
        let operation = background("end_batches");
        let mut ended = Vec::new();
        for id in self.all::<BatchId>(operation, OVER, values![simulated])? {
            let is_ended = self.write(operation, |tx| {
                let Some(batch) = tx.first(END, values![id])? else { return Ok(false) };
                report_end_of_batch(tx, &batch)?;
                Ok(true)
            });
            match is_ended {
                Err(error) if !error.is_unavailable() => log::error!("batch {id}: cannot be ended: {error}"),
                is_ended => ended.extend(is_ended?.then_some(id)),
            }
        }
        Ok(ended)
    }
}

fn add(tx: &mut Tx, batch: &NewBatch, by: &Origin) -> Result<Started> {
    let NewBatch { id, account, name, simulated, rows, idempotency } = batch;
    if !lock(tx, *account)? {
        return Ok(Started::Refused(Refusal::unknown_key()));
    }
    // A key belongs to one run or for one batch.
    if let Some(idempotency) = idempotency
        && let Some(known) = note_request(tx, *account, RunId(id.0), idempotency)?
    {
        return Ok(known);
    }
    let open = "SELECT count(*) FROM batches WHERE account = ?1 AND ended_at IS NULL";
    if tx.one::<u64>(open, values![*account])? >= MOST_OPEN {
        return Ok(Started::Refused(too_many(&format!("{MOST_OPEN} batches in progress: stop"))));
    }
    let values = values![*id, *account, name.as_deref(), *simulated, idempotency.is_none()];
    tx.execute(INSERT, values)?;
    let encoded = rows.iter().map(|(position, search)| Ok((position, encode(search)?)));
    let encoded = encoded.collect::<Result<Vec<_>>>()?;
    tx.execute(INSERT_ROWS, values![*id, encode(&encoded)?])?;
    let event = AuditEvent::of_object(Action::BatchCreated, *account, id).with("searches", rows.len());
    tx.note(&event, by)?;
    Ok(Started::Created)
}
