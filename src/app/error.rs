//! [`AppError`].

use std::error::Error;
use std::fmt;

/// An error that ends a command. Its text never contains a secret.
#[derive(Debug)]
pub struct AppError {
    kind: Kind,
    /// The step that failed, if the cause does not name it.
    step: Option<String>,
    cause: Box<dyn Error + Send + Sync>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Config,
    Failed,
}

impl AppError {
    /// Creates an error for a configuration that cannot be used, such as a catalogue file with mistakes.
    pub fn config(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind: Kind::Config, step: None, cause: cause.into() }
    }

    /// Creates an error for a failure while the command runs, such as an address in use or a store that
    /// cannot be reached.
    pub fn failed(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind: Kind::Failed, step: None, cause: cause.into() }
    }

    /// Names the step that failed. The message starts with it.
    #[must_use]
    pub fn at(self, step: impl Into<String>) -> Self {
        Self { step: Some(step.into()), ..self }
    }

    /// Returns whether the configuration must be changed.
    pub fn is_config(&self) -> bool {
        self.kind == Kind::Config
    }
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            Some(step) => write!(f, "{step}: {}", self.cause),
            None => self.cause.fmt(f),
        }
    }
}

impl Error for AppError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self.step {
            Some(_) => Some(&*self.cause),
            None => self.cause.source(),
        }
    }
}
