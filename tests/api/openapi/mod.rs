//! `/openapi.json` compared with the served API, in both directions.

mod document;
mod examples;
mod request;
mod routes;
mod schemas;
pub(crate) mod truth;

mod campaigns {
    mod schemathesis;
}

use std::sync::LazyLock;

use serde_json::Value;

/// The address in the document, where it does not matter.
const BASE_URL: &str = "http://127.0.0.1:8080";

/// The document.
static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::to_value(sightline::api::openapi::document(BASE_URL)).unwrap());

/// Returns the target of a reference within the document.
fn resolve(value: &Value) -> &Value {
    match value["$ref"].as_str() {
        Some(reference) => DOCUMENT.pointer(reference.strip_prefix('#').unwrap()).expect(reference),
        None => value,
    }
}

/// Returns each operation: path, method in lower case, description.
pub(super) fn operations() -> impl Iterator<Item = (&'static str, &'static str, &'static Value)> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        let methods = methods.filter(|(name, _)| !matches!(name.as_str(), "description" | "summary"));
        methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

fn operation(path: &str, method: &str) -> &'static Value {
    &DOCUMENT["paths"][path][method]
}
