//! What every storage trait answers with when it cannot do its work.

use std::error::Error;
use std::fmt;

/// A failure of the store: a kind that callers decide by, and the driver's error as its boxed cause.
#[derive(Debug)]
pub struct StorageError {
    kind: StorageErrorKind,
    is_in_doubt: bool,
    is_contended: bool,
    cause: Box<dyn Error + Send + Sync>,
}

/// What callers can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageErrorKind {
    /// Not reachable, out of connections, out of disk, too slow: try again later.
    Unavailable,
    /// The database holds something that this program cannot read, or refuses a statement: a defect.
    Broken,
}

impl StorageError {
    /// The store cannot be reached or cannot take the data now.
    pub fn unavailable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(StorageErrorKind::Unavailable, cause.into())
    }

    /// The store answered something that must not happen.
    pub fn broken(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(StorageErrorKind::Broken, cause.into())
    }

    fn new(kind: StorageErrorKind, cause: Box<dyn Error + Send + Sync>) -> Self {
        Self { kind, is_in_doubt: false, is_contended: false, cause }
    }

    /// Others were at the same rows or tables: nothing was done, and the store itself is well.
    pub fn contended(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { is_contended: true, ..Self::unavailable(cause) }
    }

    /// The same failure of a commit: where the store went away, what was asked for may have been done.
    #[must_use]
    pub fn in_doubt(self) -> Self {
        Self { is_in_doubt: self.is_unavailable() && !self.is_contended, ..self }
    }

    /// Whether what was asked for may have been done: the answer to a commit was lost.
    pub fn is_in_doubt(&self) -> bool {
        self.is_in_doubt
    }

    /// Whether others were in the way: a lock, a deadlock, a conflict with what they wrote.
    pub fn is_contended(&self) -> bool {
        self.is_contended
    }

    /// The kind.
    pub fn kind(&self) -> StorageErrorKind {
        self.kind
    }

    /// Whether a later try may succeed.
    pub fn is_unavailable(&self) -> bool {
        self.kind == StorageErrorKind::Unavailable
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            StorageErrorKind::Unavailable => write!(f, "the store is unavailable: {}", self.cause),
            StorageErrorKind::Broken => write!(f, "the store is broken: {}", self.cause),
        }
    }
}

impl Error for StorageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.cause)
    }
}
