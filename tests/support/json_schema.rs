//! Validates values by JSON Schema, draft 2020-12, with the words that the program's schemas use.

use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, Mutex};

use regex::Regex;
use serde_json::{Map, Value};

/// Returns the mistake in a value by the schema at this pointer of a document, if there is one.
pub(crate) fn mistake(document: &Value, pointer: &str, value: &Value) -> Option<String> {
    check(document, document.pointer(pointer).expect(pointer), value, "").err()
}

/// Checks a value at a place. Returns the names of the members that the schema describes.
fn check(document: &Value, schema: &Value, value: &Value, at: &str) -> Result<BTreeSet<String>, String> {
    let mut known = BTreeSet::new();
    let words = match schema {
        Value::Bool(true) => return Ok(known),
        Value::Object(words) => words,
        _ => return Err(format!("{at} is not allowed: {value}")),
    };
    let (items, members) = (value.as_array().into_iter().flatten(), value.as_object().into_iter().flatten());
    let part =
        |schema: &Value, value: &Value, name: &str| check(document, schema, value, &format!("{at}/{name}"));
    for (word, want) in words {
        match word.as_str() {
            "$ref" => {
                let target = document.pointer(want.as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
                known.extend(check(document, target, value, at)?);
            }
            "allOf" => {
                for schema in list(want) {
                    known.extend(check(document, schema, value, at)?);
                }
            }
            "anyOf" | "oneOf" => {
                let fitting = list(want).iter().filter_map(|schema| check(document, schema, value, at).ok());
                let fitting: Vec<_> = fitting.collect();
                if fitting.is_empty() || (word == "oneOf" && fitting.len() > 1) {
                    return Err(format!("{at} fits {} of {word}: {value}", fitting.len()));
                }
                known.extend(fitting.into_iter().flatten());
            }
            "prefixItems" => {
                for (index, (schema, item)) in list(want).iter().zip(items.clone()).enumerate() {
                    part(schema, item, &index.to_string())?;
                }
            }
            "items" => {
                let described = words.get("prefixItems").map_or(0, |items| list(items).len());
                for (index, item) in items.clone().enumerate().skip(described) {
                    part(want, item, &index.to_string())?;
                }
            }
            "properties" => {
                for (name, member) in members.clone().filter(|(name, _)| want.get(name).is_some()) {
                    part(&want[name], member, name)?;
                    known.insert(name.clone());
                }
            }
            "additionalProperties" => {
                let described = |name: &str| words.get("properties").is_some_and(|it| it.get(name).is_some());
                for (name, member) in members.clone().filter(|(name, _)| !described(name)) {
                    part(want, member, name)?;
                    known.insert(name.clone());
                }
            }
            "propertyNames" => {
                for (name, _) in members.clone() {
                    part(want, &name.as_str().into(), name)?;
                }
            }
            "contentSchema" => {
                if let Some(text) = value.as_str() {
                    let content = serde_json::from_str(text).map_err(|error| format!("{at}: {error}"))?;
                    check(document, want, &content, at)?;
                }
            }
            // It is compared below, when all members are known.
            "unevaluatedProperties" => {}
            _ if !is_right(word, want, value) => return Err(format!("{at} is not {word} {want}: {value}")),
            _ => {}
        }
    }
    let is_closed = words.get("unevaluatedProperties").is_some_and(|allowed| *allowed == false);
    match members.map(|(name, _)| name).find(|name| is_closed && !known.contains(*name)) {
        Some(name) => Err(format!("{at}/{name} is not described")),
        None => Ok(known),
    }
}

/// Returns whether a word without further schemas is right about a value.
fn is_right(word: &str, want: &Value, value: &Value) -> bool {
    let (text, number) = (value.as_str(), value.as_f64());
    let (items, members) = (value.as_array(), value.as_object());
    let length = text.map(|text| text.chars().count());
    let size = || usize::try_from(want.as_u64().unwrap()).unwrap();
    match word {
        "type" => match want {
            Value::Array(types) => types.iter().any(|name| has_type(value, name)),
            name => has_type(value, name),
        },
        "const" => value == want,
        "enum" => list(want).contains(value),
        "minimum" => number.is_none_or(|number| number >= want.as_f64().unwrap()),
        "maximum" => number.is_none_or(|number| number <= want.as_f64().unwrap()),
        "minLength" => length.is_none_or(|length| length >= size()),
        "maxLength" => length.is_none_or(|length| length <= size()),
        "pattern" => text.is_none_or(|text| pattern(want.as_str().unwrap()).is_match(text)),
        "format" => text.is_none_or(|text| has_format(text, want.as_str().unwrap())),
        "minItems" => items.is_none_or(|items| items.len() >= size()),
        "maxItems" => items.is_none_or(|items| items.len() <= size()),
        "uniqueItems" => {
            items.is_none_or(|items| (1..items.len()).all(|at| !items[..at].contains(&items[at])))
        }
        "minProperties" => members.is_none_or(|members| members.len() >= size()),
        "required" => {
            let has =
                |members: &Map<String, Value>, name: &Value| members.contains_key(name.as_str().unwrap());
            members.is_none_or(|members| list(want).iter().all(|name| has(members, name)))
        }
        "$schema" | "$defs" | "title" | "description" | "default" | "examples" | "errorMessage"
        | "contentMediaType" | "discriminator" => true,
        _ => panic!("the word {word} is not known"),
    }
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the type {other} is not known"),
    }
}

fn has_format(text: &str, format: &str) -> bool {
    match format {
        "uuid" => text.len() == 36 && uuid::Uuid::try_parse(text).is_ok(),
        "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
        "uri" => url::Url::parse(text).is_ok(),
        _ => true,
    }
}

fn pattern(text: &str) -> Regex {
    static PATTERNS: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Mutex::default);
    let mut patterns = PATTERNS.lock().unwrap();
    patterns.entry(text.to_owned()).or_insert_with(|| Regex::new(text).expect(text)).clone()
}
