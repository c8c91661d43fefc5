//! Reads entries from JSON. Serde checks the types and names of values. Their limits are checked by the JSON Schema of a
//! catalogue file, which is derived from the same types: lengths, ranges, patterns and numbers of elements.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use parking_lot::Mutex;
use regex::Regex;
use schemars::generate::SchemaSettings;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::entry::Entry;
use crate::modules::text::truncate;

/// The most characters of the written text that a message repeats.
const SHOWN_CHARS: usize = 60;

impl Entry {
    /// Reads an entry.
    ///
    /// # Errors
    /// Returns the first mistake in the form of the entry, or else every value outside its limits.
    pub(crate) fn read(value: &Value) -> Result<Self, Vec<String>> {
        let entry = serde_path_to_error::deserialize(value).map_err(|error| {
            let path = error.path().to_string();
            vec![mistake(path.trim_start_matches('.'), &error.inner().to_string())]
        })?;
        let mistakes: Vec<String> = places(value).iter().filter_map(Place::mistake).collect();
        if mistakes.is_empty() { Ok(entry) } else { Err(mistakes) }
    }
}

/// Writes the entry as catalogue files have it, without fields that are not set or have their default value.
impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut json = Self::serialize(self, serde_json::value::Serializer).map_err(S::Error::custom)?;
        strip(&SCHEMA["items"], &mut json);
        json.serialize(to)
    }
}

/// Returns the JSON Schema (draft 2020-12) of a catalogue file, for editors.
pub fn json_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Vec<Entry>>();
    schema.insert("title".to_owned(), "Sightline catalogue file".into());
    schema.to_value()
}

static SCHEMA: LazyLock<Value> = LazyLock::new(json_schema);

/// Returns whether a text matches a regex of the schema. Each regex is compiled once.
fn matches(pattern: &'static str, text: &str) -> bool {
    static KNOWN: Mutex<BTreeMap<&str, Regex>> = Mutex::new(BTreeMap::new());
    let compiled = || Regex::new(pattern).expect("a pattern of the schema is valid");
    KNOWN.lock().entry(pattern).or_insert_with(compiled).is_match(text)
}

/// Returns the schema of a value, following a reference, and of several branches the one for its type. It is not an object
/// if any value is allowed.
fn schema_of(schema: &'static Value, value: &Value) -> &'static Value {
    if let Some(name) = schema["$ref"].as_str().and_then(|it| it.strip_prefix("#/$defs/")) {
        return schema_of(&SCHEMA["$defs"][name], value);
    }
    let is_for = |branch: &&Value| match branch["type"].as_str() {
        Some("integer") => value.is_number(),
        Some("object") => value.is_object(),
        _ => value.is_string(),
    };
    let branches = schema["anyOf"].as_array().into_iter().flatten();
    branches.map(|branch| schema_of(branch, value)).find(is_for).unwrap_or(schema)
}

/// Returns the schema of a member.
fn member(schema: &'static Value, name: &str) -> &'static Value {
    schema["properties"].get(name).unwrap_or(&schema["additionalProperties"])
}

/// Removes the members that are null or have their default value.
fn strip(schema: &'static Value, value: &mut Value) {
    let schema = schema_of(schema, value);
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(|element| strip(&schema["items"], element)),
        Value::Object(members) => members.retain(|name, value| {
            let schema = member(schema, name);
            strip(schema, value);
            !schema.is_object() || (!value.is_null() && schema["default"] != *value)
        }),
        _ => {}
    }
}

/// A value in an entry.
pub(super) struct Place<'v> {
    /// The path, such as `probes[0].url`.
    pub(super) at: String,
    pub(super) schema: &'static Value,
    pub(super) value: Cow<'v, Value>,
}

/// Returns an entry and all values in it. What is inside a value precedes it.
pub(super) fn places(entry: &Value) -> Vec<Place<'_>> {
    let mut found = Vec::new();
    add_places(&SCHEMA["items"], String::new(), entry, &mut found);
    found
}

fn add_places<'v>(schema: &'static Value, at: String, value: &'v Value, found: &mut Vec<Place<'v>>) {
    let schema = schema_of(schema, value);
    if !schema.is_object() {
        return;
    }
    match value {
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                let schema = schema["prefixItems"].get(index).unwrap_or(&schema["items"]);
                add_places(schema, format!("{at}[{index}]"), element, found);
            }
        }
        Value::Object(members) => {
            let dot = if at.is_empty() { "" } else { "." };
            for (name, value) in members {
                add_places(member(schema, name), format!("{at}{dot}{name}"), value, found);
                if let Some(schema) = schema.get("propertyNames") {
                    let value = Cow::Owned(name.as_str().into());
                    found.push(Place { at: at.clone(), schema, value });
                }
            }
        }
        _ => {}
    }
    found.push(Place { at, schema, value: Cow::Borrowed(value) });
}

impl Place<'_> {
    /// Returns the mistake if the value, apart from its parts, is outside its limits.
    fn mistake(&self) -> Option<String> {
        let limit = |names: &[&str]| names.iter().find_map(|name| self.schema[*name].as_u64());
        let least = limit(&["minimum", "minLength", "minItems", "minProperties"]).unwrap_or_default();
        let most = limit(&["maximum", "maxLength", "maxItems"]).unwrap_or(u64::MAX);
        let parts = |count: usize| (format!("having {count} parts"), count as u64);
        let (what, size) = match &*self.value {
            Value::Array(elements) => parts(elements.len()),
            Value::Object(members) => parts(members.len()),
            Value::String(text) => {
                (format!("`{}`", truncate(text, SHOWN_CHARS)), text.chars().count() as u64)
            }
            Value::Number(number) if self.schema["minimum"].is_u64() => {
                (number.to_string(), number.as_u64()?)
            }
            _ => return None,
        };
        let pattern = self.schema["pattern"].as_str().zip(self.value.as_str());
        let fits = pattern.is_none_or(|(pattern, text)| matches(pattern, text));
        if fits && (least..=most).contains(&size) {
            return None;
        }
        let allowed = match self.schema["errorMessage"].as_str() {
            Some(own) => own.to_owned(),
            None if self.value.is_string() => "write something, or leave it out".to_owned(),
            None if most == u64::MAX => format!("expected at least {least}"),
            None => format!("expected {least} to {most}"),
        };
        Some(mistake(&self.at, &format!("{what} is not allowed here; {allowed}")))
    }
}

/// The most characters of a place, and of a message.
const MAX_PATH_CHARS: usize = 200;
const MAX_MESSAGE_CHARS: usize = 1000;

/// Returns the text about a mistake in an entry: its place, such as `probes[0].url`, what is wrong and what was expected. The
/// place is empty for the entry as a whole.
pub(crate) fn mistake(path: &str, message: &str) -> String {
    let message = truncate(message, MAX_MESSAGE_CHARS);
    if path.is_empty() {
        message.into_owned()
    } else {
        format!("{}: {message}", truncate(path, MAX_PATH_CHARS))
    }
}
