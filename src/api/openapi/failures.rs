//! The error responses: one for each status, with the codes that it can have.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::example::{Example, ExampleBuilder};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{Object, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};

use super::headers::{ANYWHERE, COUNTED, EVERYWHERE, references};
use crate::api::error::ApiError;
use crate::api::failure::Failure;
use crate::api::routes::{Access, Route};
use crate::http::reason;

/// What any request may fail of: the server has not even asked the route.
const OF_ANY: [Failure; 8] = [
    Failure::InvalidRequest,
    Failure::BodyTimeout,
    Failure::PayloadTooLarge,
    Failure::TargetTooLong,
    Failure::HeadTooLarge,
    Failure::Internal,
    Failure::Unavailable,
    Failure::Overloaded,
];

/// What a request that needs a key may fail of.
const OF_KEYS: [Failure; 3] = [Failure::InvalidApiKey, Failure::PlanRequired, Failure::RateLimited];

/// The failures of a route, by status: what everyone has, its access's, its path's, and its own.
pub fn of_route(route: &Route, own: &[Failure]) -> BTreeMap<u16, Vec<Failure>> {
    let keys: &[Failure] = if matches!(route.access, Access::Key(_)) { &OF_KEYS } else { &[] };
    let run: &[Failure] = if route.path.contains("{run_id}") { &[Failure::NotFound] } else { &[] };
    by_status([&OF_ANY[..], keys, run, own].concat())
}

/// The failures that no route has: there is none at that address, or none for that method.
pub fn of_no_route() -> BTreeMap<u16, Vec<Failure>> {
    by_status(vec![Failure::NotFound, Failure::MethodNotAllowed])
}

fn by_status(mut failures: Vec<Failure>) -> BTreeMap<u16, Vec<Failure>> {
    failures.sort_by_key(|failure| Failure::ALL.iter().position(|known| known == failure));
    failures.dedup();
    let mut sorted: BTreeMap<u16, Vec<Failure>> = BTreeMap::new();
    for failure in failures {
        sorted.entry(failure.row().status).or_default().push(failure);
    }
    sorted
}

/// The name of a response among the components: of its status, and of a failure that few routes have.
pub fn component_name(failures: &[Failure]) -> String {
    let status = failures.first().map_or(0, |failure| failure.row().status);
    let name = match status {
        400 => "BadRequest",
        401 => "Unauthorized",
        402 => "PaymentRequired",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        408 => "RequestTimeout",
        409 => "Conflict",
        413 => "ContentTooLarge",
        414 => "UriTooLong",
        415 => "UnsupportedMediaType",
        422 => "UnprocessableContent",
        429 => "TooManyRequests",
        431 => "HeadTooLarge",
        500 => "InternalServerError",
        _ => "ServiceUnavailable",
    };
    match failures {
        failures if failures.contains(&Failure::PremiumUnavailable) => format!("{name}OrPremium"),
        failures if failures.contains(&Failure::Suppressed) => format!("{name}OrSuppressed"),
        _ => name.to_owned(),
    }
}

/// A reference to the response of these failures.
pub fn reference(failures: &[Failure]) -> RefOr<Response> {
    Ref::from_response_name(component_name(failures)).into()
}

/// The response of these failures, which have one status.
pub fn response(failures: &[Failure]) -> Response {
    let words: Vec<String> = failures
        .iter()
        .map(|failure| format!("`{}`: {}", failure.row().code.as_str(), failure.row().when))
        .collect();
    let own = failures.first().map_or(&[][..], |failure| failure.row().headers);
    let counted = COUNTED.into_iter().filter(|_| failures.iter().any(|failure| failure.may_have_counted()));
    let headers =
        references(EVERYWHERE.into_iter().chain(own.iter().copied()), ANYWHERE.into_iter().chain(counted));
    let mut response = ResponseBuilder::new().description(words.join("\n\n"));
    for (media_type, schema, as_problem) in [
        ("application/json", error_schema(failures), false),
        ("application/problem+json", problem_schema(failures), true),
    ] {
        let examples = failures.iter().map(|failure| example(*failure, as_problem));
        let content = ContentBuilder::new().schema(Some(schema)).examples_from_iter(examples).build();
        response = response.content(media_type, content);
    }
    let mut response = response.build();
    response.headers.extend(headers);
    response
}

impl Failure {
    /// Whether the request may have counted before it failed.
    fn may_have_counted(self) -> bool {
        !matches!(
            self,
            Self::InvalidApiKey
                | Self::PlanRequired
                | Self::MethodNotAllowed
                | Self::BodyTimeout
                | Self::PayloadTooLarge
                | Self::TargetTooLong
                | Self::HeadTooLarge
        )
    }
}

fn codes(failures: &[Failure]) -> Object {
    let mut names: Vec<&str> = failures.iter().map(|failure| failure.row().code.as_str()).collect();
    names.dedup();
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).build()
}

/// Members of `detail` that every one of the failures has.
fn facts(failures: &[Failure]) -> Vec<&'static str> {
    let Some((first, rest)) = failures.split_first() else { return Vec::new() };
    let has = |failure: &Failure, fact: &&'static str| failure.row().facts.contains(fact);
    let all = first.row().facts.iter().copied();
    all.filter(|fact| rest.iter().all(|failure| has(failure, fact))).collect()
}

/// The shared type, narrowed to these codes and to what they always know.
fn error_schema(failures: &[Failure]) -> RefOr<Schema> {
    let mut detail =
        ObjectBuilder::new().schema_type(SchemaType::AnyValue).property("error", codes(failures));
    for fact in facts(failures) {
        detail = detail.required(fact);
    }
    let narrowed = ObjectBuilder::new().property("error", codes(failures)).property("detail", detail);
    beside_reference("ApiError", narrowed)
}

fn problem_schema(failures: &[Failure]) -> RefOr<Schema> {
    let row = failures.first().map(|failure| failure.row());
    let status = ObjectBuilder::new().schema_type(Type::Integer).enum_values(row.map(|row| [row.status]));
    let title =
        ObjectBuilder::new().schema_type(Type::String).enum_values(row.map(|row| [reason(row.status)]));
    let mut narrowed = ObjectBuilder::new()
        .property("error", codes(failures))
        .property("title", title)
        .property("status", status);
    for fact in facts(failures) {
        narrowed = narrowed.required(fact);
    }
    beside_reference("Problem", narrowed)
}

/// `$ref` with further keywords beside it, as JSON Schema 2020-12 allows.
fn beside_reference(name: &str, narrowed: ObjectBuilder) -> RefOr<Schema> {
    let reference: Extensions = [("$ref", format!("#/components/schemas/{name}"))].into_iter().collect();
    narrowed.schema_type(SchemaType::AnyValue).extensions(Some(reference)).into()
}

fn example(failure: Failure, as_problem: bool) -> (String, Example) {
    let body = ApiError::example(failure).body("b9f6a1d2c3e44f5a8b7c6d5e4f3a2b1c", as_problem);
    let value = serde_json::from_slice(&body).unwrap_or(Value::Object(Map::new()));
    let example = ExampleBuilder::new().value(Some(value)).build();
    (failure.row().code.as_str().to_owned(), example)
}
