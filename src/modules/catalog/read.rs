//! From text to entries, with every mistake of form named.

use serde_json::Value;

use super::error::Fault;
use super::shape;
use super::strict::Strict;
use crate::modules::definition::Entry;
use crate::modules::mistake::Mistakes;

/// The entries of a file that can be read; what is wrong with the others goes to `faults`.
pub(super) fn entries(file: &str, text: &str, faults: &mut Vec<Fault>) -> Vec<Entry> {
    let root = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(Strict(root)) => root,
        Err(error) => {
            faults.push(Fault::of_file(file, format!("it is no JSON: {error}")));
            return Vec::new();
        }
    };
    let Value::Array(list) = root else {
        faults.push(Fault::of_file(file, "a catalogue file is a JSON array of entries"));
        return Vec::new();
    };
    let entries = list.into_iter().enumerate();
    entries.filter_map(|(index, value)| entry(file, index, value, faults)).collect()
}

fn entry(file: &str, index: usize, value: Value, faults: &mut Vec<Fault>) -> Option<Entry> {
    let id = value.get("id").and_then(Value::as_str).filter(|id| !id.is_empty() && id.len() <= 64);
    let name = id.map_or_else(|| format!("[{index}]"), str::to_owned);
    let mut mistakes = Mistakes::default();
    shape::check(&value, &mut mistakes);
    if mistakes.count() > 0 {
        let mistakes = mistakes.into_list().into_iter();
        faults.extend(mistakes.map(|it| Fault::of_entry(file, &name, &it.path, it.message)));
        return None;
    }
    match serde_json::from_value(value) {
        Ok(entry) => Some(entry),
        // The shapes say the same as the types, so this is a number out of range at the most.
        Err(error) => {
            faults.push(Fault::of_entry(file, &name, "", error.to_string()));
            None
        }
    }
}
