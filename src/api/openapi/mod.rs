//! `/openapi.json`: the description of the API for programs, in OpenAPI 3.1.
//!
//! An operation is described beside its handler by `#[utoipa::path]`: the doc comment gives summary and text, the name of the
//! function gives the id, and the attribute gives path, query parameters, answers and examples. Schemas are derived from the
//! types of bodies and answers. `template.json` holds what is written once: ids in paths, headers, tags, keys. This module joins them, and
//! adds what operations share. [`schemas`] tidies what utoipa derives.
//!
//! # Documenting an endpoint
//! 1. Put `#[utoipa::path]` on its handler; [`reading`](super::reading) has examples. The row in [`routes`]
//!    does not compile without it.
//! 2. Its answer is a type that derives `Serialize` and `ToSchema`. The docs of fields are descriptions for the API's
//!    users: meaning, unit, bounds, what null means; `#[schema(examples(…))]` shows the form of a text. The text
//!    of an `Option` that is always sent says what null means, after a semicolon (`; null if …`). One that is omitted has
//!    `skip_serializing_if`, and its text starts with `Present only`. The schema follows from these words.
//! 3. Name the headers that it reads and sends, with any type. `template.json` describes them.
//! 4. A response is described by the text of its schema, unless the operation describes it. The statuses of errors are responses without a description. Added are 304 where `If-None-Match` is read, 415 for
//!    a body, 422 for an `Idempotency-Key`, 404 for ids in the path, those of its access (401, 403, 429) and those of the
//!    server (400, 408, 413, …). [`FAILURES`] describes all.

pub mod schemas;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::routes::{self, Access, Route};
use crate::model::quota::Policy;
use crate::model::refusal::{Code, FAILURES};
use crate::report::Format;
use crate::runs::batches::draft::InvalidRow;
use schemas::{Schemas, named, one_line, tidied, tidy, to_json, without_null};

/// The statuses of errors that every operation may answer, and those of every operation that needs a key.
const ALWAYS_POSSIBLE: [u16; 8] = [400, 408, 411, 413, 414, 431, 500, 503];
const OF_KEYS: [u16; 3] = [401, 403, 429];

/// Returns the document of a server that clients reach at `base_url` (without a slash at its end).
pub fn document(base_url: &str) -> Value {
    // Cannot fail: tests read the file.
    let mut document: Value = serde_json::from_str(include_str!("template.json")).unwrap_or_default();
    let info = &mut document["info"];
    info["version"] = env!("CARGO_PKG_VERSION").into();
    info["description"] = include_str!("about.md").into();
    info["license"]["identifier"] = env!("CARGO_PKG_LICENSE").into();
    info["contact"]["url"] = base_url.into();
    document["servers"] = json!([{"url": base_url, "description": "This service"}]);
    document["paths"] = json!({});
    let schemas = all_schemas(document["components"]["schemas"].take());
    for route in routes::operations() {
        let path = &mut document["paths"][route.path];
        path["description"] = format!("Supports {}.", routes::allow(route.path)).into();
        path[route.method.to_lowercase()] = operation(route, &schemas);
    }
    document["components"]["schemas"] = schemas.into();
    // No operation answers 405.
    let statuses: BTreeSet<u16> =
        FAILURES.iter().map(|failure| failure.0).filter(|status| *status != 405).collect();
    let errors = statuses.into_iter().map(|status| (format!("Error{status}"), error(status)));
    document["components"]["responses"] = errors.collect::<Map<_, _>>().into();
    document
}

/// Returns the schemas of all operations, and those that the template holds.
fn all_schemas(written: Value) -> Map<String, Value> {
    let mut schemas = Schemas::new();
    for (_, add) in routes::operations().filter_map(|route| route.endpoint.described) {
        add(&mut schemas);
    }
    named::<Code>(&mut schemas);
    named::<InvalidRow>(&mut schemas);
    named::<Format>(&mut schemas);
    let mut all = tidied(schemas);
    // What does not apply is omitted.
    all.get_mut("SearchAnswer").into_iter().for_each(without_null);
    if let Value::Object(written) = written {
        all.extend(written);
    }
    all.sort_keys();
    all
}

/// Returns the tag of an operation.
fn tag(path: &str) -> &'static str {
    match path.trim_start_matches("/v1/").split('/').next() {
        Some("searches" | "variants") => "Searches",
        Some("batches") => "Batches",
        Some("watches") => "Watches",
        Some("webhooks") => "Webhooks",
        Some("me" | "credits") => "Account",
        _ => "Service",
    }
}

