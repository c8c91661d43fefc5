//! Reads and writes entries as JSON. Serde checks the types and names of values, and the JSON Schema their limits.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::entry::Entry;
use super::schema::{Part, mistake, parts, strip};

impl Entry {
    /// Returns the entry as JSON with all its members.
    pub(crate) fn to_json(&self) -> Value {
        // Cannot fail: the maps of an entry have strings as keys.
        Self::serialize(self, serde_json::value::Serializer).unwrap_or_default()
    }

    /// Returns the entry as catalogue files have it, without members that are not set or have their default value.
    pub(crate) fn to_short_json(&self) -> Value {
        let mut json = self.to_json();
        strip(&mut json);
        json
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// Returns the first mistake in the form of the entry, or else every value outside its limits.
    pub(crate) fn read(value: &Value) -> Result<Self, Vec<String>> {
        let entry = serde_path_to_error::deserialize(value).map_err(|error| {
            let path = error.path().to_string();
            vec![mistake(path.trim_start_matches('.'), &error.inner().to_string())]
        })?;
        let mistakes: Vec<String> = parts(value).iter().filter_map(Part::mistake).collect();
        if mistakes.is_empty() { Ok(entry) } else { Err(mistakes) }
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.to_short_json().serialize(to)
    }
}
