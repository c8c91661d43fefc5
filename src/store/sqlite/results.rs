//! `Journal::add_results`.

use rusqlite::{Transaction, params};

use super::error::storage;
use super::journal::driven;
use super::{Database, Durability};
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::runs::entity::EntityKey;
use crate::runs::journal::{Batch, Lease, Write};
use crate::runs::run::ResultRecord;
use crate::store::document::encode_result;
use crate::store::row::bigint;

/// Only a known entity is passed over. A new one under a taken id is an error: it must not vanish.
const ADD: &str = "INSERT INTO results (run, id, dedup, record, revision) \
     SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (SELECT 1 FROM results WHERE run = ?1 AND dedup = ?3)";
/// An earlier try was taken after all. The revision is the newest try's, whether or not it brings anything
/// else: its driver counts on that.
const ADD_AGAIN: &str = "UPDATE results SET record = ?4, revision = ?5 \
     WHERE run = ?1 AND id = ?2 AND dedup = ?3";
const CHANGE: &str = "UPDATE results SET dedup = ?3, record = ?4, revision = ?5 \
     WHERE run = ?1 AND id = ?2";

impl Database {
    pub(super) fn write_results(
        &self,
        run: RunId,
        lease: Lease,
        batch: &Batch,
    ) -> Result<Write, StorageError> {
        let encode =
            |records: &[ResultRecord]| records.iter().map(encode_result).collect::<Result<Vec<_>, _>>();
        let (added, changed) = (encode(&batch.added)?, encode(&batch.changed)?);
        let revision = bigint(batch.revision)?;
        self.write(Durability::Process, |tx| {
            if !is_driven_under(tx, run, lease)? {
                return Ok(Write::LeaseLost);
            }
            let put = |sql: &str, record: &ResultRecord, text: &str| {
                let key = EntityKey::of(record).0;
                tx.prepare_cached(sql)
                    .and_then(|mut statement| {
                        statement.execute(params![run.0, record.id, key, text, revision])
                    })
                    .map_err(storage)
            };
            let mut new = 0;
            for (record, text) in batch.added.iter().zip(&added) {
                match put(ADD, record, text)? {
                    0 => put(ADD_AGAIN, record, text)?,
                    rows => {
                        new += rows;
                        rows
                    }
                };
            }
            for (record, text) in batch.changed.iter().zip(&changed) {
                put(CHANGE, record, text)?;
            }
            count(tx, run, new, revision)?;
            Ok(Write::Done)
        })
    }
}

fn is_driven_under(tx: &Transaction<'_>, run: RunId, lease: Lease) -> Result<bool, StorageError> {
    let epoch = bigint(lease.epoch)?;
    tx.prepare_cached(concat!("SELECT 1 FROM runs WHERE ", driven!()))
        .and_then(|mut statement| statement.exists(params![run.0, lease.owner.0, epoch]))
        .map_err(storage)
}

fn count(tx: &Transaction<'_>, run: RunId, new: usize, revision: i64) -> Result<(), StorageError> {
    let new = bigint(new)?;
    let sql =
        "UPDATE runs SET total_results = total_results + ?2, revision = max(revision, ?3) WHERE id = ?1";
    tx.prepare_cached(sql)
        .and_then(|mut statement| statement.execute(params![run.0, new, revision]).map(drop))
        .map_err(storage)
}
