//! Every example of the document matches the schema beside it.

use serde_json::Value;

use super::schemas::Schemas;
use super::{DOCUMENT, operations};

/// Returns each example with the address of its schema.
fn examples() -> Vec<(String, &'static Value)> {
    let mut found = Vec::new();
    collect(&DOCUMENT, "", &mut found);
    found
}

fn collect(value: &'static Value, pointer: &str, found: &mut Vec<(String, &'static Value)>) {
    // Examples contain no further examples.
    let is_example = |name: &str| matches!(name, "example" | "examples" | "enum" | "default" | "const");
    match value {
        Value::Object(members) => {
            found.extend(beside(value).into_iter().map(|example| (schema_of(value, pointer), example)));
            for (name, member) in members {
                // A property may have any name.
                if !is_example(name) || pointer.ends_with("/properties") {
                    collect(
                        member,
                        &format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")),
                        found,
                    );
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// Returns the examples of an object: the list of a schema, or the named ones of a media type, a parameter or
/// a header.
fn beside(value: &'static Value) -> Vec<&'static Value> {
    let mut found: Vec<&Value> = match &value["examples"] {
        Value::Array(examples) => examples.iter().collect(),
        Value::Object(named) if !value["schema"].is_null() => {
            named.values().map(|named| &named["value"]).collect()
        }
        _ => Vec::new(),
    };
    // A property called `example` is a schema.
    found.extend(value.get("example").filter(|_| !value["schema"].is_null() || value["type"].is_string()));
    found
}

fn schema_of(value: &Value, pointer: &str) -> String {
    if value["schema"].is_null() { pointer.to_owned() } else { format!("{pointer}/schema") }
}

#[test]
fn every_request_body_has_an_example() {
    let contents = operations().filter_map(|(_, _, it)| it["requestBody"]["content"].as_object());
    let contents: Vec<_> = contents.flatten().collect();
    assert!(contents.len() >= 10, "{contents:#?}");
    assert!(contents.iter().all(|(_, content)| !beside(content).is_empty()), "{contents:#?}");
}

#[test]
fn every_example_is_what_its_schema_says() {
    let schemas = Schemas::new();
    let examples = examples();
    for (pointer, example) in &examples {
        schemas.check(pointer, example);
    }
    // Those of the request body, and most members.
    let of = |part: &str| examples.iter().filter(|(pointer, _)| pointer.contains(part)).count();
    let seen = [of("/requestBody/"), of("/components/schemas/"), of("/parameters/")];
    assert!(seen.iter().zip([1, 10, 3]).all(|(seen, least)| *seen >= least), "{seen:?}");
}
