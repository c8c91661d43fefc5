//! Reads bodies and query parameters into types that derive `Deserialize`. An error names the member by its path and says
//! what was expected. It does not repeat what the caller sent.

use std::str::FromStr;

use serde::Deserialize;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor};
use serde_json::{Map, Value};
use utoipa::IntoParams;

use super::openapi::schemas::to_json;
use crate::http::Request;
use crate::model::refusal::Refusal;
use crate::report::Format;

/// Reads a JSON body.
///
/// # Errors
/// Returns 415 for another content type, 400 for any other mistake.
pub(super) fn json<T: DeserializeOwned>(request: &Request) -> Result<T, Refusal> {
    read(&json_value(request)?)
}

/// Returns a JSON body that is an object, each member once.
///
/// # Errors
/// The same as [`json`].
pub(super) fn json_value(request: &Request) -> Result<Value, Refusal> {
    require_json(request)?;
    object(&request.body)
}

/// Reads an object of a body.
///
/// # Errors
/// Returns 400 for a member that is missing or not allowed.
pub(super) fn read<T: DeserializeOwned>(object: &Value) -> Result<T, Refusal> {
    parse(object).map_err(|error| {
        // Not by `T::deserialize`, of which the compiler would make a second copy.
        let mistake_in = |object: &Value| parse::<T>(object).err().map(|error| error.inner().to_string());
        refusal(object, &error.path().to_string(), &error.inner().to_string(), &mistake_in)
    })
}

fn parse<T: DeserializeOwned>(object: &Value) -> Result<T, serde_path_to_error::Error<serde_json::Error>> {
    serde_path_to_error::deserialize(Part(object))
}

/// Returns the refusal for a mistake at a path. `mistake_in` returns the mistake of another object of the same type.
fn refusal(
    object: &Value,
    path: &str,
    mistake: &str,
    mistake_in: &dyn Fn(&Value) -> Option<String>,
) -> Refusal {
    if let Some(missing) = mistake.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        // Its type says what it expects if it refuses null. Only the outermost object has members that are required.
        let mut object = object.clone();
        object[missing] = Value::Null;
        let allowed = allowed(&mistake_in(&object).unwrap_or_default());
        return Refusal::invalid_request(missing, format!("{missing} is missing"), allowed);
    }
    let allowed = allowed(mistake);
    let place = if matches!(path, "" | ".") { "body" } else { path };
    let refusal = Refusal::invalid_request(place.split('[').next().unwrap_or(place), "", allowed);
    let one_of = if refusal.facts["allowed"].is_array() { "one of " } else { "" };
    let message = format!("{place} must be {one_of}{}", refusal.allowed());
    Refusal { message, ..refusal }
}

/// Returns what a member may be. A mistake ends with what its type says, and may start with what the caller sent.
fn allowed(mistake: &str) -> Value {
    match mistake.rsplit_once(", expected ").map_or("a value", |(_, expected)| expected) {
        "a boolean" => "true or false".into(),
        "a sequence" => "an array".into(),
        "a map" => "an object".into(),
        words if words.contains('`') => words.split('`').skip(1).step_by(2).collect(),
        words if words.starts_with("struct ") => "an object".into(),
        words => words.into(),
    }
}

/// A value that is read only in the form that its schema has: words from texts, and objects from objects. serde_json would
/// also read words from objects, and objects from arrays.
#[derive(Clone, Copy)]
struct Part<'v>(&'v Value);

impl<'de> Deserializer<'de> for Part<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.iter().map(Part))),
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| (name.as_str(), Part(value)));
                visitor.visit_map(MapDeserializer::new(members))
            }
            scalar => scalar.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::Object(_) => self.deserialize_any(visitor),
            _ => Err(Self::Error::invalid_type(Unexpected::Other("another value"), &"an object")),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::String(_) => self.0.deserialize_enum(name, words, visitor),
            _ => Err(Self::Error::unknown_variant("another value", words)),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct
        seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, serde_json::Error> for Part<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Reads the query parameters. Unknown ones are ignored.
///
/// # Errors
/// Returns 400 for a parameter that is given twice, or whose value is not valid.
pub(super) fn query<T: DeserializeOwned + IntoParams>(request: &Request) -> Result<T, Refusal> {
    let (known, mut parameters) = (T::into_params(|| None), Map::new());
    for (name, text) in request.query_pairs() {
        let Some(parameter) = known.iter().find(|parameter| parameter.name == name) else { continue };
        let kind = to_json(&parameter.schema)["type"].to_string();
        let is_number = kind.contains("integer") && text.bytes().all(|byte| byte.is_ascii_digit());
        // What is no value of its type stays a text, which the type refuses.
        let value = match text.as_str() {
            "true" | "false" if kind.contains("boolean") => Value::Bool(text == "true"),
            digits if is_number => digits.parse::<u64>().map_or_else(|_| digits.into(), Value::from),
            text => text.into(),
        };
        if parameters.insert(name.clone(), value).is_some() {
            return Err(Refusal::invalid_request(&name, format!("{name} is given twice"), "one value"));
        }
    }
    read(&parameters.into())
}

#[derive(Deserialize, IntoParams)]
struct FormatParameters {
    format: Option<String>,
}

