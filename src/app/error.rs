//! [`Failure`]: the error that ends a command.

use std::fmt::Display;

use crate::base::storage::StorageError;

/// An error that ends a command. Its text never contains a secret.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line, a variable or a file that it names must be changed.
    #[error("{0}")]
    Usage(String),
    /// The command failed while it ran, for example because an address is in use or a store cannot be reached.
    #[error("{0}")]
    Failed(String),
    /// Ctrl-C came before there was anything to write. Nothing is printed.
    #[error("interrupted")]
    Interrupted,
    /// The reader of the output has closed it. Nothing is printed.
    #[error("the output is closed")]
    OutputClosed,
}

impl Failure {
    /// Creates an error for a configuration that cannot be used, such as a catalogue file with mistakes.
    pub fn usage(cause: impl Display) -> Self {
        Self::Usage(cause.to_string())
    }

    /// Creates an error for a failure while the command runs.
    pub fn failed(cause: impl Display) -> Self {
        Self::Failed(cause.to_string())
    }

    /// Names the step that failed. The message starts with it.
    #[must_use]
    pub fn at(self, step: impl Display) -> Self {
        match self {
            Self::Usage(cause) => Self::Usage(format!("{step}: {cause}")),
            Self::Failed(cause) => Self::Failed(format!("{step}: {cause}")),
            Self::Interrupted | Self::OutputClosed => self,
        }
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        Self::failed(error)
    }
}
