//! What is wrong with an entry, and where in it.

use std::fmt;

use super::text::cut;

/// One thing that is wrong: the place in the entry and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where, such as `probes[0].url`; empty: the entry as a whole.
    pub path: String,
    /// What is wrong, and what is allowed.
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

/// The most mistakes of one entry that are kept; the rest is counted.
const MAX_KEPT: usize = 50;
/// The most characters of a place and of a message.
const MAX_PATH_CHARS: usize = 200;
const MAX_MESSAGE_CHARS: usize = 1000;

/// Collects mistakes while it is told where the reader is.
#[derive(Debug, Default)]
pub(crate) struct Mistakes {
    path: String,
    list: Vec<Mistake>,
    count: usize,
}

impl Mistakes {
    /// Notes a mistake here.
    pub(crate) fn add(&mut self, message: impl Into<String>) {
        self.count += 1;
        if self.list.len() < MAX_KEPT {
            let path = cut(&self.path, MAX_PATH_CHARS).into_owned();
            let message = cut(&message.into(), MAX_MESSAGE_CHARS).into_owned();
            self.list.push(Mistake { path, message });
        }
    }

    /// Notes a mistake in a field of this place.
    pub(crate) fn add_in(&mut self, field: &str, message: impl Into<String>) {
        self.field(field, |mistakes| mistakes.add(message));
    }

    /// Steps into a field while `read` runs.
    pub(crate) fn field<R>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        let answer = read(self);
        self.path.truncate(length);
        answer
    }

    /// Steps into a list's element while `read` runs.
    pub(crate) fn element<R>(&mut self, index: usize, read: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.path.len();
        self.path.push_str(&format!("[{index}]"));
        let answer = read(self);
        self.path.truncate(length);
        answer
    }

    /// The value of `result`, or a note of its error.
    pub(crate) fn take<T>(&mut self, result: Result<T, String>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(message) => {
                self.add(message);
                None
            }
        }
    }

    /// Reads every element of a list; what was wrong is left out (and noted).
    pub(crate) fn list<S, T>(
        &mut self,
        field: &str,
        items: &[S],
        mut read: impl FnMut(&mut Self, &S) -> Option<T>,
    ) -> Vec<T> {
        self.field(field, |mistakes| {
            items
                .iter()
                .enumerate()
                .filter_map(|(index, item)| mistakes.element(index, |mistakes| read(mistakes, item)))
                .collect()
        })
    }

    /// How many so far.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// All of them; of very many the first, and how many more there are.
    pub(crate) fn into_list(mut self) -> Vec<Mistake> {
        let left_out = self.count - self.list.len();
        if left_out > 0 {
            let message = format!("{left_out} more mistakes in this entry");
            self.list.push(Mistake { path: String::new(), message });
        }
        self.list
    }
}