/// Reads the query parameter `format`: one of `known`, of which the first is the default.
///
/// # Errors
/// Returns the same errors as [`query`].
pub(super) fn format(request: &Request, known: &[Format]) -> Result<Format, Refusal> {
    let FormatParameters { format } = query(request)?;
    Format::among(known, format.as_deref())
}

pub(super) fn require_json(request: &Request) -> Result<(), Refusal> {
    let is_json = has_type(request, "application/json");
    if is_json { Ok(()) } else { Err(Refusal::unsupported_media_type(&["application/json"])) }
}

/// Returns whether the body of a request has this media type, in UTF-8.
pub(super) fn has_type(request: &Request, media_type: &str) -> bool {
    let content_type = request.header("content-type").unwrap_or_default();
    let mut parts = content_type.split(';').map(str::trim);
    parts.next().is_some_and(|media| media.eq_ignore_ascii_case(media_type))
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
                value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            _ => true,
        })
}

/// Reads a whole number. For JSON Schema, 6.0 is also an integer.
pub(super) fn whole<'de, D: Deserializer<'de>, N: TryFrom<u32>, const FROM: u32, const TO: u32>(
    deserializer: D,
) -> Result<Option<N>, D::Error> {
    let refused = || {
        let allowed = format!("a whole number from {FROM} to {TO}");
        D::Error::invalid_value(Unexpected::Other("another value"), &allowed.as_str())
    };
    let Some(number) = Option::<f64>::deserialize(deserializer).map_err(|_| refused())? else {
        return Ok(None);
    };
    let fits = number.fract() == 0.0 && (f64::from(FROM)..=f64::from(TO)).contains(&number);
    let number = fits.then(|| N::try_from(number as u32).ok()).flatten();
    number.map(Some).ok_or_else(refused)
}

/// Reads an array with a limited number of members.
pub(super) fn list<'de, D, T, const LEAST: usize, const MOST: usize>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let list = Option::<Vec<T>>::deserialize(deserializer)?;
    match &list {
        Some(list) if !(LEAST..=MOST).contains(&list.len()) => {
            let allowed = format!("an array with {LEAST} to {MOST} members");
            Err(D::Error::invalid_length(list.len(), &allowed.as_str()))
        }
        _ => Ok(list),
    }
}

/// Reads a text. `expected` says what to write if it is missing or another value.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D, expected: &str) -> Result<String, D::Error> {
    String::deserialize(deserializer)
        .map_err(|_| D::Error::invalid_type(Unexpected::Other("another value"), &expected))
}

/// Reads the hyphenated form of a UUID.
pub(super) fn id<'de, D: Deserializer<'de>, T: FromStr>(deserializer: D) -> Result<Option<T>, D::Error> {
    parsed(deserializer, "the hyphenated form of a UUID", |text| text.parse().ok())
}

/// Reads a cursor, which is written back as it was read.
pub(super) fn cursor<'de, D: Deserializer<'de>, T: FromStr + ToString>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    parsed(deserializer, "the next_cursor of an earlier answer", |text| {
        text.parse().ok().filter(|cursor: &T| cursor.to_string().eq_ignore_ascii_case(text))
    })
}

fn parsed<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    allowed: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let wrong = || D::Error::invalid_value(Unexpected::Other("another text"), &allowed);
    parse(&text).map(Some).ok_or_else(wrong)
}

/// Reads a member that null removes: a missing one is `None`, null is `Some(None)`.
pub(super) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Returns a body that is a JSON object.
///
/// # Errors
/// Returns 400 for anything else, for a repeated member, and for more than 127 levels of nesting.
pub(super) fn object(body: &[u8]) -> Result<Value, Refusal> {
    // A reader may skip a byte order mark (RFC 8259, section 8.1).
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    let invalid =
        |message: String| Refusal::invalid_request("body", message, "a JSON object, each member once");
    if body.is_empty() {
        return Err(Refusal::invalid_request("body", "the body is empty", "a JSON object"));
    }
    // The errors of serde_json name a position and a kind. They never repeat what the caller sent.
    let value = serde_json::from_slice(body).map_err(|error| {
        let what = match error.to_string().starts_with("recursion limit") {
            true => "is nested deeper than 127 levels",
            false => "is not valid JSON",
        };
        invalid(format!("the body {what} (line {}, column {})", error.line(), error.column()))
    })?;
    let is_repeated = count_members(&value) != count_colons(body);
    match value {
        // Of a repeated member, serde_json keeps the last value. Two parsers could read different requests.
        Value::Object(_) if is_repeated => Err(invalid("duplicate member in the body".to_owned())),
        Value::Object(_) => Ok(value),
        _ => Err(invalid("the body is not a JSON object".to_owned())),
    }
}

/// Returns the number of members of all objects in a value.
fn count_members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_members).sum(),
        Value::Object(members) => members.len() + members.values().map(count_members).sum::<usize>(),
        _ => 0,
    }
}

/// Returns the number of colons outside of strings: one for each member that was sent.
fn count_colons(body: &[u8]) -> usize {
    let (mut colons, mut in_string, mut escaped) = (0, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b':' if !in_string => colons += 1,
            _ => {}
        }
    }
    colons
}
