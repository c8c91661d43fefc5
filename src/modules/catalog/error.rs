//! Mistakes in a catalogue, each with its place and the values that are allowed there.

use std::fmt;

/// The maximum number of mistakes that are shown.
const MAX_SHOWN: usize = 200;

/// One mistake in a catalogue file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The name of the file.
    file: String,
    /// The line of the field, counted from 1, as precisely as it is known. `None` if the mistake concerns
    /// the whole file.
    line: Option<usize>,
    /// The entry's id, or its index in the file such as `[3]` if it has none. `None` if the mistake concerns
    /// the whole file.
    entry: Option<String>,
    /// The field of the entry, such as `probes[0].url`. Empty if the mistake concerns the whole entry.
    path: String,
    /// A description of the mistake and of the allowed values.
    message: String,
}

impl Fault {
    pub(super) fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, entry: None, path: String::new(), message: message.into() }
    }

    pub(super) fn of_entry(file: &str, entry: &str, path: &str, message: impl Into<String>) -> Self {
        Self { entry: Some(entry.to_owned()), path: path.to_owned(), ..Self::of_file(file, message) }
    }

    pub(super) fn at_line(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}

/// Writes `FILE:LINE: ENTRY: FIELD: MESSAGE`, without the parts that are not known.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(entry) = &self.entry {
            write!(f, ": {entry}")?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// The mistakes of a catalogue in the order of the files. They are displayed one per line. If there are very many, only
/// the first ones are shown, and the others counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogError(Vec<Fault>);

impl CatalogError {
    pub(super) fn push(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// Returns `value` if there are no mistakes, and the mistakes otherwise.
    pub(super) fn or<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().take(MAX_SHOWN).enumerate() {
            let before = if index > 0 { "\n" } else { "" };
            write!(f, "{before}{fault}")?;
        }
        match self.0.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n{more} more mistakes"),
        }
    }
}

impl std::error::Error for CatalogError {}
