//! Mistakes in a catalogue, each with its place and the values that are allowed there.

use std::fmt;

/// The maximum number of mistakes that are shown.
const MAX_SHOWN: usize = 200;

/// The mistakes of a catalogue in the order of the files. They are displayed one per line, as
/// `FILE:LINE: ENTRY: FIELD: MESSAGE` without the parts that are not known. If there are very many, only the first ones
/// are shown, and the others counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogError(Vec<String>);

impl CatalogError {
    /// Adds the line about a mistake.
    pub(super) fn push(&mut self, line: String) {
        self.0.push(line);
    }

    /// Returns `value` if there are no mistakes, and the mistakes otherwise.
    pub(super) fn or<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(MAX_SHOWN)];
        f.write_str(&shown.join("\n"))?;
        match self.0.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, "\n{more} more mistakes"),
        }
    }
}

impl std::error::Error for CatalogError {}
