//! The canonical form of a catalogue file, in which each site is on lines of its own, so that diffs stay
//! small.
//!
//! Entries are sorted by id. Fields have the order of [`super::super::definition`], one per line. A value
//! that fits into a line of 110 columns is written on one line. Fields with their default value are omitted.

use serde_json::Value;

use super::error::{CatalogError, Fault};
use super::read;
use crate::modules::definition::Entry;

const WIDTH: usize = 110;
const INDENT: usize = 2;

/// Formats the text of a catalogue file. `file` is the file's name in error messages.
///
/// # Errors
/// Returns the mistakes in the form of the file. Rules are not checked for their meaning here.
pub fn format(file: &str, text: &str) -> Result<String, CatalogError> {
    let mut faults = CatalogError::default();
    let entries = read::entries(file, text, &mut faults);
    let entries = faults.or(entries.into_iter().map(|placed| placed.entry).collect())?;
    write(entries).map_err(|error| Fault::of_file(file, error.to_string()).into())
}

/// Returns the canonical text of the given entries.
///
/// # Errors
/// Returns an error if an entry cannot be written as JSON. This does not happen with entries of this
/// program.
pub fn write(mut entries: Vec<Entry>) -> Result<String, serde_json::Error> {
    entries.sort_by(|a, b| a.id.cmp(&b.id));
    let mut out = String::from("[");
    for (index, entry) in entries.iter().enumerate() {
        out.push_str(if index > 0 { ",\n  " } else { "\n  " });
        let value = entry.to_json()?;
        // An entry itself is always split into lines.
        broken(&value, INDENT, &mut out);
    }
    out.push_str(if entries.is_empty() { "]\n" } else { "\n]\n" });
    Ok(out)
}

/// Writes `value` at column `indent`. The first `used` columns of the line are already taken.
fn fitted(value: &Value, indent: usize, used: usize, out: &mut String) {
    let line = inline(value);
    // One column is reserved for the comma.
    if used + line.chars().count() < WIDTH || !matches!(value, Value::Array(_) | Value::Object(_)) {
        out.push_str(&line);
    } else {
        broken(value, indent, out);
    }
}

fn broken(value: &Value, indent: usize, out: &mut String) {
    let inner = indent + INDENT;
    let start_line = |out: &mut String, index: usize| {
        out.push_str(if index > 0 { ",\n" } else { "\n" });
        out.push_str(&" ".repeat(inner));
    };
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    out.push(open);
    match value {
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                start_line(out, index);
                fitted(element, inner, inner, out);
            }
        }
        Value::Object(members) => {
            for (index, (name, member)) in members.iter().enumerate() {
                start_line(out, index);
                let key = format!("{}: ", Value::from(name.as_str()));
                out.push_str(&key);
                fitted(member, inner, inner + key.chars().count(), out);
            }
        }
        _ => {}
    }
    out.push('\n');
    out.push_str(&" ".repeat(indent));
    out.push(close);
}

/// Returns the value on one line, such as `{"a": [1, 2]}`.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(elements) => {
            let parts: Vec<String> = elements.iter().map(inline).collect();
            format!("[{}]", parts.join(", "))
        }
        Value::Object(members) => {
            let parts: Vec<String> = members
                .iter()
                .map(|(name, member)| format!("{}: {}", Value::from(name.as_str()), inline(member)))
                .collect();
            format!("{{{}}}", parts.join(", "))
        }
        scalar => scalar.to_string(),
    }
}
