//! `/openapi.json` compared with the served API, in both directions.

mod document;
mod examples;
mod request;
mod routes;
mod schemas;
mod truth;

mod campaigns {
    mod schemathesis;
}

use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::support::server::{Answer, Server};

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

/// Sends a request. The body of the answer is unpacked.
fn ask(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Answer {
    let mut request = server.request(method, path);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let mut answer = match body {
        Some(body) => request.body(body.as_bytes()).send(),
        None => request.send(),
    };
    if answer.header("content-encoding") == Some("gzip") {
        let packed = std::mem::take(&mut answer.body);
        GzDecoder::new(&*packed).read_to_end(&mut answer.body).unwrap();
    }
    answer
}
