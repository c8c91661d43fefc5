//! Thumbnails of results.

use super::fragments::driven;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::{Lease, Write};
use crate::model::run::Thumbnails;
use crate::store::Store;
use crate::store::backend::Operation;
use crate::store::value::values;

/// Adds or replaces a thumbnail if the lease of the run is valid. `?4` is the result.
const KEEP: &str = concat!(
    "INSERT INTO thumbnails (run, result, png) SELECT id, ?4, ?5 FROM runs WHERE ",
    driven!(),
    " ON CONFLICT (run, result) DO UPDATE SET png = excluded.png RETURNING 1"
);
const ONE: &str = "SELECT png FROM thumbnails WHERE run = ?1 AND result = ?2";
const ALL: &str = "SELECT result, png FROM thumbnails WHERE run = ?1 ORDER BY result";

impl Store {
    /// Stores the thumbnail of a stored result as a PNG, or replaces it. It is deleted with its result.
    pub fn keep_thumbnail(
        &self,
        run: RunId,
        lease: Lease,
        result: u32,
        png: &[u8],
    ) -> Result<Write, StorageError> {
        let operation = Operation::new("keep_thumbnail").in_background().light();
        let values = values![run, lease.owner.0, lease.epoch, result, png];
        let kept = self.change(operation, KEEP, values)?;
        Ok(if kept.is_empty() { Write::LeaseLost } else { Write::Done })
    }

    /// Returns the thumbnail of a result as a PNG.
    pub fn thumbnail(&self, run: RunId, result: u32) -> Result<Option<Vec<u8>>, StorageError> {
        self.first(Operation::new("thumbnail"), ONE, values![run, result])
    }

    /// Returns all thumbnails of a run as PNGs, by the ids of their results.
    pub fn thumbnails(&self, run: RunId) -> Result<Thumbnails, StorageError> {
        Ok(self.all(Operation::new("thumbnails"), ALL, values![run])?.into_iter().collect())
    }
}
