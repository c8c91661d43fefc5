//! What the derived schemas need yet: examples at their place, descriptions without the source's line ends, and
//! what a type does not say of its fields.

use serde_json::{Value, json};
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, ArrayItems, Object, ObjectBuilder, OneOf, Schema, SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};

use crate::runs::entity::merge::{MAX_SOURCES, SOURCES};

/// Makes a named schema fit for the document.
pub(super) fn tidy(name: &str, schema: &mut RefOr<Schema>) {
    tidy_schema(schema);
    for (field, values) in narrower_fields(name) {
        narrow(schema, field, &values);
    }
    if name == "Result" {
        describe_sources(schema);
    }
    if name == "SearchAnswer"
        && let RefOr::T(Schema::Object(answer)) = schema
    {
        let all = json!({
            "total_results": ["results", "coverage"], "results": ["total_results", "coverage"],
            "coverage": ["total_results", "results"], "error": ["total_results", "results", "coverage"]
        });
        answer.extensions.get_or_insert_default().insert("dependentRequired".to_owned(), all);
    }
}

/// Fields that have less values in a place than their type has.
fn narrower_fields(name: &str) -> Vec<(&'static str, Vec<Value>)> {
    match name {
        "RunEventData" => vec![("status", vec![json!("running")])],
        "DoneEventData" => vec![("status", vec![json!("completed"), json!("failed")])],
        "ReconnectEventData" => {
            vec![("status", vec![json!("running")]), ("reason", vec![json!("stream_timeout")])]
        }
        "RunSummary" | "Health" => vec![("sandbox", vec![json!(true)])],
        _ => vec![],
    }
}

fn narrow(schema: &mut RefOr<Schema>, field: &str, values: &[Value]) {
    let RefOr::T(schema) = schema else { return };
    let parts = match schema {
        Schema::AllOf(all) => all.items.iter_mut().collect(),
        Schema::Object(object) => return narrow_field(object, field, values),
        _ => Vec::new(),
    };
    for part in parts {
        if let RefOr::T(Schema::Object(object)) = part {
            narrow_field(object, field, values);
        }
    }
}

fn narrow_field(object: &mut Object, field: &str, values: &[Value]) {
    let Some(property) = object.properties.get_mut(field) else { return };
    let description = match &*property {
        RefOr::Ref(reference) => Some(reference.description.clone()),
        RefOr::T(Schema::Object(object)) => object.description.clone(),
        RefOr::T(_) => None,
    };
    let kind = if values.iter().all(Value::is_boolean) { Type::Boolean } else { Type::String };
    let narrowed = ObjectBuilder::new()
        .schema_type(SchemaType::new(kind))
        .description(description)
        .examples(values.iter().take(1).cloned())
        .enum_values(Some(values.iter().cloned()));
    *property = narrowed.into();
}

/// The one member that the metadata of every module has.
fn describe_sources(schema: &mut RefOr<Schema>) {
    let RefOr::T(Schema::Object(result)) = schema else { return };
    if let Some(RefOr::T(Schema::Object(metadata))) = result.properties.get_mut("metadata") {
        let sources = ArrayBuilder::new()
            .description(Some("The modules that found it, in the order in which they did, each once."))
            .max_items(Some(MAX_SOURCES))
            .items(RefOr::<Schema>::from(Ref::from_schema_name("ResultSource")));
        metadata.properties.insert(SOURCES.to_owned(), sources.into());
    }
}

fn tidy_schema(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::Ref(reference) => reference.description = one_line(&reference.description),
        RefOr::T(Schema::Object(object)) => tidy_object(object),
        RefOr::T(Schema::Array(array)) => {
            tidy_text(&mut array.description);
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                tidy_schema(items);
                // The derive gives an array's examples to its elements.
                if let RefOr::T(Schema::Object(item)) = &mut **items {
                    let moved = item.examples.extract_if(.., |example| example.is_array());
                    array.examples.extend(moved);
                }
            }
        }
        RefOr::T(Schema::OneOf(one)) => {
            tidy_text(&mut one.description);
            one.items.iter_mut().for_each(tidy_schema);
            lift_description(one);
        }
        RefOr::T(Schema::AllOf(all)) => {
            tidy_text(&mut all.description);
            all.items.iter_mut().for_each(tidy_schema);
        }
        RefOr::T(Schema::AnyOf(any)) => {
            tidy_text(&mut any.description);
            any.items.iter_mut().for_each(tidy_schema);
        }
        RefOr::T(_) => {}
    }
}

/// The derive gives the description of a field that may be null to what it is where it is not.
fn lift_description(one: &mut OneOf) {
    if one.description.is_some() || one.items.len() != 2 {
        return;
    }
    for item in &mut one.items {
        if let RefOr::Ref(reference) = item {
            one.description = Some(std::mem::take(&mut reference.description));
        }
    }
}

fn tidy_object(object: &mut Object) {
    tidy_text(&mut object.description);
    object.properties.values_mut().for_each(tidy_schema);
    if let Some(AdditionalProperties::RefOr(others)) = object.additional_properties.as_deref_mut() {
        tidy_schema(others);
        // The derive gives a map's examples to its values, too.
        if let RefOr::T(Schema::Object(value)) = others {
            value.examples.clear();
        }
    }
    // And to its names, of which it says no more than that they are strings.
    if let Some(Schema::Object(names)) = object.property_names.take().map(|names| *names) {
        object.examples.extend(names.examples);
    }
}

fn tidy_text(text: &mut Option<String>) {
    if let Some(text) = text {
        *text = one_line(text);
    }
}

/// Paragraphs stay; a line's end inside of one is the source's.
fn one_line(text: &str) -> String {
    let paragraphs: Vec<String> = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect();
    paragraphs.join("\n\n")
}
