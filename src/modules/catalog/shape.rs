//! The shape of an entry as a table: for messages that name the place, and for the JSON Schema.

use serde_json::{Map, Value, json};

use crate::modules::mistake::Mistakes;

/// What may stand at a place.
enum Shape {
    Text,
    Flag,
    /// A whole number from 0 to this one.
    Whole(u64),
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

const TEXTS: Shape = Shape::List(&Shape::Text);
const INDEX: Shape = Shape::Whole(1000);

static ENTRY: Shape = Shape::Object(&[
    must("id", Shape::Text),
    must("platform", Shape::Text),
    must("type", Shape::Word(&["domain", "email", "username"])),
    must("category", Shape::Text),
    may("tags", TEXTS),
    may("rank", Shape::Whole(u32::MAX as u64)),
    may("enabled", Shape::Flag),
    may("nsfw", Shape::Flag),
    may("discovery", Shape::Flag),
    may("contact", Shape::Word(&["third_party", "resolver", "target_web", "third_party_scan"])),
    may("home", Shape::Text),
    may("profile", Shape::Text),
    may("accepts", Shape::Text),
    may("scripts", Shape::Word(&["ascii", "any"])),
    may("strip", Shape::Text),
    may("domain_in", TEXTS),
    may("needs", TEXTS),
    may("every_ms", Shape::Whole(u64::MAX)),
    may("per_day", Shape::Whole(u32::MAX as u64)),
    must("probes", Shape::List(&PROBE)),
    may("barrier", Shape::List(&MATCHER)),
    must("hit", Shape::List(&MATCHER)),
    may("miss", Shape::List(&MATCHER)),
    may("weak_miss", Shape::Flag),
    may("control", Shape::Flag),
    may("result", MAIN),
    may("results", Shape::List(&LIST)),
    may("known", TEXTS),
    may("note", Shape::Text),
]);

static PROBE: Shape = Shape::Object(&[
    must("url", Shape::Text),
    may("method", Shape::Word(&["GET", "HEAD", "POST", "PUT"])),
    may("via", Shape::Word(&["http", "browser"])),
    may("headers", Shape::Map(&Shape::Text)),
    may("form", Shape::Map(&Shape::Text)),
    may("json", Shape::Any),
    may("text", Shape::Text),
    may("follow", Shape::Flag),
    may("save", Shape::Map(&EXTRACTOR)),
    may("fallback", Shape::Flag),
]);

static MATCHER: Shape = Shape::Object(&[
    may("probe", INDEX),
    may("status", Shape::List(&Shape::Either(&Shape::Whole(u16::MAX as u64), &Shape::Text))),
    may("final_url", Shape::Text),
    may("header", Shape::Map(&Shape::Text)),
    may("no_header", TEXTS),
    may("words", TEXTS),
    may("any_word", TEXTS),
    may("no_word", TEXTS),
    may("ignore_case", Shape::Flag),
    may("body_is", Shape::Text),
    may("regex", Shape::Text),
    may("json", Shape::List(&JSON_RULE)),
    may("css", Shape::List(&Shape::Either(&Shape::Text, &CSS_RULE))),
    may("sha256", TEXTS),
]);

static JSON_RULE: Shape = Shape::Object(&[
    must("at", Shape::Text),
    may("exists", Shape::Flag),
    may("null", Shape::Flag),
    may("equals", Shape::Any),
    may("any_of", Shape::List(&Shape::Any)),
    may("not_equals", Shape::Any),
    may("equals_query", Shape::Flag),
    may("equals_template", Shape::Text),
    may("type", Shape::Word(&["string", "number", "boolean", "array", "object", "null"])),
    may("min_length", Shape::Whole(u32::MAX as u64)),
    may("max_length", Shape::Whole(u32::MAX as u64)),
    may("above", Shape::Number),
    may("below", Shape::Number),
    may("contains", Shape::Text),
    may("not_contains", Shape::Text),
    may("matches", Shape::Text),
]);

static CSS_RULE: Shape = Shape::Object(&[
    must("select", Shape::Text),
    may("exists", Shape::Flag),
    may("attribute", Shape::Text),
    may("matches", Shape::Text),
    may("equals_query", Shape::Flag),
]);

const EXTRACTOR: Shape = Shape::Either(&Shape::Text, &LONG_EXTRACTOR);

static LONG_EXTRACTOR: Shape = Shape::Object(&[
    must("from", TEXTS),
    may("probe", INDEX),
    may("where", Shape::List(&JSON_RULE)),
    may("each", Shape::Text),
    may("regex", Shape::Text),
    may("transform", Shape::List(&TRANSFORM)),
    may("labels", Shape::List(&Shape::Pair)),
    may("format", Shape::Text),
    may("all", Shape::Flag),
    may("limit", Shape::Whole(u32::MAX as u64)),
]);

static TRANSFORM: Shape = Shape::Word(&[
    "trim",
    "lower",
    "html_text",
    "url_decode",
    "url_host",
    "last_path_segment",
    "lines",
    "split",
    "strip_wildcard",
    "strip_dot",
    "strip_at",
    "strip_mailto",
    "unquote_txt",
    "last_word",
    "unix_time",
    "unix_millis",
    "date_time",
    "number",
]);

const RESULT_TYPE: Shape = Shape::Word(&[
    "account",
    "profile",
    "email",
    "username",
    "person_name",
    "url",
    "domain",
    "subdomain",
    "dns_record",
    "ip_address",
    "certificate",
    "registration",
    "technology",
    "archive",
    "breach",
    "reputation",
    "public_key",
    "phone",
    "tenant",
]);

const MAIN: Shape = Shape::Object(&[
    must("type", RESULT_TYPE),
    may("value", EXTRACTOR),
    may("metadata", Shape::Map(&EXTRACTOR)),
]);

static LIST: Shape = Shape::Object(&[
    must("type", RESULT_TYPE),
    may("probe", INDEX),
    must("each", Shape::Text),
    may("where", Shape::List(&JSON_RULE)),
    may("value", EXTRACTOR),
    may("keep", Shape::Text),
    may("metadata", Shape::Map(&EXTRACTOR)),
    may("limit", Shape::Whole(u32::MAX as u64)),
]);

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
            (Self::Word(words), Value::String(word)) if words.contains(&word.as_str()) => {}
            (Self::Word(words), Value::String(word)) => {
                let near = nearest(word, words.iter().copied());
                mistakes.add(format!("`{word}` is not allowed here;{near} allowed are {}", words.join(", ")));
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
            Self::Whole(_) | Self::Number => value.is_number(),
            Self::List(_) | Self::Pair => value.is_array(),
            Self::Map(_) | Self::Object(_) => value.is_object(),
            Self::Either(one, other) => one.is_type_of(value) || other.is_type_of(value),
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
            Self::Number => "a number".into(),
            Self::List(_) => "an array".into(),
            Self::Pair => "an array of two texts".into(),
            Self::Map(_) | Self::Object(_) => "an object".into(),
            Self::Either(one, other) => format!("{} or {}", one.describe(), other.describe()),
        }
    }

    fn schema(&self) -> Value {
        match self {
            Self::Any => json!({}),
            Self::Text => json!({"type": "string"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Whole(most) => json!({"type": "integer", "minimum": 0, "maximum": most}),
            Self::Number => json!({"type": "number"}),
            Self::Word(words) => json!({"enum": words}),
            Self::List(shape) => json!({"type": "array", "items": shape.schema()}),
            Self::Pair => {
                json!({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2})
            }
            Self::Map(shape) => json!({"type": "object", "additionalProperties": shape.schema()}),
            Self::Object(fields) => {
                let properties: Map<String, Value> =
                    fields.iter().map(|field| (field.name.to_owned(), field.shape.schema())).collect();
                let required: Vec<&str> =
                    fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
                json!({
                    "type": "object", "properties": properties, "required": required,
                    "additionalProperties": false,
                })
            }
            Self::Either(one, other) => json!({"anyOf": [one.schema(), other.schema()]}),
        }
    }
}

fn check_object(fields: &[Field], members: &Map<String, Value>, mistakes: &mut Mistakes) {
    for (name, member) in members {
        match fields.iter().find(|field| field.name == name) {
            Some(field) => mistakes.field(name, |mistakes| field.shape.check(member, mistakes)),
            None => {
                let names = fields.iter().map(|field| field.name);
                let near = nearest(name, names.clone());
                let all = names.collect::<Vec<_>>().join(", ");
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
fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> String {
    let best = known.map(|known| (distance(name, known), known)).min();
    match best {
        Some((distance, known)) if distance <= known.len().div_ceil(3) => format!(" did you mean `{known}`?"),
        _ => String::new(),
    }
}

/// Levenshtein; `usize::MAX` for names that are too long to be a slip.
fn distance(one: &str, other: &str) -> usize {
    if one.len() > 40 {
        return usize::MAX;
    }
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, c) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, d) in other.iter().enumerate() {
            let above = row[column + 1];
            row[column + 1] = (diagonal + usize::from(c != *d)).min(above + 1).min(row[column] + 1);
            diagonal = above;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// The JSON Schema (draft 2020-12) of a catalogue file.
pub fn json_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sightline catalogue file",
        "type": "array",
        "items": ENTRY.schema(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::definition::{Entry, ResultType, Transform};
    use proptest::prelude::*;

    /// Values of a shape, with every optional field now there and now not.
    fn values(shape: &'static Shape) -> BoxedStrategy<Value> {
        match shape {
            Shape::Text => "[a-z]{1,4}".prop_map(Value::from).boxed(),
            Shape::Flag => any::<bool>().prop_map(Value::from).boxed(),
            Shape::Whole(most) => (0..=*most).prop_map(Value::from).boxed(),
            Shape::Number => (-5..5i32).prop_map(Value::from).boxed(),
            Shape::Any => prop_oneof![Just(json!({"a": [1]})), Just(json!("x")), Just(json!(2))].boxed(),
            Shape::Word(words) => prop::sample::select(*words).prop_map(Value::from).boxed(),
            Shape::List(shape) => prop::collection::vec(values(shape), 1..3).prop_map(Value::from).boxed(),
            Shape::Pair => Just(json!(["a", "b"])).boxed(),
            Shape::Map(shape) => values(shape).prop_map(|value| json!({"name": value})).boxed(),
            Shape::Either(one, other) => prop_oneof![values(one), values(other)].boxed(),
            Shape::Object(fields) => {
                let mut all = Just(Map::new()).boxed();
                for field in *fields {
                    let value = values(&field.shape);
                    let is_there = if field.is_required {
                        Just(true).boxed()
                    } else {
                        prop::bool::weighted(0.7).boxed()
                    };
                    all = (all, is_there, value)
                        .prop_map(|(mut object, is_there, value)| {
                            if is_there {
                                object.insert(field.name.to_owned(), value);
                            }
                            object
                        })
                        .boxed();
                }
                all.prop_map(Value::Object).boxed()
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_has_the_shape_is_an_entry_and_back(value in values(&ENTRY)) {
            let mut mistakes = Mistakes::default();
            check(&value, &mut mistakes);
            prop_assert_eq!(mistakes.count(), 0);
            let entry: Entry = serde_json::from_value(value).unwrap();
            let mut mistakes = Mistakes::default();
            check(&serde_json::to_value(&entry).unwrap(), &mut mistakes);
            prop_assert_eq!(mistakes.into_list(), vec![]);
        }
    }

    #[test]
    fn word_lists_are_complete() {
        // Serde names what it would take when it refuses a word.
        let expected = |error: serde_json::Error| error.to_string();
        let transforms = expected(serde_json::from_str::<Transform>("\"?\"").unwrap_err());
        let types = expected(serde_json::from_str::<ResultType>("\"?\"").unwrap_err());
        for (shape, error) in [(&TRANSFORM, transforms), (&RESULT_TYPE, types)] {
            let Shape::Word(words) = shape else { panic!() };
            assert_eq!(error.matches('`').count() / 2 - 1, words.len(), "{error}");
        }
    }

    #[test]
    fn the_schema_names_every_field() {
        let schema = json_schema();
        assert_eq!(
            schema["items"]["required"],
            json!(["id", "platform", "type", "category", "probes", "hit"])
        );
        assert_eq!(schema["items"]["additionalProperties"], json!(false));
        assert!(
            schema["items"]["properties"]["hit"]["items"]["properties"]["css"]["items"]["anyOf"].is_array()
        );
    }
}
