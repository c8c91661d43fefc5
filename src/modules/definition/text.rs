//! Texts of an entry that have their own language: each is parsed when the entry is read, keeps its text, and is
//! written as that text.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::{Serialize, Serializer};

/// The most rules, results and known names in each list.
pub(super) const MAX_LISTED: usize = 50;
/// The most probes of a module.
pub const MAX_PROBES: usize = 4;

/// The pattern of a category or a tag, followed by its message.
pub(super) const WORD: &str = "^[a-z0-9_ -]{1,64}$";
pub(super) const WORD_ALLOWED: &str = "expected a-z, 0-9, `_`, `-` and spaces, at most 64 characters";
/// The pattern of a metadata name or a saved name, followed by its message.
pub(crate) const NAME: &str = "^[a-z0-9_]{1,40}$";
pub(crate) const NAME_ALLOWED: &str = "expected a-z, 0-9 and `_`, at most 40 characters";
/// The pattern of an email domain, followed by its message.
pub(super) const DOMAIN: &str = r"^[a-z0-9.-]*\.[a-z0-9.-]*$";
pub(super) const DOMAIN_ALLOWED: &str = "write a domain in lower case";

/// The pattern of a host, with a path if there is one, followed by its message.
pub(super) const SITE: &str = r"^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._-]+)*$";
pub(super) const SITE_ALLOWED: &str =
    "write a host in lower case, such as `forum.example.org` or `wiki.example.org/w`";

/// The pattern of a date in an entry, followed by its message. Whether the day exists is checked later.
pub(super) const DATE: &str = "^20[0-9]{2}-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?$";
pub(super) const DATE_ALLOWED: &str = "write a date such as 2026-08-22, or 2026-08 if the day is not known";

pub(super) fn yes() -> bool {
    true
}

/// Implements serde, the JSON schema and equality for a type that keeps its text in a field. `parse` makes it of one. The
/// schema names the type as `format`.
macro_rules! entry_text {
    ($name:ident, $text:ident, $parse:expr) => {
        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.$text
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                **self == **other
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let parse: fn(&str) -> Result<Self, String> = $parse;
                parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self)
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut schema = String::json_schema(generator);
                schema.insert("format".to_owned(), stringify!($name).into());
                schema
            }
        }
    };
}
pub(crate) use entry_text;

/// A value with a short form, which is a text.
pub trait Short: Sized {
    /// Reads the short form.
    ///
    /// # Errors
    /// Returns what is wrong with the text.
    fn of_text(text: &str) -> Result<Self, String>;

    /// Returns the short form, if that says everything.
    fn as_text(&self) -> Option<&str>;

    /// Returns the JSON schema of the short form.
    fn schema() -> Schema;
}

/// A value that an entry writes in its short form, as a text, or else as an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ShortOrLong<T>(Box<T>);

impl<T> Deref for ShortOrLong<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Unlike `serde(untagged)`, this keeps the mistake and its place.
impl<'de, T: Short + Deserialize<'de>> Deserialize<'de> for ShortOrLong<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Short + Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or an object")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
                T::of_text(text).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }
        from.deserialize_any(Either(PhantomData)).map(|value| Self(Box::new(value)))
    }
}

impl<T: Short + Serialize> Serialize for ShortOrLong<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.as_text() {
            Some(text) => to.serialize_str(text),
            None => self.0.serialize(to),
        }
    }
}

impl<T: Short + JsonSchema> JsonSchema for ShortOrLong<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [T::schema(), generator.subschema_for::<T>()] })
    }
}
