//! Metrics of the store's operations: their durations and failures.

use std::time::Duration;

use crate::base::count::{Counter, DurationHistogram};
use crate::base::storage::{StorageError, StorageErrorKind};

/// The metrics of one operation that was used at least once.
#[derive(Debug, Default)]
pub struct OperationMetrics {
    /// The durations of the operation, failures included.
    pub durations: DurationHistogram,
    /// The number of times that the operation failed because the store was unavailable.
    pub unavailable: Counter,
    /// The number of times that the operation failed because of a defect in the data or in a statement.
    pub broken: Counter,
}

impl OperationMetrics {
    pub(super) fn note(&self, took: Duration, failure: Option<&StorageError>) {
        self.durations.note(took);
        match failure.map(StorageError::kind) {
            Some(StorageErrorKind::Unavailable) => self.unavailable.one(),
            Some(StorageErrorKind::Broken) => self.broken.one(),
            None => {}
        }
    }
}
