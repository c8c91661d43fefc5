//! [`AppError`].

use std::error::Error;

type Cause = Box<dyn Error + Send + Sync>;

/// An error that ends a command. Its text never contains a secret.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The configuration must be changed.
    #[error(transparent)]
    Config(Cause),
    /// The command failed while it ran.
    #[error(transparent)]
    Failed(Cause),
}

#[derive(Debug, thiserror::Error)]
#[error("{step}: {cause}")]
struct FailedStep {
    step: String,
    #[source]
    cause: Cause,
}

impl AppError {
    /// Creates an error for a configuration that cannot be used, such as a catalogue file with mistakes.
    pub fn config(cause: impl Into<Cause>) -> Self {
        Self::Config(cause.into())
    }

    /// Creates an error for a failure while the command runs, such as an address in use or a store that
    /// cannot be reached.
    pub fn failed(cause: impl Into<Cause>) -> Self {
        Self::Failed(cause.into())
    }

    /// Names the step that failed. The message starts with it.
    #[must_use]
    pub fn at(self, step: impl Into<String>) -> Self {
        let step = step.into();
        match self {
            Self::Config(cause) => Self::config(FailedStep { step, cause }),
            Self::Failed(cause) => Self::failed(FailedStep { step, cause }),
        }
    }

    /// Returns whether the configuration must be changed.
    pub fn is_config(&self) -> bool {
        matches!(self, Self::Config(_))
    }
}
