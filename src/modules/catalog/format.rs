//! The canonical form of a catalogue file, in which each site is on separate lines, so that diffs stay
//! small.
//!
//! Entries are sorted by id. Fields have the order of [`super::super::definition`], one per line. A value
//! that fits into a line of 110 columns is written on one line. Fields with their default value are omitted. A site of an
//! engine is one line.

use serde_json::Value;

use super::read::{self, CatalogError};
use crate::modules::definition::Entry;

/// A line has fewer characters, and one of them is for a comma.
const WIDTH: usize = 110;
const INDENT: usize = 2;

/// Formats the text of a catalogue file. `file` is the file's name in error messages.
///
/// # Errors
/// Returns the mistakes in the form of the file. Rules are not checked for their meaning here.
pub fn format(file: &str, text: &str) -> Result<String, CatalogError> {
    let mut faults = CatalogError::default();
    let entries = read::entries(file, text, &mut faults).into_iter().map(|(_, entry)| entry).collect();
    faults.or(write(entries))
}

/// Returns the canonical text of the given entries.
pub fn write(mut entries: Vec<Entry>) -> String {
    if entries.is_empty() {
        return "[]\n".to_owned();
    }
    entries.sort_by(|a, b| a.id.cmp(&b.id));
    // An entry itself is always split into lines.
    let entry = |entry: &Entry| match entry.to_line() {
        Some(line) => format!("  {}", fitted(&line, INDENT, usize::MAX)),
        None => format!("  {}", fitted(&entry.to_short_json(), INDENT, 0)),
    };
    let entries: Vec<String> = entries.iter().map(entry).collect();
    format!("[\n{}\n]\n", entries.join(",\n"))
}

/// Returns the text of a file with one entry, with all rules even of a site of an engine.
pub fn write_whole(entry: &Entry) -> String {
    format!("[\n  {}\n]\n", fitted(&entry.to_short_json(), INDENT, 0))
}

/// Returns `value` on one line if it has less than `width` characters, and otherwise split into lines, each with the
/// indentation of `indent` and that of its level.
fn fitted(value: &Value, indent: usize, width: usize) -> String {
    let (open, close, parts): (_, _, Vec<(String, &Value)>) = match value {
        Value::Array(elements) => ('[', ']', elements.iter().map(|part| (String::new(), part)).collect()),
        Value::Object(members) => {
            let key = |name: &String| format!("{}: ", Value::from(name.as_str()));
            ('{', '}', members.iter().map(|(name, part)| (key(name), part)).collect())
        }
        scalar => return scalar.to_string(),
    };
    let one_line = parts.iter().map(|(key, part)| key.clone() + &fitted(part, 0, usize::MAX));
    let one_line = format!("{open}{}{close}", one_line.collect::<Vec<_>>().join(", "));
    if one_line.chars().count() < width {
        return one_line;
    }
    let inner = indent + INDENT;
    let line = |(key, part): &(String, &Value)| {
        // One column is reserved for the comma, which `width` leaves out.
        let width = WIDTH.saturating_sub(inner + key.chars().count());
        format!("{:inner$}{key}{}", "", fitted(part, inner, width))
    };
    let lines: Vec<String> = parts.iter().map(line).collect();
    format!("{open}\n{}\n{:indent$}{close}", lines.join(",\n"), "")
}
