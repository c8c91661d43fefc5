//! Checks the form of a value by the JSON Schema, with a message for each mistake.
//!
//! Only the JSON Schema keywords that the entry types generate are supported.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

use super::schema::json_schema;
use crate::modules::mistake::Mistakes;
use crate::modules::near::nearest;
use crate::modules::text::truncate;

/// The most characters of the written text that a message repeats.
const SHOWN_CHARS: usize = 60;

/// Notes every mistake of form in an entry.
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
    Flag(bool),
    Keywords(Box<Keywords>),
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Keywords {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(rename = "type")]
    kind: Option<Kind>,
    any_of: Vec<Schema>,
    #[serde(rename = "enum")]
    words: Vec<String>,
    one_of: Vec<Word>,
    properties: BTreeMap<String, Schema>,
    required: Vec<String>,
    additional_properties: Option<Schema>,
    property_names: Option<Schema>,
    min_properties: usize,
    items: Option<Schema>,
    prefix_items: Vec<Schema>,
    min_items: usize,
    max_items: Option<usize>,
    #[serde(deserialize_with = "regex")]
    pattern: Option<Regex>,
    min_length: usize,
    max_length: Option<usize>,
    minimum: Option<u64>,
    maximum: Option<u64>,
    /// The message about an invalid value, which says what is allowed.
    error_message: Option<String>,
}

/// A keyword value with its own description, as `oneOf` lists them.
#[derive(Deserialize)]
struct Word {
    #[serde(rename = "const")]
    word: String,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    String,
    Boolean,
    Integer,
    Number,
    Array,
    Object,
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
        if !self.has_type(keywords, value) {
            let message = format!("{} is not allowed here; write {}", named(value), self.described(keywords));
            return mistakes.add(message);
        }
        match value {
            _ if !keywords.any_of.is_empty() => {
                let fits = |branch: &&Schema| self.keywords(branch).is_none_or(|it| self.has_type(it, value));
                if let Some(branch) = keywords.any_of.iter().find(fits) {
                    self.check(branch, value, mistakes);
                }
            }
            Value::String(text) => keywords.check_text(text, mistakes),
            Value::Number(number) => keywords.check_number(number, mistakes),
            Value::Array(elements) => {
                keywords.check_count(elements.len(), keywords.min_items, keywords.max_items, mistakes);
                for (index, (element, schema)) in elements
                    .iter()
                    .zip(keywords.prefix_items.iter().chain(keywords.items.iter().cycle()))
                    .enumerate()
                {
                    mistakes.element(index, |mistakes| self.check(schema, element, mistakes));
                }
            }
            Value::Object(members) => self.check_object(keywords, members, mistakes),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn check_object(&self, keywords: &Keywords, members: &Map<String, Value>, mistakes: &mut Mistakes) {
        let known = &keywords.properties;
        for (name, member) in members {
            match (known.get(name), &keywords.additional_properties) {
                (Some(schema), _) | (None, Some(schema @ Schema::Keywords(_))) => {
                    mistakes.field(name, |mistakes| self.check(schema, member, mistakes));
                }
                (None, Some(Schema::Flag(false))) => {
                    let near = did_you_mean(name, known.keys().map(String::as_str));
                    let all = known.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                    let name = truncate(name, SHOWN_CHARS);
                    mistakes.add(format!("unknown field `{name}`;{near} allowed are {all}"));
                }
                (None, _) => {}
            }
            if let Some(names) = keywords.property_names.as_ref().and_then(|names| self.keywords(names)) {
                names.check_text(name, mistakes);
            }
        }
        let missing: Vec<&String> =
            keywords.required.iter().filter(|name| !members.contains_key(*name)).collect();
        for name in &missing {
            mistakes.add(format!("the field `{name}` is missing"));
        }
        if missing.is_empty() {
            keywords.check_count(members.len(), keywords.min_properties, None, mistakes);
        }
    }

    /// Returns whether the value has a type that the schema allows.
    fn has_type(&self, keywords: &Keywords, value: &Value) -> bool {
        if !keywords.any_of.is_empty() {
            let mut branches = keywords.any_of.iter();
            return branches.any(|it| self.keywords(it).is_none_or(|it| self.has_type(it, value)));
        }
        let kind = keywords.kind.or((!keywords.one_of.is_empty()).then_some(Kind::String));
        kind.is_none_or(|kind| match kind {
            Kind::String => value.is_string(),
            Kind::Boolean => value.is_boolean(),
            Kind::Integer => value.is_u64() || value.is_i64(),
            Kind::Number => value.is_number(),
            Kind::Array => {
                let count = keywords.prefix_items.len();
                value.as_array().is_some_and(|elements| count == 0 || elements.len() == count)
            }
            Kind::Object => value.is_object(),
        })
    }

    /// Describes what is allowed, as the end of a message that begins with "write".
    fn described(&self, keywords: &Keywords) -> String {
        if !keywords.any_of.is_empty() {
            let branches = keywords.any_of.iter().filter_map(|it| self.keywords(it));
            return branches.map(|it| self.described(it)).collect::<Vec<_>>().join(" or ");
        }
        if keywords.has_words() {
            return format!("one of {}", keywords.words().collect::<Vec<_>>().join(", "));
        }
        match (keywords.kind, keywords.prefix_items.len()) {
            (None, _) => "any value".into(),
            (Some(Kind::String), _) => "a text".into(),
            (Some(Kind::Boolean), _) => "true or false".into(),
            (Some(Kind::Integer), _) => keywords.range(),
            (Some(Kind::Number), _) => "a number".into(),
            (Some(Kind::Array), 0) => "an array".into(),
            (Some(Kind::Array), count) => format!("an array of {count} texts"),
            (Some(Kind::Object), _) => "an object".into(),
        }
    }
}

impl Keywords {
    fn has_words(&self) -> bool {
        !self.words.is_empty() || !self.one_of.is_empty()
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().chain(self.one_of.iter().map(|it| &it.word)).map(String::as_str)
    }

