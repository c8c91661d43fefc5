//! Reads the text of a catalogue file into entries and collects all mistakes in its form.

use serde_json::Value;
use serde_json::value::RawValue;

use super::error::{CatalogError, Fault};
use super::place::{Lines, lines_down};
use crate::modules::definition::Entry;
use crate::modules::import::recognise;
use crate::modules::mistake::Mistake;

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
    /// Returns the fault for a mistake in the entry called `name` (its id, if it has one).
    pub(super) fn fault(&self, name: &str, mistake: Mistake) -> Fault {
        let line = self.line + lines_down(self.text, &mistake.path);
        Fault::of_entry(self.file, name, &mistake.path, mistake.message).at_line(line)
    }
}

/// Returns the entries of a file that can be read. The mistakes of all
/// other entries are added to `faults`.
pub(super) fn entries<'t>(file: &'t str, text: &'t str, faults: &mut CatalogError) -> Vec<Placed<'t>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let list = match elements(text) {
        Ok(Some(list)) => list,
        Ok(None) => {
            let hint = serde_json::from_str(text).map(|root| recognise(&root));
            let hint = match hint {
                Ok(Ok(kind)) => {
                    format!("; this is a list of {}, which `--catalog` takes as it is", kind.name())
                }
                _ => String::new(),
            };
            faults.push(Fault::of_file(file, format!("a catalogue file is a JSON array of entries{hint}")));
            return Vec::new();
        }
        Err(error) => {
            let (message, line) = (told(&error), error.line());
            faults
                .push(Fault::of_file(file, format!("it is not valid JSON: {message}")).at_line(line.max(1)));
            return Vec::new();
        }
    };
    if list.len() > MAX_ENTRIES {
        let message = format!("it has more than {MAX_ENTRIES} entries; split it into several files");
        faults.push(Fault::of_file(file, message));
        return Vec::new();
    }
    let mut lines = Lines::new(text);
    let entries = list.into_iter().enumerate().filter_map(|(index, raw)| {
        let place = Place { file, line: lines.of(raw.get()), text: raw.get() };
        entry(index, place, faults)
    });
    entries.collect()
}

fn entry<'t>(index: usize, place: Place<'t>, faults: &mut CatalogError) -> Option<Placed<'t>> {
    let mut name = format!("[{index}]");
    let size = place.text.len();
    if size > MAX_ENTRY_BYTES {
        let message = format!("it has {size} bytes; an entry has at most {MAX_ENTRY_BYTES}");
        faults.push(place.fault(&name, Mistake { path: String::new(), message }));
        return None;
    }
    let value: Value = match serde_json::from_str(place.text) {
        Ok(value) => value,
        Err(error) => {
            let fault = Fault::of_entry(place.file, &name, "", told(&error));
            faults.push(fault.at_line(place.line + error.line().saturating_sub(1)));
            return None;
        }
    };
    if let Some(id) = value.get("id").and_then(Value::as_str).filter(|id| !id.is_empty() && id.len() <= 64) {
        id.clone_into(&mut name);
    }
    match Entry::read(place.text, &value) {
        Ok(entry) => Some(Placed { name, entry, place }),
        Err(mistakes) => {
            mistakes.into_iter().for_each(|mistake| faults.push(place.fault(&name, mistake)));
            None
        }
    }
}

/// Returns the message of a JSON error without the position, which a [`Fault`] reports itself.
fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    match text {
        "recursion limit exceeded" => "it is nested too deep; at most 127 levels are allowed".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the elements of a JSON array without reading them. Returns `None` if the text is JSON but not an array.
fn elements(text: &str) -> Result<Option<Vec<&RawValue>>, serde_json::Error> {
    if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map(Some)
    } else {
        serde_json::from_str::<&RawValue>(text).map(|_| None)
    }
}
