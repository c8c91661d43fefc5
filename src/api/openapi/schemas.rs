//! The schemas of bodies and answers, and corrections to what utoipa derives: descriptions without line breaks,
//! and constraints that a type does not express.

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

/// Schemas with their names.
pub(in crate::api) type Schemas = Vec<(String, RefOr<Schema>)>;

/// Adds the schema of a type, and all schemas that it refers to, to `schemas`.
pub(in crate::api) fn named<T: ToSchema>(schemas: &mut Schemas) {
    T::schemas(schemas);
    schemas.push((T::name().into_owned(), <T as PartialSchema>::schema()));
}

/// Applies all corrections to schemas.
pub(in crate::api) fn tidied(schemas: Schemas) -> Map<String, Value> {
    let tidied = schemas.into_iter().map(|(name, schema)| {
        let mut schema = to_json(schema);
        tidy(&mut schema);
        (name, schema)
    });
    tidied.collect()
}

/// Returns a part of the document as JSON.
pub(in crate::api) fn to_json(part: impl Serialize) -> Value {
    // Cannot fail: the types have only string keys and finite numbers.
    serde_json::to_value(part).unwrap_or_default()
}

/// Corrects a schema, or what holds some.
pub(super) fn tidy(value: &mut Value) {
    if let Value::Array(items) = value {
        items.iter_mut().for_each(tidy);
    }
    let Value::Object(members) = value else { return };
    members.values_mut().for_each(tidy);
    if let Some(Value::String(text)) = members.get_mut("description") {
        *text = one_line(text);
    }
    members.shift_remove("propertyNames");
    // utoipa puts the description of a field that may be null on the reference beside null.
    if !members.contains_key("description")
        && let Some(Value::Array(cases)) = members.get_mut("oneOf")
        && let [Value::Object(one), Value::Object(other)] = &mut cases[..]
        && let Some(text) = one.shift_remove("description").or_else(|| other.shift_remove("description"))
    {
        members.insert("description".to_owned(), text);
    }
    follow_texts(members);
}

/// Lets a schema say what the texts about its members say: one with `; null` is always sent, and one that starts with `Present
/// only` is never null.
fn follow_texts(schema: &mut Map<String, Value>) {
    let mut sent = Vec::new();
    for (name, member) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let text = member["description"].as_str().unwrap_or_default();
        if text.contains("; null") {
            sent.push(Value::from(name.as_str()));
        } else if text.starts_with("Present only") {
            without_null(member);
            // What is missing has no value, also not the one that stored data are read with.
            member.as_object_mut().map(|member| member.shift_remove("default"));
        }
    }
    if sent.is_empty() {
        return;
    }
    if let Value::Array(required) = schema.entry("required").or_insert_with(|| json!([])) {
        sent.retain(|name| !required.contains(name));
        required.extend(sent);
    }
}

/// Removes null from the values that a schema and its members take.
pub(in crate::api) fn without_null(value: &mut Value) {
    let Value::Object(members) = value else { return };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = &mut types[..] {
            members["type"] = one.take();
        }
    }
    if let Some(Value::Array(mut cases)) = members.shift_remove("oneOf") {
        cases.retain(|case| case["type"] != "null");
        match &mut cases[..] {
            [Value::Object(one)] => {
                let own = std::mem::replace(members, std::mem::take(one));
                members.extend(own);
            }
            _ => {
                members.insert("oneOf".to_owned(), cases.into());
            }
        }
    }
    members.values_mut().for_each(without_null);
}

/// Joins the lines of each paragraph.
pub(super) fn one_line(text: &str) -> String {
    let paragraphs: Vec<String> = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect();
    paragraphs.join("\n\n")
}
