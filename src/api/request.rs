//! Reads bodies and query parameters into types that derive `Deserialize`. An error names the member by its path and says
//! what is allowed. It does not repeat what the caller sent.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    self, Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error as _, Expected,
    IntoDeserializer as _, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};
use utoipa::IntoParams;

use super::error::{Allowed, ApiError, values};
use super::members;
use crate::http::Request;

/// Reads a JSON body.
///
/// # Errors
/// Returns 415 for another content type, 400 for any other mistake.
pub(super) fn json<T: DeserializeOwned>(request: &Request) -> Result<T, ApiError> {
    read(&json_value(request)?)
}

/// Returns a JSON body that is an object, each member once.
///
/// # Errors
/// The same as [`json`].
pub(super) fn json_value(request: &Request) -> Result<Value, ApiError> {
    require_json(request)?;
    members::value(&request.body)
}

/// Reads an object of a body.
///
/// # Errors
/// Returns 400 for a member that is missing or not allowed.
pub(super) fn read<T: DeserializeOwned>(object: &Value) -> Result<T, ApiError> {
    let read = |object: &Value| T::deserialize(Part { value: object, is_text: false });
    read(object).map_err(|mut mistake| {
        if let (Some(name), Value::Object(members)) = (mistake.missing, object) {
            // What is allowed for a missing member is known to its type, which refuses null.
            let mut members = members.clone();
            members.insert(name.to_owned(), Value::Null);
            mistake.allowed = read(&members.into()).err().map_or(mistake.allowed, |null| null.allowed);
        }
        mistake.into()
    })
}

/// Reads the query parameters. Unknown ones are ignored.
///
/// # Errors
/// Returns 400 for a parameter that is given twice, or whose value is not allowed.
pub(super) fn query<T: DeserializeOwned + IntoParams>(request: &Request) -> Result<T, ApiError> {
    let (known, mut parameters) = (T::into_params(|| None), Map::new());
    for (name, value) in request.query_pairs() {
        if parameters.contains_key(&name) && known.iter().any(|parameter| parameter.name == name) {
            return Err(ApiError::invalid_request(&name, format!("{name} is given twice"), "one value"));
        }
        parameters.insert(name, value.into());
    }
    Ok(T::deserialize(Part { value: &parameters.into(), is_text: true })?)
}

pub(super) fn require_json(request: &Request) -> Result<(), ApiError> {
    let content_type = request.header("content-type").unwrap_or_default();
    let mut parts = content_type.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|media| media.eq_ignore_ascii_case("application/json"));
    let is_utf8 = parts.all(|parameter| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    });
    if is_json && is_utf8 { Ok(()) } else { Err(ApiError::unsupported_media_type(&["application/json"])) }
}

/// Reads a whole number. For JSON Schema, 6.0 is an integer, too.
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

/// A mistake in a body or in a parameter.
#[derive(Debug)]
struct Mistake {
    /// The path of the member, empty for the body itself.
    path: String,
    allowed: Allowed,
    /// Whether the member is an array, and the mistake is in an item of it.
    is_of_item: bool,
    /// The name of the member that is missing.
    missing: Option<&'static str>,
}

impl Mistake {
    fn expected(allowed: impl Into<Allowed>) -> Self {
        Self { path: String::new(), allowed: allowed.into(), is_of_item: false, missing: None }
    }

    /// Adds the member that holds the mistake to the path.
    fn within(mut self, outer: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path = format!("{outer}{dot}{}", self.path);
        self
    }
}

impl From<Mistake> for ApiError {
    fn from(Mistake { path, allowed, is_of_item, missing }: Mistake) -> Self {
        let field = match (missing, path.as_str()) {
            (Some(name), "") => name.to_owned(),
            (Some(name), path) => format!("{path}.{name}"),
            (None, "") => "body".to_owned(),
            (None, _) => path,
        };
        let message = match &allowed {
            _ if missing.is_some() => format!("{field} is missing"),
            Allowed::Words(words) if is_of_item => format!("{field} has an item that is not {words}"),
            Allowed::Words(words) => format!("{field} is not {words}"),
            Allowed::Values(_) if is_of_item => format!("{field} has an unknown item"),
            Allowed::Values(_) => format!("the {field} is unknown"),
        };
        Self::invalid_request(&field, message, allowed)
    }
}

impl Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

impl std::error::Error for Mistake {}

impl de::Error for Mistake {
    fn custom<T: Display>(_: T) -> Self {
        Self::expected("a valid value")
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expected(match expected.to_string().as_str() {
            "a boolean" => "true or false",
            "a sequence" => "an array",
            other => return Self::expected(other),
        })
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expected(expected.to_string())
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::expected(expected.to_string())
    }

    fn unknown_variant(_: &str, allowed: &'static [&'static str]) -> Self {
        Self::expected(values(allowed))
    }

    fn missing_field(name: &'static str) -> Self {
        Self { missing: Some(name), ..Self::expected("a value") }
    }
}

/// A part of a body, or the text of a parameter.
#[derive(Clone, Copy)]
struct Part<'a> {
    value: &'a Value,
    is_text: bool,
}

impl<'a> Part<'a> {
    /// Returns the value that the text of a parameter stands for, if it has only these characters. `+7` is a number for
    /// `parse`, but most likely a mistake.
    fn of_text<T: FromStr>(self, fits: impl Fn(char) -> bool) -> Option<T> {
        let text = self.value.as_str().filter(|text| self.is_text && text.chars().all(fits))?;
        text.parse().ok()
    }
}

impl<'de> Deserializer<'de> for Part<'de> {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::Array(items) => visitor.visit_seq(Items(items.iter())),
            Value::Object(members) => {
                visitor.visit_map(Members { members: members.iter(), value: None, is_text: self.is_text })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.of_text(char::is_alphabetic) {
            Some(flag) => visitor.visit_bool(flag),
            None if self.is_text => Err(Mistake::expected(values(&["true", "false"]))),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.of_text(|c| c.is_ascii_digit()) {
            Some(number) => visitor.visit_f64(number),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        if self.value.is_object() {
            self.deserialize_any(visitor)
        } else {
            Err(Mistake::expected("an object"))
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        match self.value.as_str() {
            Some(word) => visitor.visit_enum(word.into_deserializer()),
            None => Err(Mistake::expected(values(words))),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char str string bytes byte_buf unit unit_struct newtype_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// The members of an object, or the parameters.
struct Members<'a> {
    members: serde_json::map::Iter<'a>,
    /// The member whose name was read last.
    value: Option<(&'a str, &'a Value)>,
    is_text: bool,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Mistake;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mistake> {
        let Some((name, value)) = self.members.next() else { return Ok(None) };
        self.value = Some((name, value));
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mistake> {
        let Some((name, value)) = self.value.take() else { return Err(Mistake::expected("a value")) };
        let part = Part { value, is_text: self.is_text };
        seed.deserialize(part).map_err(|mistake| mistake.within(name))
    }
}

/// The items of an array.
struct Items<'a>(std::slice::Iter<'a, Value>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mistake> {
        let Some(value) = self.0.next() else { return Ok(None) };
        let item = seed.deserialize(Part { value, is_text: false });
        item.map(Some).map_err(|mistake| Mistake { is_of_item: true, ..mistake })
    }
}
