//! [`StorageError`]: the error of the store.

use std::error::Error;

use log::Level;

/// A failure of the store: a kind that callers can act on, and the driver's error as its boxed source.
#[derive(Debug, thiserror::Error)]
#[error("the store is {}: {cause}", if *kind == StorageErrorKind::Broken { "broken" } else { "unavailable" })]
pub struct StorageError {
    kind: StorageErrorKind,
    is_unconfirmed: bool,
    is_contended: bool,
    #[source]
    cause: Box<dyn Error + Send + Sync>,
}

/// The kinds of failures that callers can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageErrorKind {
    /// The store is not reachable, out of connections, out of disk or too slow. A later try may succeed.
    Unavailable,
    /// The database holds something that this program cannot read, or refuses a statement, which is a defect.
    Broken,
}

impl StorageError {
    /// Creates an error for a store that cannot be reached or cannot take the data now.
    pub fn unavailable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(StorageErrorKind::Unavailable, cause.into())
    }

    /// Creates an error for an answer of the store that must not occur.
    pub fn broken(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(StorageErrorKind::Broken, cause.into())
    }

    fn new(kind: StorageErrorKind, cause: Box<dyn Error + Send + Sync>) -> Self {
        Self { kind, is_unconfirmed: false, is_contended: false, cause }
    }

    /// Creates an error for rows or tables that others had locked. Nothing was done, and the store itself is available.
    pub fn contended(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { is_contended: true, ..Self::unavailable(cause) }
    }

    /// Marks this failure as one of a commit: if the store went away, the transaction may have been committed.
    #[must_use]
    pub fn unconfirmed(self) -> Self {
        Self { is_unconfirmed: self.is_unavailable() && !self.is_contended, ..self }
    }

    /// Returns whether the transaction may have been committed: the answer to its commit was lost.
    pub fn is_unconfirmed(&self) -> bool {
        self.is_unconfirmed
    }

    /// Returns whether the failure was a lock, a deadlock or a conflict with another transaction.
    pub fn is_contended(&self) -> bool {
        self.is_contended
    }

    /// Returns the kind.
    pub fn kind(&self) -> StorageErrorKind {
        self.kind
    }

    /// Returns the level at which a caller logs the failure. The store itself logs once that it is unavailable.
    pub fn log_level(&self) -> Level {
        if self.is_unavailable() { Level::Debug } else { Level::Warn }
    }

    /// Returns whether a later try may succeed.
    pub fn is_unavailable(&self) -> bool {
        self.kind == StorageErrorKind::Unavailable
    }
}
