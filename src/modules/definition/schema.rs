//! The JSON Schema of a catalogue file, which is derived from the types of this module, and the parts of an entry with their
//! limits in it: lengths, ranges, patterns and numbers of elements.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use parking_lot::Mutex;
use regex::Regex;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::Value;

use super::entry::Entry;
use super::probe::JsonBody;
use super::source::{Reads, Source};
use crate::modules::pattern::SearchRegex;
use crate::modules::template::{Pattern, Template, Variable};
use crate::modules::text::truncate;

/// The most characters of the written text that a message repeats.
const SHOWN_CHARS: usize = 60;

/// The most characters of a place, and of a message.
const MAX_PATH_CHARS: usize = 200;
const MAX_MESSAGE_CHARS: usize = 1000;

/// The schema of a file without lines of sites.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<Vec<Entry>>().to_value()
});

/// Returns the schema of a value, following a reference, and of several branches the one for its type. It is not an object
/// if it may be any value.
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

/// Removes the members of an entry that have their default value, and those that are null, unless every value is allowed
/// there.
pub(super) fn strip(entry: &mut Value) {
    strip_part(&SCHEMA["items"], entry);
}

fn strip_part(schema: &'static Value, value: &mut Value) {
    let schema = schema_of(schema, value);
    match value {
        Value::Array(elements) => {
            for element in elements {
                strip_part(&schema["items"], element);
            }
        }
        Value::Object(members) => members.retain(|name, value| {
            let schema = member(schema, name);
            strip_part(schema, value);
            let is_any = schema.as_object().is_none_or(|limits| limits.keys().eq(["description"]));
            is_any || (!value.is_null() && schema["default"] != *value)
        }),
        _ => {}
    }
}

/// Returns whether a text matches a regex of the schema. Each regex is compiled once.
fn matches(pattern: &'static str, text: &str) -> bool {
    static KNOWN: Mutex<BTreeMap<&str, Regex>> = Mutex::new(BTreeMap::new());
    let compiled = || Regex::new(pattern).expect("a pattern of the schema is valid");
    KNOWN.lock().entry(pattern).or_insert_with(compiled).is_match(text)
}

/// A value in an entry.
pub(crate) struct Part<'v> {
    /// The path, such as `probes[0].url`.
    pub(crate) at: String,
    schema: &'static Value,
    pub(crate) value: Cow<'v, Value>,
}

/// Returns an entry and all values in it. What is inside a value precedes it.
pub(crate) fn parts(entry: &Value) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    add_parts(&SCHEMA["items"], String::new(), entry, &mut found);
    found
}

fn add_parts<'v>(schema: &'static Value, at: String, value: &'v Value, found: &mut Vec<Part<'v>>) {
    let schema = schema_of(schema, value);
    if !schema.is_object() {
        return;
    }
    match value {
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                let schema = schema["prefixItems"].get(index).unwrap_or(&schema["items"]);
                add_parts(schema, format!("{at}[{index}]"), element, found);
            }
        }
        Value::Object(members) => {
            let dot = if at.is_empty() { "" } else { "." };
            for (name, value) in members {
                add_parts(member(schema, name), format!("{at}{dot}{name}"), value, found);
                if let Some(schema) = schema.get("propertyNames") {
                    let value = Cow::Owned(name.as_str().into());
                    found.push(Part { at: at.clone(), schema, value });
                }
            }
        }
        _ => {}
    }
    found.push(Part { at, schema, value: Cow::Borrowed(value) });
}

impl Part<'_> {
    /// Returns the mistake if the value, apart from its parts, is outside its limits.
    pub(super) fn mistake(&self) -> Option<String> {
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

    /// Returns the templates in the text, and the regex in it, with examples as the values of its variables.
    pub(crate) fn languages(&self) -> (Vec<Template>, Option<SearchRegex>) {
        self.parsed().unwrap_or_default()
    }

    fn parsed(&self) -> Result<(Vec<Template>, Option<SearchRegex>), serde_json::Error> {
        let of_pattern = |pattern: Pattern| (vec![pattern.template.clone()], Some(pattern.example()));
        let value = &*self.value;
        Ok(match self.format() {
            "Template" => (vec![Template::deserialize(value)?], None),
            "Pattern" => of_pattern(Pattern::deserialize(value)?),
            "SearchRegex" => (Vec::new(), Some(SearchRegex::deserialize(value)?)),
            "JsonBody" => (JsonBody::deserialize(value)?.templates, None),
            "Source" => match Source::deserialize(value)?.reads {
                Reads::Template(template) => (vec![template], None),
                Reads::Regex(pattern) => of_pattern(pattern),
                _ => (Vec::new(), None),
            },
            _ => (Vec::new(), None),
        })
    }

    /// Returns the name of the type that parses the text.
    fn format(&self) -> &str {
        self.schema["format"].as_str().unwrap_or_default()
    }

    /// Returns the index of the probe that the part belongs to, and the path in it.
    pub(crate) fn probe(&self) -> Option<(usize, &str)> {
        let (index, path) = self.at.strip_prefix("probes[")?.split_once(']')?;
        Some((index.parse().ok()?, path.trim_start_matches('.')))
    }

    /// Returns whether the part is the `format` of an extractor, or a template with this name in a request.
    pub(crate) fn is_format(&self) -> bool {
        self.format() == "Template" && self.at.ends_with(".format")
    }

    /// Returns whether the part is in one of these members of the entry.
    pub(crate) fn is_in(&self, members: &[&str]) -> bool {
        members.iter().any(|member| self.at.strip_prefix(member).is_some_and(|path| path.starts_with('[')))
    }

    /// Returns whether the part compares something with the query, or has a variable for which `is_meant` returns `true`.
    pub(crate) fn asks_for(&self, is_meant: impl Fn(&Variable) -> bool) -> bool {
        (self.at.ends_with(".equals_query") && self.value.is_boolean())
            || (self.at.ends_with(".shows_query") && *self.value == true)
            || self.languages().0.iter().flat_map(Template::variables).any(is_meant)
    }
}

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
