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

/// Collects mistakes and tracks the reader's place in the entry.
#[derive(Debug, Default)]
pub(crate) struct Mistakes {
    path: String,
    pub(crate) list: Vec<Mistake>,
}

impl Mistakes {
    /// Notes a mistake at the current place.
    pub(crate) fn add(&mut self, message: impl Into<String>) {
        let path = truncate(&self.path, MAX_PATH_CHARS).into_owned();
        let message = truncate(&message.into(), MAX_MESSAGE_CHARS).into_owned();
        self.list.push(Mistake { path, message });
    }

    /// Notes a mistake in a field of the current place, or at the current place itself if `field` is empty.
    pub(crate) fn add_in(&mut self, field: &str, message: impl Into<String>) {
        self.at(field, |mistakes| mistakes.add(message));
    }

    /// Calls `read` with a field of the current place as the current one.
    pub(crate) fn at<R>(&mut self, field: &str, read: impl FnOnce(&mut Self) -> R) -> R {
        let place = self.enter(field);
        let answer = read(self);
        self.leave(place);
        answer
    }

    /// Makes a field of the current place the current one. Returns what [`Mistakes::leave`] goes back to.
    pub(crate) fn enter(&mut self, field: &str) -> usize {
        let place = self.path.len();
        if place > 0 && !field.is_empty() && !field.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(field);
        place
    }

    /// Goes back to an earlier place.
    pub(crate) fn leave(&mut self, place: usize) {
        self.path.truncate(place);
    }
}
