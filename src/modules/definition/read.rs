//! Reads entries from JSON.

use serde_json::Value;

use super::entry::Entry;
use super::form;
use crate::modules::mistake::Mistakes;

impl Entry {
    /// Reads an entry and notes every mistake of its form, with its place and the allowed values. Returns
    /// `None` if the value cannot be deserialized. An entry that only breaks a limit is still returned, so
    /// that the rest of it can be checked.
    pub(crate) fn read(value: Value, mistakes: &mut Mistakes) -> Option<Self> {
        form::check(&value, mistakes);
        let entry = serde_json::from_value(value);
        if let Err(error) = &entry
            && mistakes.count() == 0
        {
            // The schema and the types agree, so this can only be a number out of range.
            mistakes.add(error.to_string());
        }
        entry.ok()
    }
}
