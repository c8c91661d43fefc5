//! What the driver of a run stores (results, the reports of modules, look-ups), and what readers have not read of it.

use super::*;
use crate::model::entity::EntityKey;
use crate::store::document::{encode_reports, encode_result};

/// Selects the results of a run in order. `?1` is the run, `?2` the id after which they start, `?3` the maximum
/// number.
pub(super) const RESULTS: &str = "SELECT record FROM results WHERE run = ?1 AND id > ?2 ORDER BY id LIMIT ?3";

/// Selects a run and what a reader has not read: at most `?6` results with ids above `?4` that were written in revision
/// `?3` or later and, with the last of them, the reports from that revision on, up to revision `?5`. It is one statement, so
/// that all is from one moment.
const CHANGES: &str = "WITH page AS (SELECT id, record/*pg ::text */ AS record FROM results WHERE run = ?1 \
     AND id > ?4 AND revision >= ?3 ORDER BY id LIMIT ?6) SELECT {row}, (SELECT string_agg(record, ',' \
     ORDER BY id) FROM page), CASE WHEN (SELECT count(*) FROM page) < ?6 THEN \
     (SELECT string_agg(reports, ',' ORDER BY first) FROM module_reports WHERE run = ?1 AND revision >= ?3 \
     AND revision < ?5) END FROM runs WHERE id = ?1 AND account = ?2";

/// Selects how far runs have got.
const REVISIONS: &str = "SELECT id, revision, status FROM runs WHERE id IN {ids ?1} ORDER BY id";

/// Locks the run's row, so that no other instance takes the run over between this statement and the commit.
const LOCK: &str = "SELECT 1 FROM runs WHERE {driven} /*pg FOR NO KEY UPDATE */";

/// Adds the results of a delta. A known entity is left out, unless an earlier try of the same write has stored it under
/// its id: then it gets the revision of this try even if nothing else changes, because the driver relies on it. A new
/// entity with a used id is an error, because it must not be lost.
const ADD: &str = "INSERT INTO results (run, id, dedup, record, revision) \
     SELECT r.run, r.id, r.dedup, r.record, ?2 FROM {results} WHERE true ON CONFLICT (run, dedup) \
     DO UPDATE SET record = excluded.record, revision = excluded.revision WHERE results.id = excluded.id";
const CHANGE: &str = "UPDATE results SET dedup = r.dedup, record = r.record, revision = ?2 FROM {results} \
     WHERE results.run = r.run AND results.id = r.id";
/// Adds the reports of modules that have ended. `?2` is the number of the reports before them. A try whose answer was
/// lost may have stored some of them.
const REPORT: &str = "INSERT INTO module_reports (run, first, revision, reports) VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (run, first) DO UPDATE SET revision = excluded.revision, reports = excluded.reports";
const SAVE: &str =
    "UPDATE runs SET {saved}, lease_until = now() + ms(?10) WHERE {driven} RETURNING stopped_at";
/// Saves and ends a run, and releases the lease.
const FINISH: &str = "UPDATE runs SET {saved}, lease_until = NULL, owner = NULL, planned = '[]', status = ?10, \
     completed_at = ?11, error = ?12, credits_charged = CASE WHEN ?10 = 'failed' THEN 0 ELSE credits_charged END \
     WHERE {driven} RETURNING stopped_at";

/// Adds or replaces the thumbnail of a result.
const ADD_THUMBNAIL: &str = "INSERT INTO thumbnails (run, result, png) VALUES (?1, ?2, ?3) \
     ON CONFLICT (run, result) DO UPDATE SET png = excluded.png";
pub(super) const KEEP: &str =
    "INSERT INTO evidence (run, sha256, answer) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
const KEPT: &str = "SELECT answer FROM evidence WHERE run = ?1 AND sha256 = ?2";
const ONE: &str = "SELECT png FROM thumbnails WHERE run = ?1 AND result = ?2";
const ALL: &str = "SELECT result, png FROM thumbnails WHERE run = ?1 ORDER BY result";

