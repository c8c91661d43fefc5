//! Reads entries from JSON.

use serde_json::Value;

use super::entry::Entry;
use super::form;
use crate::modules::mistake::{Mistake, Mistakes};

impl Entry {
    /// Reads an entry. `value` is its text, read as JSON.
    ///
    /// # Errors
    /// Returns the first mistake in the form of the entry, or else every value outside its limits.
    pub(crate) fn read(text: &str, value: &Value) -> Result<Self, Vec<Mistake>> {
        let mut mistakes = Mistakes::default();
        let read = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(it, _)| it);
            let is_about_object = ["unknown field", "missing field"].iter().any(|it| message.starts_with(it));
            mistakes.add_in(&path_at(text, error.line(), error.column(), is_about_object), message);
        });
        if read.is_ok() {
            form::check(value, &mut mistakes);
        }
        read.ok().filter(|_| mistakes.list.is_empty()).ok_or(mistakes.list)
    }
}

/// An object with the name of the member that is being read, or an array with the index of the element.
enum Level {
    Object(String),
    Array(usize),
}

/// Returns the path, such as `probes[0].url`, of the value that a reader of valid JSON has read at this place, or of the
/// object around it.
fn path_at(text: &str, line: usize, column: usize, is_of_object: bool) -> String {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let read = text.get(..start + column).unwrap_or(text);
    // A reader that goes on after a mistake in the last member stops at the end of the object.
    let read = read.strip_suffix(['}', ']']).unwrap_or(read);
    let (mut levels, mut is_name, mut rest) = (Vec::new(), false, read);
    while let Some(sign) = rest.chars().next() {
        rest = &rest[sign.len_utf8()..];
        match sign {
            '{' => levels.push(Level::Object(String::new())),
            '[' => levels.push(Level::Array(0)),
            '}' | ']' => drop(levels.pop()),
            '"' => {
                let mut is_escaped = false;
                let end = rest.find(|c: char| {
                    let is_end = c == '"' && !is_escaped;
                    is_escaped = c == '\\' && !is_escaped;
                    is_end
                });
                let end = end.unwrap_or(rest.len());
                if let Some(Level::Object(name)) = levels.last_mut().filter(|_| is_name) {
                    rest[..end].clone_into(name);
                }
                rest = rest.get(end + 1..).unwrap_or_default();
            }
            ',' => {
                if let Some(Level::Array(index)) = levels.last_mut() {
                    *index += 1;
                }
            }
            _ => {}
        }
        is_name = matches!(sign, '{' | ',') || (is_name && sign.is_whitespace());
    }
    if is_of_object {
        levels.pop();
    }
    let mut path = String::new();
    for level in levels {
        match level {
            Level::Object(name) if path.is_empty() => path.push_str(&name),
            Level::Object(name) => path.extend([".", &name]),
            Level::Array(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_text_has_a_path() {
        let text = "{\"a\": 1, \"b\\\"{\": [\n {\"c\": \"x,]\"}, {\"d\": [\"y\", \"z\"]}]}";
        for (end, want) in
            [("\"x,]\"", "b\\\"{[0].c"), ("\"z\"", "b\\\"{[1].d[1]"), ("1", "a"), ("\"c\"", "b\\\"{[0].c")]
        {
            let at = text.find(end).unwrap() + end.len();
            let line = text[..at].matches('\n').count() + 1;
            let column = at - text[..at].rfind('\n').map_or(0, |at| at + 1);
            assert_eq!(path_at(text, line, column, false), want, "{end}");
        }
    }
}
