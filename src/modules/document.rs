//! Reads JSON documents that people write and refuses duplicate names in an object. serde_json would silently keep the
//! last of two members with the same name.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Reads a JSON text in which no object may have a duplicate name.
///
/// # Errors
/// Returns an error if the text is not JSON or an object has a duplicate name.
pub(crate) fn strict(text: &str) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}'));
    let root = Strict.deserialize(&mut reader)?;
    reader.end()?;
    Ok(root)
}

#[derive(Clone, Copy)]
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element_seed(self)? {
            elements.push(element);
        }
        Ok(Value::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if members.contains_key(&name) {
                let message = format!("the name `{name}` is repeated in one object");
                return Err(A::Error::custom(message));
            }
            let value = map.next_value_seed(self)?;
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_repeated_name_is_refused() {
        let error = strict(r#"[{"a": 1, "a": 1}]"#).unwrap_err().to_string();
        assert_eq!(error, "the name `a` is repeated in one object at line 1 column 13");
        assert_eq!(strict("\u{feff}[{\"a\": {\"a\": 1}}]").unwrap(), serde_json::json!([{"a": {"a": 1}}]));
    }

    proptest! {
        #[test]
        fn without_repeated_names_the_result_equals_serde_json(text in r#"[\[\]{}",:a0 tnulre\\.-]{0,40}"#) {
            match (strict(&text), serde_json::from_str::<Value>(&text)) {
                (Ok(one), Ok(other)) => prop_assert_eq!(one, other),
                (Err(error), Ok(_)) => prop_assert!(error.to_string().contains("repeated")),
                (one, other) => prop_assert_eq!(one.is_ok(), other.is_ok()),
            }
        }
    }
}
