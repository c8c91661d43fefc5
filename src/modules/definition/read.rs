//! Reads entries from JSON. Serde checks the types and names of values. Their limits are checked by the JSON Schema of a
//! catalogue file, which is derived from the same types: lengths, ranges, patterns and numbers of elements.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use schemars::generate::SchemaSettings;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::entry::Entry;
use crate::modules::mistake::Mistake;
use crate::modules::text::truncate;

/// The most characters of the written text that a message repeats.
const SHOWN_CHARS: usize = 60;

/// The message about null, which serde takes for an optional field that is not set.
const NO_NULL: &str = "null is not allowed here; leave it out";

impl Entry {
    /// Reads an entry. `value` is its text, read as JSON.
    ///
    /// # Errors
    /// Returns the first mistake in the form of the entry, or else every value outside its limits.
    pub(crate) fn read(text: &str, value: &Value) -> Result<Self, Vec<Mistake>> {
        let entry = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(it, _)| it);
            let is_about_object = ["unknown field", "missing field"].iter().any(|it| message.starts_with(it));
            let path = path_at(text, error.line(), error.column(), is_about_object);
            vec![Mistake::new(&path, message)]
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
        strip(&mut json);
        json.serialize(to)
    }
}

/// Removes the fields of an entry that are not set or have their default value.
fn strip(entry: &mut Value) {
    SCHEMA.strip(&SCHEMA.items, entry);
}

/// Returns the path, such as `probes[0].url`, of the value that a reader of valid JSON has read at this place, or of the
/// object around it.
fn path_at(text: &str, line: usize, column: usize, is_of_object: bool) -> String {
    static TOKENS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"(?s)"(?:[^"\\]|\\.)*"?|[{}\[\],]"#).expect("a valid pattern"));
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let read = text.get(..start + column).unwrap_or(text);
    // A reader that goes on after a mistake in the last member stops at the end of the object.
    let read = read.strip_suffix(['}', ']']).unwrap_or(read);
    // The open objects, with the name of the member that is being read, and arrays, with the index of the element.
    let mut levels: Vec<(&str, Option<usize>)> = Vec::new();
    let mut before = "";
    for token in TOKENS.find_iter(read).map(|token| token.as_str()) {
        match (token, levels.last_mut()) {
            ("{", _) => levels.push(("", None)),
            ("[", _) => levels.push(("", Some(0))),
            ("}" | "]", _) => drop(levels.pop()),
            (",", Some((_, Some(index)))) => *index += 1,
            (name, Some((known, None))) if matches!(before, "{" | ",") => *known = name.trim_matches('"'),
            _ => {}
        }
        before = token;
    }
    if is_of_object {
        levels.pop();
    }
    let parts = levels
        .into_iter()
        .map(|(name, index)| index.map_or(format!(".{name}"), |index| format!("[{index}]")));
    parts.collect::<String>().trim_start_matches('.').to_owned()
}

/// Returns the JSON Schema (draft 2020-12) of a catalogue file, for editors.
pub fn json_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Vec<Entry>>();
    schema.insert("title".to_owned(), "Sightline catalogue file".into());
    let mut schema = schema.to_value();
    without_null(&mut schema);
    schema
}

/// Removes null from the schema of every `Option`, because an optional field is left out, not written as null.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(without_null),
        Value::Object(keywords) => {
            keywords.values_mut().for_each(without_null);
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
        _ => {}
    }
}

