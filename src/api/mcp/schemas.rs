//! The schemas of the arguments and the answers of tools, made from their types.

use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::api::openapi::schemas::{Schemas, named, tidied, without_null};

/// Returns the schema of a type. What it refers to is put into its place, since some clients follow no references.
pub(super) fn of<T: ToSchema>() -> Value {
    let mut all = Schemas::new();
    named::<T>(&mut all);
    let all = tidied(all);
    let mut schema = all.get(T::name().as_ref()).cloned().unwrap_or_default();
    inline(&mut schema, &all);
    schema
}

/// Returns the schema of arguments: an object with no other members, of which those that are optional can be left out.
/// Null, which stands for a missing member, is not described.
pub(super) fn arguments<T: ToSchema>() -> Value {
    let mut schema = of::<T>();
    without_null(&mut schema);
    schema["additionalProperties"] = false.into();
    schema
}

fn inline(value: &mut Value, all: &Map<String, Value>) {
    match value {
        Value::Object(members) => {
            // OpenAPI's own keyword, which JSON Schema does not have, and what models have to read without need.
            members.shift_remove("discriminator");
            members.shift_remove("examples");
            let reference = members.shift_remove("$ref");
            let name = reference.as_ref().and_then(|reference| reference.as_str()?.rsplit('/').next());
            if let Some(Value::Object(named)) = name.and_then(|name| all.get(name)) {
                let own = std::mem::replace(members, named.clone());
                members.extend(own);
            }
            members.values_mut().for_each(|member| inline(member, all));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| inline(item, all)),
        _ => {}
    }
}
