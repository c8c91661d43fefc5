//! Reads entries from JSON. Serde checks the types and names of values. Their limits are checked by the JSON Schema of a
//! catalogue file, which is derived from the same types: lengths, ranges, patterns and numbers of elements.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::entry::Entry;
use crate::modules::mistake::Mistake;
use crate::modules::text::truncate;

/// The most characters of the written text that a message repeats.
const SHOWN_CHARS: usize = 60;

impl Entry {
    /// Reads an entry. `value` is its text, read as JSON.
    ///
    /// # Errors
    /// Returns the first mistake in the form of the entry, or else every value outside its limits.
    pub(crate) fn read(text: &str, value: &Value) -> Result<Self, Vec<Mistake>> {
        let reader = &mut serde_json::Deserializer::from_str(text);
        let entry = serde_path_to_error::deserialize(reader).map_err(|error| {
            let (mut path, message) = (error.path().to_string(), error.inner().to_string());
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(it, _)| it);
            if message.starts_with("duplicate field") || message.contains("is repeated") {
                // The reader noticed it in the object.
                path = format!("{path}.{}", message.split('`').nth(1).unwrap_or_default());
            }
            vec![Mistake::new(path.trim_start_matches('.'), message)]
        })?;
        let mistakes: Vec<Mistake> = places(value).iter().filter_map(Place::mistake).collect();
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
    RecursiveTransform(without_null).transform(&mut schema);
    schema.to_value()
}

/// Removes null from the schema of an `Option`, because an optional field is left out, not written as null.
fn without_null(schema: &mut Schema) {
    let Some(keywords) = schema.as_object_mut() else { return };
    keywords.retain(|name, value| name != "default" || !value.is_null());
    if let Some(Value::Array(types)) = keywords.get_mut("type") {
        types.retain(|it| it != "null");
        if let [only] = types.as_slice() {
            keywords["type"] = only.clone();
        }
    }
    if let Some(Value::Array(words)) = keywords.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(branches)) = keywords.get_mut("anyOf") {
        branches.retain(|branch| branch["type"] != "null");
        if let [Value::Object(only)] = branches.as_mut_slice() {
            let only = std::mem::take(only);
            keywords.remove("anyOf");
            only.into_iter().for_each(|(name, value)| {
                keywords.entry(name).or_insert(value);
            });
        }
    }
}

static SCHEMA: LazyLock<Value> = LazyLock::new(json_schema);

/// The regexes in the schema.
static PATTERNS: LazyLock<HashMap<&str, Regex>> = LazyLock::new(|| {
    let mut found = HashMap::new();
    add_patterns(&SCHEMA, &mut found);
    found
});

fn add_patterns(schema: &'static Value, found: &mut HashMap<&str, Regex>) {
    if let Some(pattern) = schema["pattern"].as_str() {
        found.insert(pattern, Regex::new(pattern).expect("a pattern of the schema is valid"));
    }
    match schema {
        Value::Array(parts) => parts.iter().for_each(|part| add_patterns(part, found)),
        Value::Object(keywords) => keywords.values().for_each(|part| add_patterns(part, found)),
        _ => {}
    }
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
    /// Returns the mistake if the value is outside its limits.
    fn mistake(&self) -> Option<Mistake> {
        let (what, allowed) = self.fault()?;
        let own = self.schema["errorMessage"].as_str().filter(|_| !self.value.is_null());
        Some(Mistake::new(&self.at, &format!("{what}; {}", own.unwrap_or(&allowed))))
    }

    /// Returns what is wrong with the value, apart from its parts, and what is allowed.
    fn fault(&self) -> Option<(String, String)> {
        let limit = |names: &[&str]| names.iter().find_map(|name| self.schema[*name].as_u64());
        let least = limit(&["minimum", "minLength", "minItems", "minProperties"]).unwrap_or_default();
        let most = limit(&["maximum", "maxLength", "maxItems"]).unwrap_or(u64::MAX);
        let is_allowed = |size: u64| (least..=most).contains(&size);
        let counted = |count: usize| match count as u64 {
            count if is_allowed(count) => None,
            0 => Some(("it is empty".to_owned(), format!("at least {least} is required"))),
            count if count < least => {
                Some((format!("{count} is too few"), format!("at least {least} is required")))
            }
            count => Some((format!("{count} are too many"), format!("at most {most}"))),
        };
        match &*self.value {
            Value::Array(elements) => counted(elements.len()),
            Value::Object(members) => counted(members.len()),
            // Serde takes null for an optional field that is not set.
            Value::Null if self.schema["type"].is_string() || self.schema["anyOf"].is_array() => {
                Some(("null is not allowed here".to_owned(), "leave it out".to_owned()))
            }
            Value::String(text) => {
                let pattern = self.schema["pattern"].as_str().and_then(|pattern| PATTERNS.get(pattern));
                let (what, allowed) = match text.as_str() {
                    _ if pattern.is_none_or(|it| it.is_match(text))
                        && is_allowed(text.chars().count() as u64) =>
                    {
                        return None;
                    }
                    "" => ("an empty text".to_owned(), "write something, or leave it out"),
                    _ => (format!("`{}`", truncate(text, SHOWN_CHARS)), "it does not match the schema"),
                };
                Some((format!("{what} is not allowed here"), allowed.to_owned()))
            }
            Value::Number(number) if self.schema["type"] == "integer" => {
                let allowed = || format!("write a whole number from {least} to {most}");
                let is_right = number.as_u64().is_some_and(is_allowed);
                (!is_right).then(|| (format!("{number} is not allowed here"), allowed()))
            }
            _ => None,
        }
    }
}
