//! Results of runs.

use uuid::Uuid;

use super::fragments::driven;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::{Delta, Lease, Write};
use crate::model::entity::EntityKey;
use crate::model::run::ResultRecord;
use crate::store::backend::Statements;
use crate::store::document::{encode, encode_result};
use crate::store::value::values;

/// Selects the results of a run in order. `?1` is the run, `?2` the id after which they start, `?3` the maximum
/// number.
pub(super) const RESULTS: &str = "SELECT record FROM results WHERE run = ?1 AND id > ?2 ORDER BY id LIMIT ?3";

/// Selects the results of a run with an id above `?4`, and those that were written after revision `?3` and up to
/// revision `?5`. The other parameters are those of [`RESULTS`], and the maximum number is `?6`.
pub(super) const CHANGES: &str = "SELECT record FROM results \
     WHERE run = ?1 AND id > ?2 AND (revision > ?3 AND revision <= ?5 OR id > ?4) ORDER BY id LIMIT ?6";

/// Locks the run's row, so that no other instance takes the run over between this statement and the commit.
const LOCK: &str = concat!("SELECT 1 FROM runs WHERE ", driven!(), " /*pg FOR NO KEY UPDATE */");

/// The results of a delta. `?1` is an array of `[RUN, ID, KEY IN HEX, RECORD]`, `?2` is the revision. Each element
/// contains the run because of SQLite: with the run in a parameter, it would read all results of the run, and the
/// whole batch for each of them.
macro_rules! batch {
    () => {
        "(SELECT uuid(value ->> 0) AS run, CAST(value ->> 1 AS bigint) AS id, decode(value ->> 2, 'hex') AS dedup, \
         (value ->> 3)/*pg ::json */ AS record FROM json_each(?1)) AS r"
    };
}

/// Adds the results of a delta. A known entity is left out. A new entity with a used id is an error, because it must
/// not be lost.
const ADD: &str = concat!(
    "INSERT INTO results (run, id, dedup, record, revision) SELECT r.run, r.id, r.dedup, r.record, ?2 FROM ",
    batch!(),
    " WHERE true ON CONFLICT (run, dedup) DO NOTHING"
);
/// Replaces results that an earlier try of the same batch has stored under the same ids. The revision becomes that of
/// the newest try even if nothing else changes, because the driver relies on it.
const ADD_AGAIN: &str = concat!(
    "UPDATE results SET record = r.record, revision = ?2 FROM ",
    batch!(),
    " WHERE results.run = r.run AND results.id = r.id AND results.dedup = r.dedup"
);
const CHANGE: &str = concat!(
    "UPDATE results SET dedup = r.dedup, record = r.record, revision = ?2 FROM ",
    batch!(),
    " WHERE results.run = r.run AND results.id = r.id"
);
const COUNT: &str = "UPDATE runs SET total_results = total_results + ?2, revision = greatest(revision, ?3) \
     WHERE id = ?1";

/// Adds and replaces results of a run if the lease is still valid.
pub(super) fn add(
    statements: &mut dyn Statements,
    run: RunId,
    lease: Lease,
    delta: &Delta,
) -> Result<Write, StorageError> {
    if !statements.has(LOCK, values![run, lease.owner.0, lease.epoch])? {
        return Ok(Write::LeaseLost);
    }
    let revision = delta.revision;
    let mut new = 0;
    if !delta.added.is_empty() {
        let added = encode_batch(run, &delta.added)?;
        new = statements.execute(ADD, values![&added, revision])?;
        if new < delta.added.len() as u64 {
            statements.execute(ADD_AGAIN, values![&added, revision])?;
        }
    }
    if !delta.changed.is_empty() {
        statements.execute(CHANGE, values![encode_batch(run, &delta.changed)?, revision])?;
    }
    statements.execute(COUNT, values![run, new, revision])?;
    Ok(Write::Done)
}

/// Encodes results for `batch!`.
fn encode_batch(run: RunId, results: &[ResultRecord]) -> Result<String, StorageError> {
    let element = |record: &ResultRecord| {
        let key = Uuid::from_bytes(EntityKey::of(record).0).simple().to_string();
        Ok((run.0, record.id, key, encode_result(record)?))
    };
    encode(&results.iter().map(element).collect::<Result<Vec<_>, StorageError>>()?)
}
