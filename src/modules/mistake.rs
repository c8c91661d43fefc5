//! Mistakes in a catalogue entry, each with its place.

use std::fmt;

use super::text::truncate;

/// A mistake in an entry: its place, what is wrong and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The field, such as `probes[0].url`. Empty for the entry as a whole.
    pub path: String,
    /// A message that says what is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// The most characters of a place, and of a message.
const MAX_PATH_CHARS: usize = 200;
const MAX_MESSAGE_CHARS: usize = 1000;

impl Mistake {
    /// Returns a mistake with a path and a message of limited length.
    pub(crate) fn new(path: &str, message: &str) -> Self {
        let path = truncate(path, MAX_PATH_CHARS).into_owned();
        Self { path, message: truncate(message, MAX_MESSAGE_CHARS).into_owned() }
    }
}
