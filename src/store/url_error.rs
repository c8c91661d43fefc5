//! The error of an invalid database address.

use std::fmt;

/// The reason why a text is not a valid database address. It contains no part of the text, which may include a
/// password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlError(String);

impl UrlError {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid database address: {}", self.0)
    }
}

impl std::error::Error for UrlError {}
