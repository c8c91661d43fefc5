//! Checks the limits of the values in an entry by the JSON Schema: lengths, ranges, patterns and numbers of elements.
//! Serde checks their types and names.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::schema::json_schema;
use crate::modules::mistake::Mistakes;
use crate::modules::text::truncate;

/// The most characters of the written text that a message repeats.
const SHOWN_CHARS: usize = 60;

/// The message about null, which serde takes for an optional field that is not set.
const NO_NULL: &str = "null is not allowed here; leave it out";

/// Notes every value in an entry that is outside its limits.
pub(super) fn check(entry: &Value, mistakes: &mut Mistakes) {
    static FILE: LazyLock<File> = LazyLock::new(|| {
        serde_json::from_value(json_schema()).expect("the schema is one that is understood")
    });
    FILE.check(&FILE.items, entry, mistakes);
}

/// The JSON Schema of a catalogue file.
#[derive(Deserialize)]
struct File {
    items: Schema,
    #[serde(rename = "$defs")]
    defined: BTreeMap<String, Schema>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Schema {
    /// Any value if `true`, no value if `false`.
    Flag(#[expect(dead_code, reason = "it only tells what is read")] bool),
    Keywords(Box<Keywords>),
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Keywords {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    any_of: Vec<Schema>,
    properties: BTreeMap<String, Schema>,
    additional_properties: Option<Schema>,
    property_names: Option<Schema>,
    min_properties: usize,
    items: Option<Schema>,
    min_items: usize,
    max_items: Option<usize>,
    #[serde(deserialize_with = "regex")]
    pattern: Option<Regex>,
    min_length: usize,
    max_length: Option<usize>,
    minimum: u64,
    maximum: Option<u64>,
    /// The message about an invalid value, which says what is allowed.
    error_message: Option<String>,
}

fn regex<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Regex>, D::Error> {
    let pattern = String::deserialize(from)?;
    Regex::new(&pattern).map(Some).map_err(serde::de::Error::custom)
}

impl File {
    /// Returns the keywords of a schema, following its reference. Returns `None` if any value is allowed.
    fn keywords<'s>(&'s self, schema: &'s Schema) -> Option<&'s Keywords> {
        let Schema::Keywords(keywords) = schema else { return None };
        match keywords.reference.as_deref().and_then(|it| it.strip_prefix("#/$defs/")) {
            Some(name) => self.keywords(self.defined.get(name)?),
            None => Some(keywords),
        }
    }

    fn check(&self, schema: &Schema, value: &Value, mistakes: &mut Mistakes) {
        let Some(keywords) = self.keywords(schema) else { return };
        match value {
            _ if !keywords.any_of.is_empty() => {
                let fits = |branch: &&Schema| self.keywords(branch).is_none_or(|it| it.is_for(value));
                match keywords.any_of.iter().find(fits) {
                    Some(branch) => self.check(branch, value, mistakes),
                    None => mistakes.add(NO_NULL),
                }
            }
            Value::Null if keywords.kind.is_some() => mistakes.add(NO_NULL),
            Value::String(text) => keywords.check_text(text, mistakes),
            Value::Number(number) => {
                let is_in_range = |it: u64| (keywords.minimum..=keywords.maximum.unwrap_or(it)).contains(&it);
                if keywords.kind.as_deref() == Some("integer") && !number.as_u64().is_some_and(is_in_range) {
                    let (from, to) = (keywords.minimum, keywords.maximum);
                    let to = to.map(|to| format!(" to {to}")).unwrap_or_default();
                    let allowed = format!("write a whole number from {from}{to}");
                    keywords.refuse(&format!("{number} is not allowed here"), &allowed, mistakes);
                }
            }
            Value::Array(elements) => {
                keywords.check_count(elements.len(), keywords.min_items, keywords.max_items, mistakes);
                for (index, element) in elements.iter().enumerate() {
                    if let Some(schema) = &keywords.items {
                        mistakes.at(&format!("[{index}]"), |mistakes| self.check(schema, element, mistakes));
                    }
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    let schema = keywords.properties.get(name).or(keywords.additional_properties.as_ref());
                    if let Some(schema) = schema {
                        mistakes.at(name, |mistakes| self.check(schema, member, mistakes));
                    }
                    if let Some(names) = keywords.property_names.as_ref().and_then(|it| self.keywords(it)) {
                        names.check_text(name, mistakes);
                    }
                }
                keywords.check_count(members.len(), keywords.min_properties, None, mistakes);
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

impl Keywords {
    /// Returns whether a branch is the one for this value. The branches have different types.
    fn is_for(&self, value: &Value) -> bool {
        match self.kind.as_deref() {
            Some("integer") => value.is_number(),
            Some("object") => value.is_object(),
            _ => value.is_string(),
        }
    }

    /// Notes a mistake, with the schema's message or the given text about what is allowed.
    fn refuse(&self, what: &str, allowed: &str, mistakes: &mut Mistakes) {
        mistakes.add(format!("{what}; {}", self.error_message.as_deref().unwrap_or(allowed)));
    }

    fn check_text(&self, text: &str, mistakes: &mut Mistakes) {
        let is_found = self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
        let chars = text.chars().count();
        if chars < self.min_length || text.is_empty() && !is_found {
            self.refuse("an empty text is not allowed here", "write something, or leave it out", mistakes);
        } else if !is_found || self.max_length.is_some_and(|most| chars > most) {
            let shown = truncate(text, SHOWN_CHARS);
            self.refuse(&format!("`{shown}` is not allowed here"), "it does not match the schema", mistakes);
        }
    }

    fn check_count(&self, count: usize, least: usize, most: Option<usize>, mistakes: &mut Mistakes) {
        if count < least {
            let what = if count == 0 { "it is empty".to_owned() } else { format!("{count} is too few") };
            self.refuse(&what, &format!("at least {least} is required"), mistakes);
        }
        if let Some(most) = most.filter(|most| count > *most) {
            self.refuse(&format!("{count} are too many"), &format!("at most {most}"), mistakes);
        }
    }
}
