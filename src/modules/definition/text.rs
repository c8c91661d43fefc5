//! Texts of an entry that have a language of their own: each is parsed when the entry is read, keeps its text, and is
//! written as that text.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Implements serde, the JSON schema and equality for a type that has a text. `parse` makes it of one.
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

        $crate::modules::definition::text::entry_text_serde!($name, $parse);
    };
}
pub(crate) use entry_text;

/// Implements serde and the JSON schema for a type whose `as_str` is its text.
macro_rules! entry_text_serde {
    ($name:ident, $parse:expr) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::modules::definition::text::read(from, $parse)
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
                String::json_schema(generator)
            }
        }
    };
}
pub(crate) use entry_text_serde;

/// Reads a text and parses it.
pub(crate) fn read<'de, D: Deserializer<'de>, T>(
    from: D,
    parse: fn(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    struct Text<T>(fn(&str) -> Result<T, String>);

    impl<T> Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            (self.0)(text).map_err(E::custom)
        }
    }

    from.deserialize_str(Text(parse))
}

/// Reads a short form, which is a text, or a long form, which is an object. Unlike `serde(untagged)`, this keeps the
/// mistake and its place.
pub(super) fn read_either<'de, D, T, L>(
    from: D,
    short: fn(&str) -> Result<T, String>,
    long: fn(L) -> T,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    L: Deserialize<'de>,
{
    struct Either<T, L>(fn(&str) -> Result<T, String>, fn(L) -> T, PhantomData<L>);

    impl<'de, T, L: Deserialize<'de>> Visitor<'de> for Either<T, L> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or an object")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            (self.0)(text).map_err(E::custom)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            L::deserialize(MapAccessDeserializer::new(map)).map(self.1)
        }
    }

    from.deserialize_any(Either(short, long, PhantomData))
}
