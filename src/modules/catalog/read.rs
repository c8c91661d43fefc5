//! Reads catalogue files: as text, and the text into entries, with all mistakes in its form.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::modules::definition::Entry;
use crate::modules::import::recognise;
use crate::modules::text::constant;

/// The maximum size of a catalogue file, in bytes. It is 16 times the size of the largest known list.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// The maximum number of entries in one file.
const MAX_ENTRIES: usize = 20_000;

/// Returns the entries of a file that can be read, each with its name in messages: its id if it has a usable one, otherwise
/// its index in the file such as `[3]`. The mistakes of all other entries are added to `faults`.
pub(super) fn entries(file: &str, text: &str, faults: &mut CatalogError) -> Vec<(String, Entry)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let list = match serde_json::from_str(text) {
        Ok(Value::Array(list)) if list.len() <= MAX_ENTRIES => list,
        wrong => {
            let fault = match wrong {
                Ok(Value::Array(_)) => {
                    format!("it has more than {MAX_ENTRIES} entries; split it into several files")
                }
                Ok(other) => {
                    let tool = recognise(&other).map(|(kind, _)| {
                        format!("; this is a list of {}, which `--catalog` takes as it is", kind.as_str())
                    });
                    format!("a catalogue file is a JSON array of entries{}", tool.unwrap_or_default())
                }
                Err(error) => format!("it is not valid JSON: {error}"),
            };
            faults.0.push(format!("{file}: {fault}"));
            return Vec::new();
        }
    };
    let mut entries = Vec::new();
    let texts: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
    for (index, (value, text)) in list.iter().zip(texts).enumerate() {
        let id = value["id"].as_str().filter(|id| (1..=64).contains(&id.len()));
        let name = id.map_or_else(|| format!("[{index}]"), str::to_owned);
        let repeated = repeated_member(text.get(), value);
        match repeated.map_or_else(|| Entry::read(value), |mistake| Err(vec![mistake])) {
            Ok(entry) => entries.push((name, entry)),
            Err(mistakes) => faults.add(file, &name, &mistakes),
        }
    }
    entries
}

/// The strings of a JSON text. A colon follows the name of a member.
static STRINGS: LazyLock<Regex> = LazyLock::new(|| constant(r#"(?s)("(?:[^"\\]|\\.)*")(\s*:)?"#));

/// Returns the mistake if a member is repeated in the text of this value, which has only the last one.
fn repeated_member(text: &str, value: &Value) -> Option<String> {
    let written = STRINGS.captures_iter(text).filter(|found| found.get(2).is_some());
    let mut written: Vec<String> = written.filter_map(|name| serde_json::from_str(&name[1]).ok()).collect();
    let mut kept = Vec::new();
    add_names(value, &mut kept);
    written.sort_unstable();
    kept.sort_unstable();
    let mut kept = kept.into_iter();
    let repeated = written.iter().find(|name| kept.next() != Some(name.as_str()))?;
    Some(format!("the member `{repeated}` is repeated"))
}

/// Adds the names of all members in a value.
fn add_names<'v>(value: &'v Value, names: &mut Vec<&'v str>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| add_names(element, names)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            names.push(name);
            add_names(member, names);
        }),
        _ => {}
    }
}

/// Returns the text of a file.
///
/// # Errors
/// Returns an error if the file cannot be read, is too large or is not UTF-8.
pub fn file(path: &Path) -> Result<String, String> {
    let explain = |error: io::Error| format!("it cannot be read: {error}");
    let mut bytes = Vec::new();
    // The file size that the system reports is not reliable, so the bytes are counted while reading.
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(explain)?;
    decode(bytes)
}

/// Returns the text of a file with these bytes.
///
/// # Errors
/// Returns an error if there are too many bytes or they are not UTF-8.
pub fn decode(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it has more than {MAX_FILE_BYTES} bytes, which is the most that is read"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let is_utf16 = matches!(error.as_bytes(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        let hint = if is_utf16 { " (it looks like UTF-16)" } else { "" };
        format!("byte {at} is not UTF-8{hint}; save the file as UTF-8")
    })
}

/// The maximum number of mistakes that are shown.
const MAX_SHOWN: usize = 200;

/// The mistakes of a catalogue in the order of the files. They are displayed one per line, as
/// `FILE: ENTRY: FIELD: MESSAGE` without the parts that are not known. If there are very many, only the first ones
/// are shown, and the others counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", shown(.0))]
pub struct CatalogError(Vec<String>);

impl CatalogError {
    /// Adds the lines about mistakes in an entry.
    pub(super) fn add(&mut self, file: &str, entry: &str, mistakes: &[String]) {
        self.0.extend(mistakes.iter().map(|mistake| format!("{file}: {entry}: {mistake}")));
    }

    /// Adds the line about a mistake.
    pub(super) fn push(&mut self, line: String) {
        self.0.push(line);
    }

    /// Returns `value` if there are no mistakes, and the mistakes otherwise.
    pub(super) fn or<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

/// Returns the first mistakes, one per line, and the number of the others.
fn shown(mistakes: &[String]) -> String {
    let shown = &mistakes[..mistakes.len().min(MAX_SHOWN)];
    match mistakes.len() - shown.len() {
        0 => shown.join("\n"),
        more => format!("{}\n{more} more mistakes", shown.join("\n")),
    }
}
