//! Reads JSON documents that people write and detects duplicate names in an object. serde_json would
//! silently keep the last of two members with the same name.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The most duplicate names in a document. Reading fails if there are more.
const MAX_TWICE: usize = 10_000;

/// The names that lead from the root to a member.
pub(crate) type Path = Vec<String>;

/// Reads a JSON text in which no object may have a duplicate name.
///
/// # Errors
/// Returns an error if the text is not JSON or an object has a duplicate name.
pub(crate) fn strict(text: &str) -> Result<Value, serde_json::Error> {
    document(text, None)
}

/// Reads a JSON text in which the last member of a name counts. Also returns the paths of duplicate names,
/// such as `sites`, `GitHub`. The indexes of arrays are not part of the paths.
///
/// # Errors
/// Returns an error if the text is not JSON or has too many duplicate names.
pub(crate) fn lenient(text: &str) -> Result<(Value, Vec<Path>), serde_json::Error> {
    let twice = RefCell::default();
    let root = document(text, Some(&twice))?;
    Ok((root, twice.into_inner()))
}

fn document(text: &str, twice: Option<&RefCell<Vec<Path>>>) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}'));
    let root = Place { twice, above: None, name: "" }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(root)
}

/// The position of the reader in the document.
#[derive(Clone, Copy)]
struct Place<'p> {
    /// The duplicates found so far. If it is `None`, a duplicate name is an error.
    twice: Option<&'p RefCell<Vec<Path>>>,
    above: Option<&'p Place<'p>>,
    name: &'p str,
}

impl Place<'_> {
    fn path(&self) -> Path {
        let mut path = self.above.map(Place::path).unwrap_or_default();
        if self.above.is_some() {
            path.push(self.name.to_owned());
        }
        path
    }
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
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
            let place = Place { twice: self.twice, above: Some(&self), name: &name };
            if members.contains_key(&name) {
                let Some(twice) = self.twice else {
                    return Err(A::Error::custom(format_args!(
                        "the name `{name}` is repeated in one object"
                    )));
                };
                let mut twice = twice.borrow_mut();
                twice.push(place.path());
                if twice.len() > MAX_TWICE {
                    return Err(A::Error::custom(format_args!("more than {MAX_TWICE} names are repeated")));
                }
            }
            let value = map.next_value_seed(place)?;
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
    fn the_last_of_two_equal_names_is_used_and_both_are_reported() {
        let (root, twice) =
            lenient(r#"{"a": 1, "sites": {"X": {"u": 1, "u": 2}, "X": [{"v": 1, "v": 2}]}}"#).unwrap();
        assert_eq!(root, serde_json::json!({"a": 1, "sites": {"X": [{"v": 2}]}}));
        assert_eq!(twice, [vec!["sites", "X", "u"], vec!["sites", "X"], vec!["sites", "X", "v"]]);
        let many = format!("{{{}\"a\": 0}}", "\"a\": 0,".repeat(MAX_TWICE + 1));
        assert!(lenient(&many).unwrap_err().to_string().contains("names are repeated"));
    }

    #[test]
    fn a_strict_reader_refuses_a_repeated_name() {
        let error = strict(r#"[{"a": 1, "a": 1}]"#).unwrap_err().to_string();
        assert_eq!(error, "the name `a` is repeated in one object at line 1 column 13");
        assert_eq!(strict("\u{feff}[{\"a\": {\"a\": 1}}]").unwrap(), serde_json::json!([{"a": {"a": 1}}]));
    }

    #[test]
    fn invalid_or_deeply_nested_json_is_refused() {
        for text in ["", "{", "[1,]", "{} {}", &"[".repeat(200_000)] {
            assert!(lenient(text).is_err());
        }
    }

    proptest! {
        #[test]
        fn without_repeated_names_the_result_equals_serde_json(text in r#"[\[\]{}",:a0 tnulre\\.-]{0,40}"#) {
            match (lenient(&text), serde_json::from_str::<Value>(&text)) {
                (Ok((one, _)), Ok(other)) => prop_assert_eq!(one, other),
                (one, other) => prop_assert_eq!(one.is_ok(), other.is_ok()),
            }
        }
    }
}
