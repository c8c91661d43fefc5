//! Reads catalogue files: as text, and the text into entries, with all mistakes in its form.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use crate::modules::definition::Entry;
use crate::modules::import::recognise;

/// The maximum size of a catalogue file, in bytes. It is 16 times the size of the largest known list.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// The maximum number of entries in one file.
const MAX_ENTRIES: usize = 20_000;

/// Returns the entries of a file that can be read, each with its name in messages: its id if it has a usable one, otherwise
/// its index in the file such as `[3]`. The mistakes of all other entries are added to `faults`.
pub(super) fn entries(file: &str, text: &str, faults: &mut CatalogError) -> Vec<(String, Entry)> {
    let list = match serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text)) {
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
    for (index, value) in list.iter().enumerate() {
        let id = value["id"].as_str().filter(|id| (1..=64).contains(&id.len()));
        let name = id.map_or_else(|| format!("[{index}]"), str::to_owned);
        match Entry::read(value) {
            Ok(entry) => entries.push((name, entry)),
            Err(mistakes) => faults.add(file, &name, &mistakes),
        }
    }
    entries
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
