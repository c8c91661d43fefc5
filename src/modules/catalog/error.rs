//! What is wrong with a catalogue: every mistake, each with its place and its mend.

use std::fmt;

/// The most mistakes that are kept; the rest is counted.
const MAX_KEPT: usize = 200;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// File name.
    pub file: String,
    /// Line of the field, as near as it is known, from 1; `None`: the file as a whole.
    pub line: Option<usize>,
    /// The entry's id, else its place in the file such as `[3]`; `None`: the file as a whole.
    pub entry: Option<String>,
    /// Where in the entry, such as `probes[0].url`; empty: the entry as a whole.
    pub path: String,
    /// What is wrong, and what is allowed.
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

/// `FILE:LINE: ENTRY: FIELD: MESSAGE`, as far as there is each of them.
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

/// Collects faults, so many that nobody would read more.
#[derive(Debug, Default)]
pub(super) struct Faults {
    kept: Vec<Fault>,
    left_out: usize,
}

impl Faults {
    pub(super) fn push(&mut self, fault: Fault) {
        if self.kept.len() < MAX_KEPT {
            self.kept.push(fault);
        } else {
            self.left_out += 1;
        }
    }

    /// `value`, unless there is a fault.
    pub(super) fn or<T>(self, value: T) -> Result<T, CatalogError> {
        let Self { kept, left_out } = self;
        if kept.is_empty() { Ok(value) } else { Err(CatalogError { faults: kept, left_out }) }
    }
}

/// What is wrong with a catalogue; never empty. Shown one fault a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogError {
    faults: Vec<Fault>,
    left_out: usize,
}

impl CatalogError {
    /// The faults, in the order of the files; of very many the first ones.
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