/// Returns the operation of the handler's attribute, with the parts that all operations share.
fn operation(route: &Route, schemas: &Map<String, Value>) -> Value {
    let described = to_json(route.endpoint.described.map(|(operation, _)| operation()));
    let text = |name: &str| one_line(described[name].as_str().unwrap_or_default());
    let (is_keyed, mut description) = (route.endpoint.access != Access::Public, text("description"));
    // Operations that count as anything else name it in their own text.
    if route.endpoint.access == Access::Key(Policy::Read) {
        description = format!("{description} Counts as `read`.").trim_start().to_owned();
    }
    let mut operation = json!({
        "tags": [tag(route.path)],
        "summary": text("summary").trim_end_matches('.'),
        "description": description,
        "operationId": camel_case(&text("operationId")),
        "parameters": parameters(route, &described),
        "responses": responses(route, &described, schemas),
        "security": if is_keyed { json!([{"bearer": []}, {"header": []}]) } else { json!([]) },
    });
    if let Some(body) = described.get("requestBody") {
        operation["requestBody"] = body.clone();
    }
    operation
}

fn camel_case(snake_case: &str) -> String {
    let mut words = snake_case.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}

/// Returns the ids in the path, the parameters of the handler's attribute, and the header that every request may have.
fn parameters(route: &Route, described: &Value) -> Vec<Value> {
    let ids = route.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let ids = ids.map(|name| component("parameters", name));
    let own = described["parameters"].as_array().into_iter().flatten().map(|parameter| {
        if parameter["in"] == "header" {
            return component("parameters", parameter["name"].as_str().unwrap_or_default());
        }
        let mut parameter = parameter.clone();
        tidy(&mut parameter);
        let example = parameter.as_object_mut().and_then(|members| members.shift_remove("example"));
        // A parameter that is missing has no value: none is null.
        without_null(&mut parameter["schema"]);
        if let Some(example) = example {
            parameter["schema"]["examples"] = json!([example]);
        }
        parameter
    });
    ids.chain(own).chain([component("parameters", "X-Request-Id")]).collect()
}

/// Returns the responses of an operation: its own, and references to those of errors. One without a description has that of
/// its schema.
fn responses(route: &Route, described: &Value, schemas: &Map<String, Value>) -> Map<String, Value> {
    let is_keyed = route.endpoint.access != Access::Public;
    let reads = |header: &str| {
        described["parameters"].as_array().is_some_and(|all| all.iter().any(|one| one["name"] == header))
    };
    let more = [
        (404, route.path.contains('{')),
        (415, described.get("requestBody").is_some()),
        (422, reads("Idempotency-Key")),
    ];
    let more: Vec<u16> = more.into_iter().filter(|(_, applies)| *applies).map(|(status, _)| status).collect();
    let errors = ALWAYS_POSSIBLE.iter().chain(OF_KEYS.iter().filter(|_| is_keyed)).chain(&more);
    let mut all: BTreeSet<String> = errors.map(u16::to_string).collect();
    let own = described["responses"].as_object();
    all.extend(own.into_iter().flat_map(Map::keys).cloned());
    let mut responses = Map::new();
    for status in all {
        if status.as_str() >= "400" {
            let error = component("responses", &format!("Error{status}"));
            responses.insert(status, error);
            continue;
        }
        let mut response = described["responses"][&status].clone();
        tidy(&mut response);
        if response["description"].as_str().is_none_or(str::is_empty) {
            let reference = response["content"]["application/json"]["schema"]["$ref"].as_str();
            let schema = reference.and_then(|reference| schemas.get(reference.rsplit('/').next()?));
            response["description"] = schema.map(|schema| schema["description"].clone()).unwrap_or_default();
        }
        for (name, header) in response.get_mut("headers").and_then(Value::as_object_mut).into_iter().flatten()
        {
            *header = component("headers", name);
        }
        if reads("If-None-Match") {
            let unchanged =
                json!({"description": "The caller's copy is current.", "headers": response["headers"]});
            responses.insert("304".to_owned(), unchanged);
        }
        responses.insert(status, response);
    }
    responses
}

/// Returns the response with that status, which explains all of its codes.
fn error(status: u16) -> Value {
    let of_status = FAILURES.iter().filter(|failure| failure.0 == status);
    let texts: Vec<String> =
        of_status.map(|(_, code)| format!("`{}`: {}", code.as_str(), code.when().trim())).collect();
    json!({
        "description": texts.join("\n\n"),
        // Nothing else beside the reference: openapi-generator would make an empty class of it.
        "content": {"application/json": {"schema": component("schemas", "ApiError")}},
    })
}

fn component(kind: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{kind}/{name}")})
}
