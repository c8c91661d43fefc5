//! Reads entries from JSON. Serde checks the types and names of values. Their limits are checked by the JSON Schema of a
//! catalogue file, which is derived from the same types: lengths, ranges, patterns and numbers of elements.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
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
        let mut mistakes = Vec::new();
        SCHEMA.check(&SCHEMA.items, "", value, &mut mistakes);
        if mistakes.is_empty() { Ok(entry) } else { Err(mistakes) }
    }
}

/// Writes the entry as catalogue files have it, without fields that are not set or have their default value.
impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut json = Self::serialize(self, serde_json::value::Serializer).map_err(S::Error::custom)?;
        SCHEMA.strip(&SCHEMA.items, &mut json);
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

static SCHEMA: LazyLock<File> =
    LazyLock::new(|| serde_json::from_value(json_schema()).expect("the schema is one that is understood"));

/// The JSON Schema of a catalogue file.
#[derive(Deserialize)]
struct File {
    items: Part,
    #[serde(rename = "$defs")]
    defined: BTreeMap<String, Part>,
}

/// A part of the schema.
#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    /// Any value if `true`, no value if `false`.
    Flag(#[expect(dead_code, reason = "it only names what is read")] bool),
    Keywords(Box<Keywords>),
}

/// The keywords of a schema. It is for values of one type, so each limit has one of its names.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Keywords {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    any_of: Vec<Part>,
    properties: BTreeMap<String, Part>,
    additional_properties: Option<Part>,
    property_names: Option<Part>,
    items: Option<Part>,
    #[serde(deserialize_with = "regex")]
    pattern: Option<Regex>,
    #[serde(alias = "minimum", alias = "minLength", alias = "minItems", alias = "minProperties")]
    least: u64,
    #[serde(alias = "maximum", alias = "maxLength", alias = "maxItems")]
    most: Option<u64>,
    /// The value of a member that is left out, unless that is null.
    default: Option<Value>,
    /// The message about an invalid value, which says what is allowed.
    error_message: Option<String>,
}

fn regex<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Regex>, D::Error> {
    let pattern = String::deserialize(from)?;
    Regex::new(&pattern).map(Some).map_err(serde::de::Error::custom)
}

impl File {
    /// Returns the keywords for a value, following a reference, and of several branches the one for its type. Returns
    /// `None` if any value is allowed.
    fn keywords<'s>(&'s self, part: &'s Part, value: &Value) -> Option<&'s Keywords> {
        let Part::Keywords(keywords) = part else { return None };
        if let Some(name) = keywords.reference.as_deref().and_then(|it| it.strip_prefix("#/$defs/")) {
            return self.keywords(self.defined.get(name)?, value);
        }
        let mut branches = keywords.any_of.iter().filter_map(|branch| self.keywords(branch, value));
        Some(branches.find(|branch| branch.is_for(value)).unwrap_or(keywords))
    }

    /// Removes the members that are null or have their default value.
    fn strip(&self, part: &Part, value: &mut Value) {
        let Some(keywords) = self.keywords(part, value) else { return };
        match value {
            Value::Array(elements) => {
                let items = keywords.items.iter();
                items.for_each(|part| elements.iter_mut().for_each(|element| self.strip(part, element)));
            }
            Value::Object(members) => members.retain(|name, member| {
                let Some(part) = keywords.member(name) else { return true };
                self.strip(part, member);
                let default =
                    if let Part::Keywords(keywords) = part { keywords.default.as_ref() } else { None };
                !member.is_null() && default != Some(member)
            }),
            _ => {}
        }
    }

    /// Notes every value that is outside its limits.
    fn check(&self, part: &Part, at: &str, value: &Value, mistakes: &mut Vec<Mistake>) {
        let Some(keywords) = self.keywords(part, value) else { return };
        match value {
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    keywords.items.iter().for_each(|part| {
                        self.check(part, &format!("{at}[{index}]"), element, mistakes);
                    });
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    if let Some(part) = keywords.member(name) {
                        let dot = if at.is_empty() { "" } else { "." };
                        self.check(part, &format!("{at}{dot}{name}"), member, mistakes);
                    }
                    keywords.property_names.iter().for_each(|names| {
                        self.check(names, at, &Value::from(name.as_str()), mistakes);
                    });
                }
            }
            _ => {}
        }
        if let Some((what, allowed)) = keywords.fault(value) {
            let own = keywords.error_message.as_deref().filter(|_| !value.is_null());
            let allowed = own.unwrap_or(&allowed);
            mistakes.push(Mistake::new(at, &format!("{what}; {allowed}")));
        }
    }
}

impl Keywords {
    /// Returns the schema of a member.
    fn member(&self, name: &str) -> Option<&Part> {
        self.properties.get(name).or(self.additional_properties.as_ref())
    }

    /// Returns whether a branch is the one for this value. The branches have different types.
    fn is_for(&self, value: &Value) -> bool {
        match self.kind.as_deref() {
            Some("integer") => value.is_number(),
            Some("object") => value.is_object(),
            _ => value.is_string(),
        }
    }

    /// Returns what is wrong with a value, apart from its parts, and what is allowed.
    fn fault(&self, value: &Value) -> Option<(String, String)> {
        let (least, most) = (self.least, self.most.unwrap_or(u64::MAX));
        let is_allowed = |size: u64| (least..=most).contains(&size);
        let counted = |count: usize| match count as u64 {
            count if is_allowed(count) => None,
            0 => Some(("it is empty".to_owned(), format!("at least {least} is required"))),
            count if count < least => {
                Some((format!("{count} is too few"), format!("at least {least} is required")))
            }
            count => Some((format!("{count} are too many"), format!("at most {most}"))),
        };
        match value {
            Value::Array(elements) => counted(elements.len()),
            Value::Object(members) => counted(members.len()),
            // Serde takes null for an optional field that is not set.
            Value::Null if self.kind.is_some() || !self.any_of.is_empty() => {
                Some(("null is not allowed here".to_owned(), "leave it out".to_owned()))
            }
            Value::String(text) => {
                let is_found = self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
                let (what, allowed) = match text.as_str() {
                    _ if is_found && is_allowed(text.chars().count() as u64) => return None,
                    "" => ("an empty text".to_owned(), "write something, or leave it out"),
                    _ => (format!("`{}`", truncate(text, SHOWN_CHARS)), "it does not match the schema"),
                };
                Some((format!("{what} is not allowed here"), allowed.to_owned()))
            }
            Value::Number(number) if self.kind.as_deref() == Some("integer") => {
                let allowed = || format!("write a whole number from {least} to {most}");
                let is_right = number.as_u64().is_some_and(is_allowed);
                (!is_right).then(|| (format!("{number} is not allowed here"), allowed()))
            }
            _ => None,
        }
    }
}
