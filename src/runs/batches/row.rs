//! [`RowRef`]: names a row of a batch.

use crate::base::ids::BatchId;

/// Names a row of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRef {
    /// The batch.
    pub batch: BatchId,
    /// The place of the search in the request, from 1.
    pub position: u32,
}
