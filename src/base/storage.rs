//! [`StorageError`]: the error of the store.

use std::error::Error;
use std::io;
use std::sync::Arc;

use log::Level;

/// A failure of the store: a kind that callers can act on, and the driver's error as its shared source.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the store is {}: {cause}", if *kind == Kind::Broken { "broken" } else { "unavailable" })]
pub struct StorageError {
    kind: Kind,
    #[source]
    cause: Arc<Box<dyn Error + Send + Sync>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unavailable,
    Contended,
    Unconfirmed,
    Broken,
}

impl From<StorageError> for io::Error {
    /// Lets a document fail as its output does, while it is written from the store.
    fn from(error: StorageError) -> Self {
        Self::other(error)
    }
}

impl StorageError {
    /// Returns whether an error of an output is one of the store.
    pub fn is_in(error: &io::Error) -> bool {
        error.get_ref().is_some_and(<dyn Error + Send + Sync>::is::<Self>)
    }

    /// Creates an error for a store that cannot be reached, or is out of connections, out of disk or too slow. A later try
    /// may succeed.
    pub fn unavailable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind: Kind::Unavailable, cause: Arc::new(cause.into()) }
    }

    /// Creates an error for rows or tables that others had locked. Nothing was done, and the store itself is available.
    pub fn contended(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind: Kind::Contended, cause: Arc::new(cause.into()) }
    }

    /// Creates an error for data that this program cannot read, or for a statement that the database refuses, which is a
    /// defect.
    pub fn broken(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind: Kind::Broken, cause: Arc::new(cause.into()) }
    }

    /// Marks this failure as one of a commit: if the store went away, the transaction may have been committed.
    #[must_use]
    pub fn unconfirmed(self) -> Self {
        Self { kind: if self.kind == Kind::Unavailable { Kind::Unconfirmed } else { self.kind }, ..self }
    }

    /// Returns whether the transaction may have been committed: the answer to its commit was lost.
    pub fn is_unconfirmed(&self) -> bool {
        self.kind == Kind::Unconfirmed
    }

    /// Returns whether the failure was a lock, a deadlock or a conflict with another transaction.
    pub fn is_contended(&self) -> bool {
        self.kind == Kind::Contended
    }

    /// Returns the level at which a caller logs the failure. The store itself logs once that it is unavailable.
    pub fn log_level(&self) -> Level {
        if self.is_unavailable() { Level::Debug } else { Level::Warn }
    }

    /// Returns whether a later try may succeed.
    pub fn is_unavailable(&self) -> bool {
        self.kind != Kind::Broken
    }
}