/// Saves a delta, and renews the lease or ends the run, if the lease is still valid.
pub(super) fn save(
    tx: &mut Tx,
    run: RunId,
    lease: Lease,
    delta: &Delta,
    end: Result<Duration, &Ending>,
) -> Result<Write> {
    let has_new = !delta.added.is_empty();
    let has_results = has_new || !delta.changed.is_empty();
    let has_content = has_results || !delta.thumbnails.is_empty() || !delta.evidence.is_empty();
    if has_content && !tx.has(LOCK, values![run, lease.owner.0, lease.epoch])? {
        return Ok(Write::LeaseLost);
    }
    let revision = delta.revision;
    if has_new {
        tx.execute(ADD, values![encode_batch(run, &delta.added)?, revision])?;
    }
    if !delta.changed.is_empty() {
        tx.execute(CHANGE, values![encode_batch(run, &delta.changed)?, revision])?;
    }
    for (result, png) in &delta.thumbnails {
        tx.execute(ADD_THUMBNAIL, values![run, *result, png.as_slice()])?;
    }
    for (sha256, answer) in &delta.evidence {
        tx.execute(KEEP, values![run, sha256.as_str(), &**answer])?;
    }
    let Delta { progress, coverage, lookups, links, .. } = delta;
    let mut values = values![run, lease.owner.0, lease.epoch, encode(progress)?, encode(coverage)?];
    values.extend(values![encode(lookups)?, revision, has_new, links.as_deref()]);
    let sql = match end {
        Ok(holds) => {
            values.extend(values![holds]);
            SAVE
        }
        Err(ending) => {
            let error = ending.error.as_ref().map(encode).transpose()?;
            values.extend(values![ending.status(), ending.completed_at, error]);
            FINISH
        }
    };
    let Some(stopped_at) = tx.first::<Option<Timestamp>>(sql, values)? else { return Ok(Write::LeaseLost) };
    if !delta.reports.is_empty() {
        let first = u64::from(progress.modules_completed).saturating_sub(delta.reports.len() as u64);
        tx.execute(REPORT, values![run, first, revision, encode_reports(&delta.reports)?])?;
    }
    Ok(stopped_at.map_or(Write::Done, Write::Stopped))
}

impl Store {
    /// Returns what a reader at that position has not read of a run of that account, with at most `most` results, and
    /// without those up to `left_out`. Returns `None` if the run is unknown, deleted or of another account.
    pub fn changes(
        &self,
        run: RunId,
        account: AccountId,
        at: Position,
        left_out: u32,
        most: usize,
    ) -> Result<Option<Changes>> {
        let after = at.page.map_or(left_out, |page| page.result.max(left_out));
        let end = at.page.map_or(u64::MAX, |page| page.end);
        let values = values![run, account, at.next, after, end, most];
        let found = self.first::<(RunSummary, Vec<ResultRecord>, _)>("changes", CHANGES, values)?;
        let Some((summary, results, reports)) = found else { return Ok(None) };
        let behind = at.behind(summary.revision);
        let end = match (results.last(), at.page) {
            (Some(last), page) if results.len() >= most => {
                let end = page.map_or(behind.next, |page| page.end);
                Position { page: Some(ReadPage { result: last.id, end }), ..at }
            }
            (_, Some(page)) => Position { next: page.end, page: None },
            (_, None) => behind,
        };
        Ok(Some(Changes { summary, results, reports, end }))
    }

    /// Returns the revision and the status of each of the runs that exist, in the order of their ids.
    pub fn revisions(&self, runs: impl IntoIterator<Item = RunId>) -> Result<Vec<(RunId, u64, Status)>> {
        let ids = encode_ids(runs.into_iter().map(|run| run.0))?;
        self.all(background("revisions"), REVISIONS, values![ids])
    }

    /// Returns the thumbnail of a result as a PNG.
    pub fn thumbnail(&self, run: RunId, result: u32) -> Result<Option<Vec<u8>>> {
        self.first("thumbnail", ONE, values![run, result])
    }

    /// Returns the kept answer of a run with that SHA-256, compressed with gzip.
    pub fn evidence(&self, run: RunId, sha256: &str) -> Result<Option<Vec<u8>>> {
        self.first("evidence", KEPT, values![run, sha256])
    }

    /// Returns all thumbnails of a run as PNGs, by the ids of their results.
    pub fn thumbnails(&self, run: RunId) -> Result<Thumbnails> {
        Ok(self.all("thumbnails", ALL, values![run])?.into_iter().collect())
    }
}

/// Encodes results for the fragment `results`.
fn encode_batch(run: RunId, results: &[ResultRecord]) -> Result<String> {
    let element = |record: &ResultRecord| {
        Ok((run.0, record.id, Uuid::from_bytes(EntityKey::of(record).0), encode_result(record)?))
    };
    encode(&results.iter().map(element).collect::<Result<Vec<_>>>()?)
}
