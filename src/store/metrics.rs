//! Metrics of the store's operations: their durations and failures.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::base::count::{Counter, DurationHistogram, HistogramSnapshot};
use crate::base::storage::{StorageError, StorageErrorKind};

/// The metrics of all operations, by name.
#[derive(Default)]
pub struct StoreMetrics {
    operations: Mutex<BTreeMap<&'static str, OperationMetrics>>,
}

#[derive(Default)]
struct OperationMetrics {
    durations: DurationHistogram,
    unavailable: Counter,
    broken: Counter,
}

/// The metrics of one operation that was used at least once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperationReport {
    /// The operation's name.
    pub name: &'static str,
    /// The durations of the operation, failures included.
    pub spread: HistogramSnapshot,
    /// The number of times that the operation failed because the store was unavailable.
    pub unavailable: u64,
    /// The number of times that the operation failed because of a defect in the data or in a statement.
    pub broken: u64,
}

impl StoreMetrics {
    /// Returns the metrics of all operations that were used, sorted by name.
    pub fn operations(&self) -> Vec<OperationReport> {
        let operations = self.operations.lock();
        let reports = operations.iter().map(|(name, figures)| OperationReport {
            name,
            spread: figures.durations.snapshot(),
            unavailable: figures.unavailable.get(),
            broken: figures.broken.get(),
        });
        reports.collect()
    }

    pub(super) fn note(&self, name: &'static str, took: Duration, failure: Option<&StorageError>) {
        let mut operations = self.operations.lock();
        let figures = operations.entry(name).or_default();
        figures.durations.note(took);
        match failure.map(StorageError::kind) {
            Some(StorageErrorKind::Unavailable) => figures.unavailable.one(),
            Some(StorageErrorKind::Broken) => figures.broken.one(),
            None => {}
        }
    }
}
