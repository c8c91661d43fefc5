//! The error responses: one for each status, with its possible codes.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::example::{Example, ExampleBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::{Ref, RefOr};

use super::headers::{ALWAYS, COUNTED, POSSIBLE, references};
use crate::api::access::Access;
use crate::api::error::ApiError;
use crate::api::error_body::ErrorFormat;
use crate::api::failure::Failure;

/// The failures of every request, which arise before the route is called.
const OF_EVERY_REQUEST: [Failure; 9] = [
    Failure::InvalidRequest,
    Failure::BodyTimeout,
    Failure::LengthRequired,
    Failure::PayloadTooLarge,
    Failure::TargetTooLong,
    Failure::HeadTooLarge,
    Failure::Internal,
    Failure::Unavailable,
    Failure::Overloaded,
];

/// The failures of every request that needs a key.
const OF_KEYED_REQUESTS: [Failure; 3] = [Failure::InvalidApiKey, Failure::PlanRequired, Failure::RateLimited];

/// Returns the failures of an operation by status: those of every operation, of its access rule, of its path,
/// and its own.
pub(super) fn of_operation(access: Access, path: &str, own: &[Failure]) -> BTreeMap<u16, Vec<Failure>> {
    let keys: &[Failure] = if matches!(access, Access::Key(_)) { &OF_KEYED_REQUESTS } else { &[] };
    let run: &[Failure] = if path.contains('{') { &[Failure::NotFound] } else { &[] };
    by_status([&OF_EVERY_REQUEST[..], keys, run, own].concat())
}

/// Returns the failure that an operation's attribute names by its status, and by its code as the description
/// of the response.
///
/// # Panics
/// Panics if no failure has that status and code. The attributes are fixed at compile time, and every test of
/// the document reads all of them.
pub(super) fn named(status: &str, code: &str) -> Failure {
    let is_named =
        |failure: &Failure| failure.row().status.to_string() == status && failure.row().code.as_str() == code;
    let found = Failure::ALL.into_iter().find(is_named);
    found.unwrap_or_else(|| panic!("no failure has the status {status} and the code {code}"))
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

/// Returns the name of the response component for these failures: from the status, and from a failure that
/// few routes have.
pub(super) fn component_name(failures: &[Failure]) -> String {
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
        411 => "LengthRequired",
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
        failures if failures.contains(&Failure::WebhooksUnavailable) => format!("{name}OrWebhooks"),
        failures if failures.contains(&Failure::Conflict) => format!("{name}OfState"),
        failures if failures.contains(&Failure::Suppressed) => format!("{name}OrSuppressed"),
        [Failure::RunNotEnded] => "RunNotEnded".to_owned(),
        [Failure::RunsDiffer] => "RunsDiffer".to_owned(),
        _ => name.to_owned(),
    }
}

/// Returns a reference to the response component of these failures.
pub(super) fn reference(failures: &[Failure]) -> RefOr<Response> {
    Ref::from_response_name(component_name(failures)).into()
}

/// Returns the response for these failures, which share one status.
pub(super) fn response(failures: &[Failure], base_url: &str) -> Response {
    let words: Vec<String> = failures.iter().copied().map(description).collect();
    let own = failures.first().map_or(&[][..], |failure| failure.row().headers);
    let counted = COUNTED.into_iter().filter(|_| failures.iter().any(|failure| failure.may_have_counted()));
    let headers =
        references(ALWAYS.into_iter().chain(own.iter().copied()), POSSIBLE.into_iter().chain(counted));
    let mut response = ResponseBuilder::new().description(words.join("\n\n"));
    // Nothing stands beside the references, though JSON Schema allows it: openapi-generator would make an empty class of it.
    for (format, schema) in
        [(ErrorFormat::Json, "ApiError"), (ErrorFormat::Problem { base_url: base_url.into() }, "Problem")]
    {
        let examples = failures.iter().map(|failure| example(*failure, &format));
        let content = ContentBuilder::new()
            .schema(Some(Ref::from_schema_name(schema)))
            .examples_from_iter(examples)
            .build();
        response = response.content(format.media_type(), content);
    }
    let mut response = response.build();
    response.headers.extend(headers);
    response
}

impl Failure {
    /// Returns whether the request may have counted before it failed.
    fn may_have_counted(self) -> bool {
        !matches!(
            self,
            Self::InvalidApiKey
                | Self::PlanRequired
                | Self::MethodNotAllowed
                | Self::BodyTimeout
                | Self::LengthRequired
                | Self::PayloadTooLarge
                | Self::TargetTooLong
                | Self::HeadTooLarge
        )
    }
}

/// Returns the code, when it comes, and the members that it always has.
fn description(failure: Failure) -> String {
    let row = failure.row();
    let mut text = format!("`{}`: {}", row.code.as_str(), row.when);
    if !row.facts.is_empty() {
        let names: Vec<String> = row.facts.iter().map(|fact| format!("`{fact}`")).collect();
        text.push_str(&format!(" Always with {}.", names.join(", ")));
    }
    text
}

fn example(failure: Failure, format: &ErrorFormat) -> (String, Example) {
    let body = ApiError::example(failure).body("b9f6a1d2c3e44f5a8b7c6d5e4f3a2b1c", format);
    let value = serde_json::from_slice(&body).unwrap_or(Value::Object(Map::new()));
    let example = ExampleBuilder::new().value(Some(value)).build();
    (failure.row().code.as_str().to_owned(), example)
}
