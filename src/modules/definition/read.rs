//! Reads and writes entries as JSON. Serde checks the types and names of values, and the JSON Schema their limits.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::engine::Site;
use super::entry::Entry;
use super::schema::{Part, SCHEMA, mistake, parts, strip};

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

    /// Returns the line of the site if it gives this entry.
    pub(crate) fn to_line(&self) -> Option<Value> {
        let base = Self::read(&json!({"engine": self.engine.as_ref()?, "host": self.host.as_ref()?})).ok()?;
        let (base, mut line) = (base.to_short_json(), self.to_short_json());
        let members = line.as_object_mut()?;
        members.retain(|name, value| {
            ["engine", "host"].contains(&name.as_str()) || base.get(name) != Some(value)
        });
        // `off` says it.
        members.remove("enabled");
        Self::read(&line).is_ok_and(|read| read == *self).then_some(line)
    }

    /// Reads an entry, or the line of a site that runs a known engine.
    ///
    /// # Errors
    /// Returns the first mistake in the form of the entry, or else every value outside its limits.
    pub(crate) fn read(value: &Value) -> Result<Self, Vec<String>> {
        let is_site = value.get("engine").is_some() && value.get("probes").is_none();
        let entry = match is_site {
            true => of_form::<Site>(value)?.into_entry().map_err(|mistake| vec![mistake])?,
            false => of_form(value)?,
        };
        let json = if is_site { Cow::Owned(entry.to_json()) } else { Cow::Borrowed(value) };
        let mistakes: Vec<String> = parts(&json).iter().filter_map(Part::mistake).collect();
        if mistakes.is_empty() { Ok(entry) } else { Err(mistakes) }
    }
}

/// Returns the JSON Schema (draft 2020-12) of a catalogue file, for editors.
pub fn json_schema() -> Value {
    let mut schema = SCHEMA.clone();
    schema["title"] = "Sightline catalogue file".into();
    let mut site = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Site>();
    site.remove("$schema");
    schema["items"] = json!({"if": {"required": ["probes"]}, "then": schema["items"], "else": site});
    schema
}

/// Reads a value. The error is the first mistake in its form.
fn of_form<'v, T: Deserialize<'v>>(value: &'v Value) -> Result<T, Vec<String>> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        vec![mistake(path.trim_start_matches('.'), &error.inner().to_string())]
    })
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.to_short_json().serialize(to)
    }
}
