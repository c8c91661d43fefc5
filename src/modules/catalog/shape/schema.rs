//! The table as a JSON Schema (draft 2020-12), for editors.

use serde_json::{Map, Value, json};

use super::Shape;
use super::table::{DEFINED, ENTRY};

/// What the schema says beyond the shapes: where, and the members to add there. The loader checks the same
/// (and more), in its own words.
const REFINED: &[(&str, &str)] = &[
    ("/items/properties/id", r#"{"pattern": "^[a-z0-9_.-]{1,64}$"}"#),
    ("/items/properties/platform", r#"{"pattern": "^\\S(.*\\S)?$", "maxLength": 80}"#),
    ("/items/properties/category", r#"{"pattern": "^[a-z0-9_ -]{1,64}$"}"#),
    ("/items/properties/tags/items", r#"{"pattern": "^[a-z0-9_ -]{1,64}$"}"#),
    ("/items/properties/rank", r#"{"minimum": 1}"#),
    ("/items/properties/home", r#"{"pattern": "^https?://"}"#),
    ("/items/properties/strip", r#"{"minLength": 1}"#),
    ("/items/properties/domain_in/items", r#"{"pattern": "^[a-z0-9.-]*\\.[a-z0-9.-]*$"}"#),
    ("/items/properties/needs/items", r#"{"pattern": "^config\\.[a-z0-9_]{1,40}$"}"#),
    ("/items/properties/every_ms", r#"{"minimum": 1, "maximum": 86400000}"#),
    ("/items/properties/per_day", r#"{"minimum": 1}"#),
    ("/items/properties/probes", r#"{"minItems": 1, "maxItems": 3}"#),
    ("/items/properties/barrier", r#"{"maxItems": 50}"#),
    ("/items/properties/hit", r#"{"minItems": 1, "maxItems": 50}"#),
    ("/items/properties/miss", r#"{"maxItems": 50}"#),
    (
        "/items/properties/result/properties/metadata",
        r#"{"propertyNames": {"pattern": "^[a-z0-9_]{1,40}$"}}"#,
    ),
    ("/items/properties/known", r#"{"maxItems": 50}"#),
    ("/items/properties/results", r#"{"maxItems": 50}"#),
    ("/$defs/probe/properties/url", r#"{"pattern": "^(https?://|\\{saved\\.)"}"#),
    ("/$defs/probe/properties/headers", r#"{"propertyNames": {"pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"}}"#),
    ("/$defs/probe/properties/save", r#"{"propertyNames": {"pattern": "^[a-z0-9_]{1,40}$"}}"#),
    ("/$defs/matcher", r#"{"minProperties": 1}"#),
    (
        "/$defs/matcher/properties/status/items",
        r#"{"anyOf": [{"type": "integer", "minimum": 100, "maximum": 599}, {"type": "string", "pattern": "^[1-5]xx$"}]}"#,
    ),
    ("/$defs/matcher/properties/final_url", r#"{"minLength": 1}"#),
    ("/$defs/matcher/properties/regex", r#"{"minLength": 1}"#),
    ("/$defs/matcher/properties/words/items", r#"{"minLength": 1}"#),
    ("/$defs/matcher/properties/any_word/items", r#"{"minLength": 1}"#),
    ("/$defs/matcher/properties/no_word/items", r#"{"minLength": 1}"#),
    ("/$defs/json_rule", r#"{"minProperties": 2}"#),
    ("/$defs/json_rule/properties/at", r#"{"pattern": "^(/.*)?$"}"#),
    ("/$defs/css_rule/properties/select", r#"{"minLength": 1}"#),
    ("/$defs/long_extractor/properties/from", r#"{"minItems": 1}"#),
    ("/$defs/long_extractor/properties/from/items", r#"{"pattern": "^[a-z_]+:"}"#),
    ("/$defs/long_extractor/properties/limit", r#"{"minimum": 1, "maximum": 1000}"#),
    ("/$defs/list_result/properties/limit", r#"{"minimum": 1, "maximum": 1000}"#),
    ("/$defs/list_result/properties/metadata", r#"{"propertyNames": {"pattern": "^[a-z0-9_]{1,40}$"}}"#),
    ("/$defs/probe/properties/save/additionalProperties/anyOf/0", r#"{"pattern": "^[a-z_]+:"}"#),
    (
        "/items/properties/result/properties/metadata/additionalProperties/anyOf/0",
        r#"{"pattern": "^[a-z_]+:"}"#,
    ),
    ("/$defs/list_result/properties/metadata/additionalProperties/anyOf/0", r#"{"pattern": "^[a-z_]+:"}"#),
];

/// The JSON Schema (draft 2020-12) of a catalogue file.
pub fn json_schema() -> Value {
    let defined: Map<String, Value> =
        DEFINED.iter().map(|(name, shape)| ((*name).to_owned(), shape.schema())).collect();
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sightline catalogue file",
        "type": "array",
        "items": ENTRY.schema(),
        "$defs": defined,
    });
    for (place, more) in REFINED {
        let more: Option<Map<String, Value>> = serde_json::from_str(more).ok();
        let place = schema.pointer_mut(place).and_then(Value::as_object_mut);
        // A test sees to it that both are there.
        if let (Some(place), Some(more)) = (place, more) {
            place.extend(more);
        }
    }
    schema
}

/// The schema of a shape that is part of another: what has a name is defined once.
fn part(shape: &'static Shape) -> Value {
    match DEFINED.iter().find(|(_, defined)| std::ptr::eq(*defined, shape)) {
        Some((name, _)) => json!({"$ref": format!("#/$defs/{name}")}),
        None => shape.schema(),
    }
}

impl Shape {
    fn schema(&self) -> Value {
        match self {
            Self::Any => json!({}),
            Self::Text => json!({"type": "string"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Whole(most) => json!({"type": "integer", "minimum": 0, "maximum": most}),
            Self::Signed => json!({"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX}),
            Self::Number => json!({"type": "number"}),
            Self::Word(words) => json!({"enum": words}),
            Self::List(shape) => json!({"type": "array", "items": part(shape)}),
            Self::Pair => {
                json!({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2})
            }
            Self::Map(shape) => json!({"type": "object", "additionalProperties": part(shape)}),
            Self::Object(fields) => {
                let properties: Map<String, Value> =
                    fields.iter().map(|field| (field.name.to_owned(), part(&field.shape))).collect();
                let required: Vec<&str> =
                    fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
                json!({
                    "type": "object", "properties": properties, "required": required,
                    "additionalProperties": false,
                })
            }
            Self::Either(one, other) => json!({"anyOf": [part(one), part(other)]}),
            Self::See(shape) => part(shape),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refinement_has_its_place() {
        let schema = json_schema();
        for (place, more) in REFINED {
            let more: Map<String, Value> = serde_json::from_str(more).unwrap();
            let there = schema.pointer(place).unwrap_or_else(|| panic!("{place} is no place any more"));
            for (name, value) in more {
                assert_eq!(there[&name], value, "{place}");
            }
        }
    }

    #[test]
    fn the_schema_names_every_field() {
        let schema = json_schema();
        let required = json!(["id", "platform", "type", "category", "probes", "hit"]);
        assert_eq!(schema["items"]["required"], required);
        assert_eq!(schema["items"]["additionalProperties"], json!(false));
        assert_eq!(schema["items"]["properties"]["miss"]["items"], json!({"$ref": "#/$defs/matcher"}));
        assert!(schema["$defs"]["matcher"]["properties"]["css"]["items"]["anyOf"].is_array());
    }
}