static SCHEMA: LazyLock<File> =
    LazyLock::new(|| serde_json::from_value(json_schema()).expect("the schema is one that is understood"));

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
    /// Returns the keywords of a schema, following its reference. Returns `None` if any value is allowed.
    fn keywords<'s>(&'s self, schema: &'s Schema) -> Option<&'s Keywords> {
        let Schema::Keywords(keywords) = schema else { return None };
        match keywords.reference.as_deref().and_then(|it| it.strip_prefix("#/$defs/")) {
            Some(name) => self.keywords(self.defined.get(name)?),
            None => Some(keywords),
        }
    }

    /// Returns the branch of a schema that is for this value.
    fn branch<'s>(&'s self, keywords: &'s Keywords, value: &Value) -> Option<&'s Schema> {
        let fits = |branch: &&Schema| self.keywords(branch).is_none_or(|it| it.is_for(value));
        keywords.any_of.iter().find(fits)
    }

    /// Removes the members that are null or have their default value.
    fn strip(&self, schema: &Schema, value: &mut Value) {
        let Some(keywords) = self.keywords(schema) else { return };
        if let Some(branch) = self.branch(keywords, value) {
            return self.strip(branch, value);
        }
        match value {
            Value::Array(elements) => {
                let items = keywords.items.iter();
                items.for_each(|schema| elements.iter_mut().for_each(|element| self.strip(schema, element)));
            }
            Value::Object(members) => members.retain(|name, member| {
                let Some(schema) = keywords.member(name) else { return true };
                self.strip(schema, member);
                let Schema::Keywords(keywords) = schema else { return !member.is_null() };
                !member.is_null() && keywords.default.as_ref() != Some(member)
            }),
            _ => {}
        }
    }

    /// Notes every value that is outside its limits.
    fn check(&self, schema: &Schema, at: &str, value: &Value, mistakes: &mut Vec<Mistake>) {
        let Some(keywords) = self.keywords(schema) else { return };
        match value {
            _ if !keywords.any_of.is_empty() => match self.branch(keywords, value) {
                Some(branch) => self.check(branch, at, value, mistakes),
                None => mistakes.push(Mistake::new(at, NO_NULL)),
            },
            Value::Null if keywords.kind.is_some() => mistakes.push(Mistake::new(at, NO_NULL)),
            Value::String(text) => mistakes.extend(keywords.check_text(at, text)),
            Value::Number(number) => {
                let is_in_range = |it: u64| (keywords.minimum..=keywords.maximum.unwrap_or(it)).contains(&it);
                if keywords.kind.as_deref() == Some("integer") && !number.as_u64().is_some_and(is_in_range) {
                    let (from, to) = (keywords.minimum, keywords.maximum);
                    let to = to.map(|to| format!(" to {to}")).unwrap_or_default();
                    let allowed = format!("write a whole number from {from}{to}");
                    mistakes.push(keywords.mistake(at, &format!("{number} is not allowed here"), &allowed));
                }
            }
            Value::Array(elements) => {
                mistakes.extend(keywords.check_count(
                    at,
                    elements.len(),
                    keywords.min_items,
                    keywords.max_items,
                ));
                for (index, element) in elements.iter().enumerate() {
                    if let Some(schema) = &keywords.items {
                        self.check(schema, &format!("{at}[{index}]"), element, mistakes);
                    }
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    if let Some(schema) = keywords.member(name) {
                        let dot = if at.is_empty() { "" } else { "." };
                        self.check(schema, &format!("{at}{dot}{name}"), member, mistakes);
                    }
                    if let Some(names) = keywords.property_names.as_ref().and_then(|it| self.keywords(it)) {
                        mistakes.extend(names.check_text(at, name));
                    }
                }
                mistakes.extend(keywords.check_count(at, members.len(), keywords.min_properties, None));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

impl Keywords {
    /// Returns the schema of a member.
    fn member(&self, name: &str) -> Option<&Schema> {
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

    /// Returns a mistake, with the schema's message or the given text about what is allowed.
    fn mistake(&self, at: &str, what: &str, allowed: &str) -> Mistake {
        Mistake::new(at, &format!("{what}; {}", self.error_message.as_deref().unwrap_or(allowed)))
    }

    fn check_text(&self, at: &str, text: &str) -> Option<Mistake> {
        let is_found = self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
        let chars = text.chars().count();
        if chars < self.min_length || text.is_empty() && !is_found {
            let what = "an empty text is not allowed here";
            return Some(self.mistake(at, what, "write something, or leave it out"));
        }
        let is_allowed = is_found && self.max_length.is_none_or(|most| chars <= most);
        let what = format!("`{}` is not allowed here", truncate(text, SHOWN_CHARS));
        (!is_allowed).then(|| self.mistake(at, &what, "it does not match the schema"))
    }

    fn check_count(&self, at: &str, count: usize, least: usize, most: Option<usize>) -> Option<Mistake> {
        if count < least {
            let what = if count == 0 { "it is empty".to_owned() } else { format!("{count} is too few") };
            return Some(self.mistake(at, &what, &format!("at least {least} is required")));
        }
        let most = most.filter(|most| count > *most)?;
        Some(self.mistake(at, &format!("{count} are too many"), &format!("at most {most}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_text_has_a_path() {
        let text = "{\"a\": 1, \"b\\\"{\": [\n {\"c\": \"x,]\"}, {\"d\": [\"y\", \"z\"]}]}";
        for (end, want) in
            [("\"x,]\"", "b\\\"{[0].c"), ("\"z\"", "b\\\"{[1].d[1]"), ("1", "a"), ("\"c\"", "b\\\"{[0].c")]
        {
            let at = text.find(end).unwrap() + end.len();
            let line = text[..at].matches('\n').count() + 1;
            let column = at - text[..at].rfind('\n').map_or(0, |at| at + 1);
            assert_eq!(path_at(text, line, column, false), want, "{end}");
        }
    }
}
