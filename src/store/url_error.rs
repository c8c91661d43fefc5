//! The error of an invalid database address.

/// The reason why a text is not a valid database address. It contains no part of the text, which may include a
/// password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid database address: {0}")]
pub struct UrlError(String);

impl UrlError {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}
