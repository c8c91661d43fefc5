//! Texts of an entry that have their own language: each is parsed when the entry is read, keeps its text, and is
//! written as that text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::{Serialize, Serializer};

/// Implements serde, the JSON schema and equality for a type that has a text. `parse` makes it of one. The schema names the
/// type as `format`.
macro_rules! entry_text {
    ($name:ident, $parse:expr) => {
        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                self.as_str()
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.as_str() == other.as_str()
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
                to.serialize_str(self.as_str())
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

/// Reads the members of an object. Unlike a map's own implementation, it refuses a repeated name.
pub(super) fn unique<'de, D, V>(from: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    struct Members<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for Members<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = BTreeMap::new();
            while let Some(name) = map.next_key::<String>()? {
                if members.contains_key(&name) {
                    return Err(A::Error::custom(format!("`{name}` is repeated; give it one value")));
                }
                members.insert(name, map.next_value()?);
            }
            Ok(members)
        }
    }

    from.deserialize_map(Members(PhantomData))
}

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
