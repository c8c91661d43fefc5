//! The shape of an entry as a table: for messages that name the place, and for the JSON Schema.

mod schema;
mod table;

use serde_json::{Map, Value};

pub use schema::json_schema;

use super::near::nearest;
use crate::modules::mistake::Mistakes;
use crate::modules::text::cut;
use table::ENTRY;

/// How much of what was written a message repeats.
const SHOWN_CHARS: usize = 60;

/// What may stand at a place.
enum Shape {
    Text,
    Flag,
    /// A whole number from 0 to this one.
    Whole(u64),
    /// A whole number of 32 bits with its sign.
    Signed,
    Number,
    /// Any JSON value.
    Any,
    /// One of these words.
    Word(&'static [&'static str]),
    List(&'static Shape),
    /// Two texts in an array.
    Pair,
    /// An object with free names.
    Map(&'static Shape),
    Object(&'static [Field]),
    /// Either of two, told apart by their JSON type.
    Either(&'static Shape, &'static Shape),
    /// A shape that stands elsewhere: one that may hold itself is named so.
    See(&'static Shape),
}

struct Field {
    name: &'static str,
    is_required: bool,
    shape: Shape,
}

const fn must(name: &'static str, shape: Shape) -> Field {
    Field { name, is_required: true, shape }
}

const fn may(name: &'static str, shape: Shape) -> Field {
    Field { name, is_required: false, shape }
}

/// Notes everything in an entry that has not the form that it must have.
pub(super) fn check(entry: &Value, mistakes: &mut Mistakes) {
    ENTRY.check(entry, mistakes);
}

impl Shape {
    fn check(&self, value: &Value, mistakes: &mut Mistakes) {
        match (self, value) {
            (Self::Any, _)
            | (Self::Text, Value::String(_))
            | (Self::Flag, Value::Bool(_))
            | (Self::Number, Value::Number(_)) => {}
            (Self::Whole(most), Value::Number(number)) if number.as_u64().is_some_and(|it| it <= *most) => {}
            (Self::Signed, Value::Number(number))
                if number.as_i64().is_some_and(|it| i32::try_from(it).is_ok()) => {}
            (Self::See(shape), value) => shape.check(value, mistakes),
            (Self::Word(words), Value::String(word)) if words.contains(&word.as_str()) => {}
            (Self::Word(words), Value::String(word)) => {
                let near = did_you_mean(word, words.iter().copied());
                let (word, allowed) = (cut(word, SHOWN_CHARS), words.join(", "));
                mistakes.add(format!("`{word}` is not allowed here;{near} allowed are {allowed}"));
            }
            (Self::List(shape), Value::Array(elements)) => {
                for (index, element) in elements.iter().enumerate() {
                    mistakes.element(index, |mistakes| shape.check(element, mistakes));
                }
            }
            (Self::Pair, Value::Array(pair)) if pair.len() == 2 && pair.iter().all(Value::is_string) => {}
            (Self::Map(shape), Value::Object(members)) => {
                for (name, member) in members {
                    mistakes.field(name, |mistakes| shape.check(member, mistakes));
                }
            }
            (Self::Object(fields), Value::Object(members)) => check_object(fields, members, mistakes),
            (Self::Either(one, other), value) => {
                let shape = if one.is_type_of(value) { one } else { other };
                if shape.is_type_of(value) {
                    shape.check(value, mistakes);
                } else {
                    mistakes.add(format!(
                        "{} is not allowed here; write {}",
                        type_name(value),
                        self.describe()
                    ));
                }
            }
            (_, value) => {
                mistakes.add(format!("{} is not allowed here; write {}", type_name(value), self.describe()));
            }
        }
    }

    /// Whether the value has this shape's JSON type.
    fn is_type_of(&self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Text | Self::Word(_) => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Whole(_) | Self::Signed | Self::Number => value.is_number(),
            Self::List(_) | Self::Pair => value.is_array(),
            Self::Map(_) | Self::Object(_) => value.is_object(),
            Self::Either(one, other) => one.is_type_of(value) || other.is_type_of(value),
            Self::See(shape) => shape.is_type_of(value),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Any => "any value".into(),
            Self::Text => "a text".into(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Flag => "true or false".into(),
            Self::Whole(most) if *most == u64::MAX => "a whole number from 0".into(),
            Self::Whole(most) => format!("a whole number from 0 to {most}"),
            Self::Signed => format!("a whole number from {} to {}", i32::MIN, i32::MAX),
            Self::Number => "a number".into(),
            Self::List(_) => "an array".into(),
            Self::Pair => "an array of two texts".into(),
            Self::Map(_) | Self::Object(_) => "an object".into(),
            Self::Either(one, other) => format!("{} or {}", one.describe(), other.describe()),
            Self::See(shape) => shape.describe(),
        }
    }
}

fn check_object(fields: &[Field], members: &Map<String, Value>, mistakes: &mut Mistakes) {
    for (name, member) in members {
        match fields.iter().find(|field| field.name == name) {
            Some(field) => mistakes.field(name, |mistakes| field.shape.check(member, mistakes)),
            None => {
                let names = fields.iter().map(|field| field.name);
                let near = did_you_mean(name, names.clone());
                let all = names.collect::<Vec<_>>().join(", ");
                let name = cut(name, SHOWN_CHARS);
                mistakes.add(format!("unknown field `{name}`;{near} there are {all}"));
            }
        }
    }
    for field in fields.iter().filter(|field| field.is_required && !members.contains_key(field.name)) {
        mistakes.add(format!("the field `{}` is missing", field.name));
    }
}

fn type_name(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a text".into(),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

/// ` did you mean …?` where one known name is near.
fn did_you_mean(name: &str, known: impl Iterator<Item = &'static str>) -> String {
    nearest(name, known).map_or_else(String::new, |known| format!(" did you mean `{known}`?"))
}

#[cfg(test)]
mod tests;
