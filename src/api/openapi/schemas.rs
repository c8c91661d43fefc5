//! Named schemas, and corrections to the derived ones: examples in their place, descriptions without line
//! breaks, and constraints that a type does not express.

use utoipa::openapi::path::{Parameter, ParameterBuilder};
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, ArrayItems, Object, OneOf, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::model::entity::merge::{MAX_SOURCES, SOURCES};

/// Schemas with their names.
pub(in crate::api) type Schemas = Vec<(String, RefOr<Schema>)>;

/// Adds the schema of a type, and all schemas that it refers to, to `schemas`. Returns a reference to it.
pub(in crate::api) fn named<T: ToSchema>(schemas: &mut Schemas) -> RefOr<Schema> {
    let name = T::name().into_owned();
    T::schemas(schemas);
    schemas.push((name.clone(), <T as PartialSchema>::schema()));
    Ref::from_schema_name(name).into()
}

/// Applies all corrections to a named schema.
pub(in crate::api) fn tidy(name: &str, schema: &mut RefOr<Schema>) {
    tidy_schema(schema);
    if name == "Result" {
        describe_sources(schema);
    }
}

/// Moves a parameter's example into its schema, where all other examples are.
pub(super) fn tidy_parameter(parameter: &mut RefOr<Parameter>) {
    let RefOr::T(parameter) = parameter else { return };
    tidy_text(&mut parameter.description);
    // The example can only be read from the parameter's JSON form.
    let example = serde_json::to_value(&*parameter).ok().and_then(|json| json.get("example").cloned());
    if let (Some(example), Some(RefOr::T(Schema::Object(object)))) = (example, &mut parameter.schema) {
        object.examples.push(example);
        *parameter = ParameterBuilder::from(parameter.clone()).example(None).build();
    }
}

/// Describes `sources`, the one metadata member that the results of every module have.
fn describe_sources(schema: &mut RefOr<Schema>) {
    let RefOr::T(Schema::Object(result)) = schema else { return };
    if let Some(RefOr::T(Schema::Object(metadata))) = result.properties.get_mut("metadata") {
        let sources = ArrayBuilder::new()
            .description(Some("The modules that found it, in order, each once."))
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
                // utoipa puts the examples of an array on its items.
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

/// Moves the description of a nullable field from its inner schema to the field, since utoipa puts it inside.
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
        // utoipa puts the examples of a map on its values, too.
        if let RefOr::T(Schema::Object(value)) = others {
            value.examples.clear();
        }
    }
    // utoipa also describes the names of a map, but only as strings.
    if let Some(Schema::Object(names)) = object.property_names.take().map(|names| *names) {
        object.examples.extend(names.examples);
    }
}

fn tidy_text(text: &mut Option<String>) {
    if let Some(text) = text {
        *text = one_line(text);
    }
}

/// Joins the lines of each paragraph.
pub(super) fn one_line(text: &str) -> String {
    let paragraphs: Vec<String> = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect();
    paragraphs.join("\n\n")
}
