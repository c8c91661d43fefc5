//! [`ConfigError`].

/// An error for options that contradict each other, or for the variable of a module key without a valid key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub(super) String);
