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

/// The most mistakes of one entry that are kept. Further ones are only counted.
const MAX_KEPT: usize = 50;
/// The most characters of a place, and of a message.
const MAX_PATH_CHARS: usize = 200;
const MAX_MESSAGE_CHARS: usize = 1000;

/// Collects mistakes and tracks the reader's place in the entry.
#[derive(Debug, Default)]
pub(crate) struct Mistakes {
    path: String,
    list: Vec<Mistake>,
    count: usize,
    is_proven: bool,
}

impl Mistakes {
    /// Creates a collector for an entry in which a test has found no mistake. Nothing is searched for mistakes.
    pub(crate) fn of_proven_entry() -> Self {
        Self { is_proven: true, ..Self::default() }
    }

    /// Returns whether the entry is known to have no mistakes.
    pub(crate) fn is_proven(&self) -> bool {
        self.is_proven
    }

    /// Notes a mistake at the current place.
    pub(crate) fn add(&mut self, message: impl Into<String>) {
        self.count += 1;
        if self.list.len() < MAX_KEPT {
            let path = truncate(&self.path, MAX_PATH_CHARS).into_owned();
            let message = truncate(&message.into(), MAX_MESSAGE_CHARS).into_owned();
            self.list.push(Mistake { path, message });
        }
    }

    /// Notes a mistake in a field of the current place.
    pub(crate) fn add_in(&mut self, field: &str, message: impl Into<String>) {
        self.field(field, |mistakes| mistakes.add(message));
    }

    /// Calls `read` with a field as the current place.
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

    /// Calls `read` with a list element as the current place.
    pub(crate) fn element<R>(&mut self, index: usize, read: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.path.len();
        self.path.push_str(&format!("[{index}]"));
        let answer = read(self);
        self.path.truncate(length);
        answer
    }

    /// Returns the value of `result`, or notes its error and returns `None`.
    pub(crate) fn take<T>(&mut self, result: Result<T, String>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(message) => {
                self.add(message);
                None
            }
        }
    }

    /// Reads every element of a list. Elements for which `read` returns `None` are left out.
    pub(crate) fn list<S, T>(
        &mut self,
        field: &str,
        items: &[S],
        mut read: impl FnMut(&mut Self, &S) -> Option<T>,
    ) -> Vec<T> {
        self.field(field, |mistakes| {
            // Collecting would allocate memory for four items, and most lists of the catalogue have one.
            let mut list = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                list.extend(mistakes.element(index, |mistakes| read(mistakes, item)));
            }
            list
        })
    }

    /// Returns the number of mistakes so far.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the mistakes. If not all were kept, the last item says how many more there are.
    pub(crate) fn into_list(mut self) -> Vec<Mistake> {
        let left_out = self.count - self.list.len();
        if left_out > 0 {
            let message = format!("{left_out} more mistakes in this entry");
            self.list.push(Mistake { path: String::new(), message });
        }
        self.list
    }
}
