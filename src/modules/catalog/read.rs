//! Reads catalogue files: as text, and the text into entries, with all mistakes in its form.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;

use super::error::CatalogError;
use crate::modules::definition::Entry;
use crate::modules::import::recognise;
use crate::modules::mistake::Mistake;

/// The maximum size of a catalogue file, in bytes. It is 16 times the size of the largest known list.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// The maximum number of entries in one file.
const MAX_ENTRIES: usize = 20_000;
/// The maximum size of an entry, in bytes.
const MAX_ENTRY_BYTES: usize = 256 * 1024;

/// An entry with its position in the file.
pub(super) struct Placed<'t> {
    /// The entry's id if it has a usable one, otherwise its index in the file such as `[3]`.
    pub(super) name: String,
    pub(super) entry: Entry,
    pub(super) place: Place<'t>,
}

/// The position of an entry.
#[derive(Clone, Copy)]
pub(super) struct Place<'t> {
    pub(super) file: &'t str,
    /// The line of the entry's first character, counted from 1.
    pub(super) line: usize,
    text: &'t str,
}

impl Place<'_> {
    /// Returns the line about a mistake in the entry called `name` (its id, if it has one).
    pub(super) fn fault(&self, name: &str, mistake: &Mistake) -> String {
        let line = self.line + lines_down(self.text, &mistake.path);
        format!("{}:{line}: {name}: {mistake}", self.file)
    }
}

/// Returns the entries of a file that can be read. The mistakes of all
/// other entries are added to `faults`.
pub(super) fn entries<'t>(file: &'t str, text: &'t str, faults: &mut CatalogError) -> Vec<Placed<'t>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let list: Vec<&RawValue> = match serde_json::from_str(text) {
        Ok(list) => list,
        Err(error) => {
            let kind = serde_json::from_str(text).ok().and_then(|root| recognise(&root));
            let fault = match kind {
                Some(kind) => format!(
                    "a catalogue file is a JSON array of entries; this is a list of {}, which `--catalog` takes as it is",
                    kind.as_str()
                ),
                None if error.is_data() => "a catalogue file is a JSON array of entries".to_owned(),
                None => format!("it is not valid JSON: {}", described(&error)),
            };
            faults.push(match error.is_data() {
                true => format!("{file}: {fault}"),
                false => format!("{file}:{}: {fault}", error.line().max(1)),
            });
            return Vec::new();
        }
    };
    if list.len() > MAX_ENTRIES {
        faults.push(format!("{file}: it has more than {MAX_ENTRIES} entries; split it into several files"));
        return Vec::new();
    }
    let (mut at, mut line) = (0, 1);
    let entries = list.into_iter().enumerate().filter_map(|(index, raw)| {
        let start = offset(text, raw.get());
        line += text[at..start].matches('\n').count();
        at = start;
        entry(index, Place { file, line, text: raw.get() }, faults)
    });
    entries.collect()
}

fn entry<'t>(index: usize, place: Place<'t>, faults: &mut CatalogError) -> Option<Placed<'t>> {
    let mut name = format!("[{index}]");
    let size = place.text.len();
    if size > MAX_ENTRY_BYTES {
        let message = format!("it has {size} bytes; an entry has at most {MAX_ENTRY_BYTES}");
        faults.push(place.fault(&name, &Mistake::new("", &message)));
        return None;
    }
    let value: Value = match serde_json::from_str(place.text) {
        Ok(value) => value,
        Err(error) => {
            let line = place.line + error.line().saturating_sub(1);
            faults.push(format!("{}:{line}: {name}: {}", place.file, described(&error)));
            return None;
        }
    };
    if let Some(id) = value.get("id").and_then(Value::as_str).filter(|id| !id.is_empty() && id.len() <= 64) {
        id.clone_into(&mut name);
    }
    match Entry::read(place.text, &value) {
        Ok(entry) => Some(Placed { name, entry, place }),
        Err(mistakes) => {
            mistakes.iter().for_each(|mistake| faults.push(place.fault(&name, mistake)));
            None
        }
    }
}

/// Returns the message of a JSON error without the position, which is printed before it.
fn described(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    match text {
        "recursion limit exceeded" => "it is nested too deep; expected at most 127 levels".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the offset of `piece` in `text`, of which it is a slice.
fn offset(text: &str, piece: &str) -> usize {
    (piece.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

/// Returns the number of lines between the first line of the entry and the field at `path` (such as
/// `probes[0].url`). If the path leads nowhere, the deepest existing part of it counts.
fn lines_down(entry: &str, path: &str) -> usize {
    let (mut value, mut path) = (entry, path);
    while let Some((part, rest)) = step(value, path) {
        (value, path) = (part, rest);
    }
    entry[..offset(entry, value)].matches('\n').count()
}

/// Returns the part of `value` that the beginning of `path` names, and the rest of the path.
fn step<'v, 'p>(value: &'v str, path: &'p str) -> Option<(&'v str, &'p str)> {
    if let Some(rest) = path.strip_prefix('[') {
        let (index, rest) = rest.split_once(']')?;
        let elements: Vec<&RawValue> = serde_json::from_str(value).ok()?;
        return Some((elements.get(index.parse::<usize>().ok()?)?.get(), rest));
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    if path.is_empty() {
        return None;
    }
    let members: HashMap<String, &RawValue> = serde_json::from_str(value).ok()?;
    // A name may contain dots and brackets itself, so the longest matching name is used.
    let fits = |name: &&String| {
        path.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let name = members.keys().filter(fits).max_by_key(|name| name.len())?;
    Some((members.get(name)?.get(), &path[name.len()..]))
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

/// Returns whether the text is read as a file of the native format, which is an array. Any text that does
/// not begin with `{` counts too, so that the mistakes in its form are reported.
pub(super) fn is_catalog_file(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    !start.starts_with('{')
}