    fn range(&self) -> String {
        let from = self.minimum.unwrap_or_default();
        let to = self.maximum.map(|to| format!(" to {to}")).unwrap_or_default();
        format!("a whole number from {from}{to}")
    }

    /// Notes a mistake, with the schema's message or the given text about what is allowed.
    fn refuse(&self, what: &str, allowed: &str, mistakes: &mut Mistakes) {
        mistakes.add(format!("{what}; {}", self.error_message.as_deref().unwrap_or(allowed)));
    }

    fn check_text(&self, text: &str, mistakes: &mut Mistakes) {
        let shown = truncate(text, SHOWN_CHARS);
        if self.has_words() && !self.words().any(|word| word == text) {
            let near = did_you_mean(text, self.words());
            let allowed = self.words().collect::<Vec<_>>().join(", ");
            return mistakes.add(format!("`{shown}` is not allowed here;{near} allowed are {allowed}"));
        }
        let is_found = self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
        let is_long_enough = self.min_length == 0 || text.chars().nth(self.min_length - 1).is_some();
        let is_short_enough = self.max_length.is_none_or(|most| text.chars().nth(most).is_none());
        if !is_long_enough || text.is_empty() && !is_found {
            self.refuse("an empty text is not allowed here", "write something, or leave it out", mistakes);
        } else if !is_found || !is_short_enough {
            self.refuse(&format!("`{shown}` is not allowed here"), "it does not match the schema", mistakes);
        }
    }

    fn check_number(&self, number: &Number, mistakes: &mut Mistakes) {
        let is_whole = self.kind == Some(Kind::Integer);
        let is_in_range = |it: u64| {
            self.minimum.is_none_or(|least| it >= least) && self.maximum.is_none_or(|most| it <= most)
        };
        if is_whole && !number.as_u64().is_some_and(is_in_range) {
            self.refuse(
                &format!("{number} is not allowed here"),
                &format!("write {}", self.range()),
                mistakes,
            );
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

/// Describes a value in a message.
fn named(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(_) => "a text".into(),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

/// Returns ` did you mean …?` if a known name is near, and an empty text otherwise.
fn did_you_mean<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> String {
    nearest(name, known).map_or_else(String::new, |known| format!(" did you mean `{known}`?"))
}
