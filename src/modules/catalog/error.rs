//! Mistakes in a catalogue, each with its place and the values that are allowed there.

use std::fmt;

/// The maximum number of mistakes that are kept. Further ones are only counted.
const MAX_KEPT: usize = 200;

/// One mistake in a catalogue file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The name of the file.
    pub file: String,
    /// The line of the field, counted from 1, as precisely as it is known. `None` if the mistake concerns
    /// the whole file.
    pub line: Option<usize>,
    /// The entry's id, or its index in the file such as `[3]` if it has none. `None` if the mistake concerns
    /// the whole file.
    pub entry: Option<String>,
    /// The field of the entry, such as `probes[0].url`. Empty if the mistake concerns the whole entry.
    pub path: String,
    /// A description of the mistake and of the allowed values.
    pub message: String,
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

/// The mistakes of a catalogue. They are displayed one per line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogError {
    faults: Vec<Fault>,
    left_out: usize,
}

impl CatalogError {
    pub(super) fn push(&mut self, fault: Fault) {
        if self.faults.len() < MAX_KEPT {
            self.faults.push(fault);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns `value` if there are no mistakes, and the mistakes otherwise.
    pub(super) fn or<T>(self, value: T) -> Result<T, Self> {
        if self.faults.is_empty() { Ok(value) } else { Err(self) }
    }

    /// Returns the mistakes in the order of the files. If there are very many, only the first ones are kept.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl From<Fault> for CatalogError {
    fn from(fault: Fault) -> Self {
        Self { faults: vec![fault], left_out: 0 }
    }
}

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        if self.left_out > 0 {
            write!(f, "\n{} more mistakes", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for CatalogError {}
