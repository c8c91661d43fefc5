//! What is wrong with a catalogue: every mistake, each with its place and its mend.

use std::fmt;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// File name.
    pub file: String,
    /// The entry's id, else its place in the file such as `[3]`; `None`: the file as a whole.
    pub entry: Option<String>,
    /// Where in the entry, such as `probes[0].url`; empty: the entry as a whole.
    pub path: String,
    /// What is wrong, and what is allowed.
    pub message: String,
}

impl Fault {
    pub(super) fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), entry: None, path: String::new(), message: message.into() }
    }

    pub(super) fn of_entry(file: &str, entry: &str, path: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            entry: Some(entry.to_owned()),
            path: path.to_owned(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(entry) = &self.entry {
            write!(f, ": {entry}")?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Everything that is wrong with a catalogue; never empty. Shown one fault a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogError {
    faults: Vec<Fault>,
}

impl CatalogError {
    pub(super) fn new(faults: Vec<Fault>) -> Self {
        Self { faults }
    }

    /// All faults, in the order of the files.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
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
        Ok(())
    }
}

impl std::error::Error for CatalogError {}
