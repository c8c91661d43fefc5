//! `Journal::add_results`.

use super::Database;
use super::journal::driven;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::runs::entity::EntityKey;
use crate::runs::journal::{Batch, Lease, Write};
use crate::runs::run::ResultRecord;
use crate::store::document::encode_result;
use crate::store::row::bigint;

/// Only a known entity is passed over, unless it is known under its very id: then an earlier try was taken
/// after all. A new one under a taken id is an error: it must not vanish.
const ADD: &str = "INSERT INTO results (run, id, dedup, record, revision) \
     SELECT $1::uuid, r.id, r.dedup, r.record::json, $5::bigint \
     FROM unnest($2::bigint[], $3::bytea[], $4::text[]) AS r(id, dedup, record) \
     ON CONFLICT (run, dedup) DO NOTHING";
/// The revision is the newest try's, whether or not it brings anything else: its driver counts on that.
const ADD_AGAIN: &str = "UPDATE results SET record = r.record::json, revision = $5::bigint \
     FROM unnest($2::bigint[], $3::bytea[], $4::text[]) AS r(id, dedup, record) \
     WHERE results.run = $1 AND results.id = r.id AND results.dedup = r.dedup";
const CHANGE: &str = "UPDATE results SET dedup = r.dedup, record = r.record::json, revision = $5::bigint \
     FROM unnest($2::bigint[], $3::bytea[], $4::text[]) AS r(id, dedup, record) \
     WHERE results.run = $1 AND results.id = r.id";

/// Results as columns.
struct Columns {
    ids: Vec<i64>,
    keys: Vec<[u8; 16]>,
    records: Vec<String>,
}

impl Columns {
    fn of(results: &[ResultRecord]) -> Result<Self, StorageError> {
        Ok(Self {
            ids: results.iter().map(|record| i64::from(record.id)).collect(),
            keys: results.iter().map(|record| EntityKey::of(record).0).collect(),
            records: results.iter().map(encode_result).collect::<Result<_, _>>()?,
        })
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.keys.iter().map(<[u8; 16]>::as_slice).collect()
    }
}

impl Database {
    pub(super) fn write_results(
        &self,
        run: RunId,
        lease: Lease,
        batch: &Batch,
    ) -> Result<Write, StorageError> {
        let (added, changed) = (Columns::of(&batch.added)?, Columns::of(&batch.changed)?);
        let (revision, epoch) = (bigint(batch.revision)?, bigint(lease.epoch)?);
        self.write(|work| {
            // The run's row is locked: nobody takes the run over between this look and the commit.
            let sql = concat!("SELECT 1 FROM runs WHERE ", driven!(), " FOR NO KEY UPDATE");
            if work.query(sql, &[&run.0, &lease.owner.0, &epoch])?.is_empty() {
                return Ok(Write::LeaseLost);
            }
            let mut put = |sql: &'static str, columns: &Columns| {
                if columns.ids.is_empty() {
                    return Ok(0);
                }
                work.execute(sql, &[&run.0, &columns.ids, &columns.keys(), &columns.records, &revision])
            };
            let new = put(ADD, &added)?;
            if new < added.ids.len() as u64 {
                put(ADD_AGAIN, &added)?;
            }
            put(CHANGE, &changed)?;
            let sql = "UPDATE runs SET total_results = total_results + $2, \
                 revision = GREATEST(revision, $3) WHERE id = $1";
            work.execute(sql, &[&run.0, &bigint(new)?, &revision])?;
            Ok(Write::Done)
        })
    }
}
