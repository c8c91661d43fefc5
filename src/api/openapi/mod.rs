//! `/openapi.json`: the description of the API for programs, in OpenAPI 3.1.
//!
//! An operation is described beside its handler by `#[utoipa::path]`: the doc comment gives summary and text, the attribute
//! gives path, parameters, answers and examples. Schemas are derived from the types of bodies and answers. This module adds
//! what operations share: errors, headers, ids in paths, keys. [`schemas`] tidies what utoipa derives.
//!
//! # Documenting an endpoint
//! 1. Put `#[utoipa::path]` on its handler; [`reading`](super::reading) has examples. The row in [`routes`]
//!    does not compile without it.
//! 2. Its answer is a type that derives `Serialize` and `ToSchema`. The docs of fields are descriptions for the API's
//!    users: meaning, unit, bounds, what null means; `#[schema(examples(…))]` gives an example. An `Option` that is
//!    always sent is `#[schema(required)]`; one that is left out has `skip_serializing_if` and
//!    `#[schema(nullable = false)]`.
//! 3. Name response headers, with any type. `HEADERS` describes them.
//! 4. The statuses of its own errors are responses. Those of its access (401, 403, 429), of ids in its path (404) and of the
//!    server (400, 408, 413, …) are added to every operation. [`FAILURES`] describes all.

pub mod schemas;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use utoipa::openapi::content::Content;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::info::{ContactBuilder, InfoBuilder, License};
use utoipa::openapi::path::{
    Operation, Parameter, ParameterBuilder, ParameterIn, PathItem, PathItemBuilder, PathsBuilder,
};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ComponentsBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::server::ServerBuilder;
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{OpenApi, OpenApiBuilder, Ref, RefOr, Required};

use super::access::{Access, Counts};
use super::batch_files::MatrixFormat;
use super::error::{ErrorBody, FAILURES};
use super::routes::{self, ROUTES, Route};
use crate::model::entity::merge::Source;
use crate::model::quota::Policy;
use crate::report::Format;
use crate::report::batch::BatchFormat;
use crate::report::graph::GraphFormat;
use schemas::{Schemas, named, one_line, tidy, tidy_parameter};

/// Names of the two security schemes for keys.
const KEY_SCHEMES: [&str; 2] = ["bearer", "header"];

/// The tags of operations in their order, with their descriptions.
const TAGS: [(&str, &str); 6] = [
    ("Searches", "Start a search, follow it, read its results."),
    ("Batches", "Many searches that are accepted together and made one after the other."),
    ("Watches", "Searches that are repeated, and what changes between their runs."),
    ("Webhooks", "Addresses that get a message when a search ends or a watch finds a change. Free."),
    ("Account", "The account of the key: its plan, limits and credits. Free."),
    ("Service", "State, abilities and limits of the service. Free."),
];

/// The ids in paths.
const IDS: [&str; 5] = ["run", "batch", "watch", "webhook", "delivery"];

/// The statuses that every operation may answer, and those of every operation that needs a key.
const ALWAYS_POSSIBLE: [u16; 8] = [400, 408, 411, 413, 414, 431, 500, 503];
const OF_KEYS: [u16; 3] = [401, 403, 429];

/// The headers that every answer may have, and those of every operation that needs a key. `Date`, `Connection`, framing and
/// `Content-Encoding` belong to HTTP and are not described.
const SHARED: [&str; 5] =
    ["X-Request-Id", "Cache-Control", "X-Content-Type-Options", "X-Sightline-Sandbox", "Vary"];
const COUNTED: [&str; 5] =
    ["RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
/// The headers of errors.
const OF_ERRORS: [&str; 3] = ["Retry-After", "Allow", "WWW-Authenticate"];

/// All headers of answers: name, description, example.
const HEADERS: [(&str, &str, &str); 23] = [
    (
        "X-Request-Id",
        "Id of the request: the caller's own or a new one. It also appears in the log.",
        "b9f6a1d2c3e44f5a8b7c6d5e4f3a2b1c",
    ),
    ("Cache-Control", "Whether and how long the answer may be cached.", "no-store"),
    ("X-Content-Type-Options", "Always `nosniff`.", "nosniff"),
    ("X-Sightline-Sandbox", "Present only if the web is simulated: no result is real.", "true"),
    ("Vary", "Request headers that the answer depends on.", "Accept-Encoding"),
    (
        "RateLimit-Policy",
        "The limits that the request counted under: name, requests (`q`), window in seconds (`w`).",
        "\"search\";q=30;w=60",
    ),
    (
        "RateLimit",
        "The state of the limits that the request counted under: requests left (`r`), seconds until another can be made (`t`).",
        "\"search\";r=29;t=2",
    ),
    ("X-RateLimit-Limit", "Requests a minute, of the limit with the fewest requests left.", "30"),
    ("X-RateLimit-Remaining", "Requests left of the limit with the fewest requests left.", "29"),
    (
        "X-RateLimit-Reset",
        "Seconds until another request can be made under the limit with the fewest requests left.",
        "2",
    ),
    ("Retry-After", "Whole seconds to wait before the next try.", "2"),
    (
        "Location",
        "Address of the run or the batch, relative to the server's origin.",
        "/v1/searches/018f4a7e-5c1d-7b3a-9e2f-0123456789ab",
    ),
    (
        "Link",
        "Addresses of other pages of the list, relative to the server's origin (RFC 8288): `first`, and `next` if there is one.",
        "</v1/searches?limit=20>; rel=\"first\", </v1/searches?limit=20&cursor=19c6e9a5a10.018f4a7e5c1d7b3a9e2f0123456789ab>; rel=\"next\"",
    ),
    (
        "X-Run-Id",
        "Identifies the run before the first event of a stream arrives.",
        "018f4a7e-5c1d-7b3a-9e2f-0123456789ab",
    ),
    ("Preference-Applied", "The wait of `Prefer` that was applied, in seconds.", "wait=10"),
    (
        "ETag",
        "Entity tag for `If-None-Match`; weak (`W/`) if the body is compressed.",
        "\"5d41402abc4b2a76b9719d911017c592\"",
    ),
    ("Last-Modified", "Time at which the run ended; absent until then.", "Wed, 06 May 2026 07:09:21 GMT"),
    ("X-Accel-Buffering", "Always `no`: tells a reverse proxy not to buffer the stream.", "no"),
    ("Allow", "Methods that the address supports.", "GET, HEAD, OPTIONS"),
    ("WWW-Authenticate", "Always `Bearer`.", "Bearer"),
    (
        "Content-Disposition",
        "Name of the file; it says so if the run is not completed.",
        "attachment; filename=\"sightline-username-octocat-0123456789ab.csv\"",
    ),
    ("X-Run-Status", "State of the run.", "completed"),
    (
        "Content-Security-Policy",
        "Present only with HTML and pictures: they may load nothing.",
        "default-src 'none'",
    ),
];

/// Returns the document of a server that clients reach at `base_url` (without a slash at its end).
pub fn document(base_url: &str) -> OpenApi {
    let contact = ContactBuilder::new().name(Some("The operator of this service")).url(Some(base_url));
    let info = InfoBuilder::new()
        .title("Sightline API")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(include_str!("about.md")))
        .contact(Some(contact.build()))
        .license(Some(license()))
        .build();
    let tags = TAGS.map(|(name, text)| TagBuilder::new().name(name).description(Some(text)).build());
    let mut paths = PathsBuilder::new();
    for path in ROUTES.iter().map(|route| &*route.path).collect::<BTreeSet<_>>() {
        paths = paths.path(path, path_item(path));
    }
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([ServerBuilder::new().url(base_url).description(Some("This service")).build()]))
        .tags(Some(tags))
        .paths(paths)
        .components(Some(components()))
        .build()
}

fn license() -> License {
    let mut license = License::new("MIT (the program), CC BY-SA 4.0 (the catalogue's data)");
    license.identifier = Some(env!("CARGO_PKG_LICENSE").to_owned());
    license
}

fn path_item(path: &str) -> PathItem {
    let methods = routes::allow(path);
    let item = PathItemBuilder::new().description(Some(format!("Supports {methods}.")));
    let routes = ROUTES.iter().filter(|route| route.path == path);
    routes.fold(item, |item, route| item.operation(route.http_method.clone(), operation(route))).build()
}

/// Returns the operation of the handler's attribute, with the parts that all operations share.
fn operation(route: &Route) -> Operation {
    let mut operation = (route.operation)();
    let is_keyed = matches!(route.access, Access::Key(_));
    let text = one_line(operation.description.as_deref().unwrap_or_default());
    operation.description = Some(match route.access {
        // Operations that count as anything else name it in their own text.
        Access::Key(Counts::As(Policy::Read)) => format!("{text} Counts as `read`.").trim_start().to_owned(),
        Access::Key(_) | Access::Public => text,
    });
    operation.tags = Some((route.tags)().into_iter().map(str::to_owned).collect());
    operation.summary = operation.summary.map(|summary| summary.trim_end_matches('.').to_owned());
    let schemes = KEY_SCHEMES.iter().filter(|_| is_keyed);
    operation.security =
        Some(schemes.map(|name| SecurityRequirement::new(*name, Vec::<String>::new())).collect());
    let ids = IDS.into_iter().filter(|thing| route.path.contains(&format!("{{{thing}_id}}"))).map(id);
    let mut all: Vec<_> =
        ids.map(RefOr::T).chain(operation.parameters.take().into_iter().flatten()).collect();
    all.iter_mut().for_each(tidy_parameter);
    all.push(RefOr::Ref(Ref::new("#/components/parameters/X-Request-Id")));
    operation.parameters = Some(all);
    operation.responses.responses = responses(route, std::mem::take(&mut operation.responses.responses));
    operation
}

/// Returns the responses of an operation: its own, with the headers of every answer, and references to those of errors.
fn responses(route: &Route, own: BTreeMap<String, RefOr<Response>>) -> BTreeMap<String, RefOr<Response>> {
    let is_keyed = matches!(route.access, Access::Key(_));
    let errors = ALWAYS_POSSIBLE.iter().chain(OF_KEYS.iter().filter(|_| is_keyed));
    let errors = errors.chain([404].iter().filter(|_| route.path.contains('{')));
    let named = own.keys().filter(|status| status.as_str() >= "400").cloned();
    let mut all: BTreeMap<_, RefOr<Response>> = errors
        .map(u16::to_string)
        .chain(named)
        .map(|status| (status.clone(), Ref::from_response_name(error_name(&status)).into()))
        .collect();
    for (status, mut response) in own.into_iter().filter(|(status, _)| status.as_str() < "400") {
        if let RefOr::T(response) = &mut response {
            let names: Vec<String> = response.headers.keys().cloned().collect();
            let shared = SHARED.into_iter().chain(COUNTED.into_iter().filter(|_| is_keyed));
            response.headers = names.iter().map(String::as_str).chain(shared).map(header_reference).collect();
        }
        all.insert(status, response);
    }
    all
}

fn error_name(status: impl std::fmt::Display) -> String {
    format!("Error{status}")
}

/// Returns the response with that status, which explains all of its codes.
fn error(status: u16) -> Response {
    let of_status = FAILURES.iter().filter(|failure| failure.0 == status);
    let texts: Vec<String> =
        of_status.map(|(_, code, when)| format!("`{}`: {when}", code.as_str())).collect();
    // Nothing stands beside the reference, though JSON Schema allows it: openapi-generator would make an empty class of it.
    let content = Content::new(Some(Ref::from_schema_name("ApiError")));
    let mut response =
        ResponseBuilder::new().description(texts.join("\n\n")).content("application/json", content).build();
    let headers = SHARED.into_iter().chain(COUNTED).chain(OF_ERRORS);
    response.headers = headers.map(header_reference).collect();
    response
}

fn header_reference(name: &str) -> (String, RefOr<Header>) {
    (name.to_owned(), RefOr::Ref(Ref::new(format!("#/components/headers/{name}"))))
}

fn header((name, text, example): (&str, &str, &str)) -> (String, RefOr<Header>) {
    let (kind, example) = match example.parse::<u32>() {
        Ok(number) => (Type::Integer, json!(number)),
        Err(_) => (Type::String, json!(example)),
    };
    let schema = ObjectBuilder::new().schema_type(kind).examples([example]);
    (name.to_owned(), HeaderBuilder::new().schema(Some(schema)).description(Some(text)).build().into())
}

fn components() -> utoipa::openapi::Components {
    let mut schemas = Schemas::new();
    for route in ROUTES.iter() {
        (route.schemas)(&mut schemas);
    }
    named::<ErrorBody<'_>>(&mut schemas);
    named::<Source>(&mut schemas);
    named::<Format>(&mut schemas);
    named::<GraphFormat>(&mut schemas);
    named::<BatchFormat>(&mut schemas);
    named::<MatrixFormat>(&mut schemas);
    schemas.iter_mut().for_each(|(name, schema)| tidy(name, schema));
    let schemas: BTreeMap<String, RefOr<Schema>> = schemas.into_iter().collect();
    // No operation answers 405.
    let statuses: BTreeSet<u16> =
        FAILURES.iter().map(|failure| failure.0).filter(|status| *status != 405).collect();
    let errors = statuses.into_iter().map(|status| (error_name(status), error(status)));
    let mut components = ComponentsBuilder::new()
        .schemas_from_iter(schemas)
        .responses_from_iter(errors)
        .parameter("X-Request-Id", request_id());
    for (name, header) in HEADERS.into_iter().map(header) {
        components = components.header(name, header);
    }
    for (name, scheme) in security_schemes() {
        components = components.security_scheme(name, scheme);
    }
    components.build()
}

fn security_schemes() -> [(&'static str, SecurityScheme); 2] {
    let text = "`sl_live_` and 36 letters and digits. The account's owner creates keys; each is shown once.";
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("sl_live_…")
        .description(Some(format!("The API key as `Authorization: Bearer <API_KEY>`. {text}")))
        .build();
    let header = format!("The API key itself. {text}");
    let header = ApiKeyValue::with_description("X-API-Key".to_owned(), header);
    let [bearer_name, header_name] = KEY_SCHEMES;
    [
        (bearer_name, SecurityScheme::Http(bearer)),
        (header_name, SecurityScheme::ApiKey(ApiKey::Header(header))),
    ]
}

/// Returns the parameter for the id of a thing in a path.
fn id(thing: &str) -> Parameter {
    let text = format!(
        "Identifies the {thing}: the hyphenated form of a UUID. A malformed id gets 404, like an unknown one."
    );
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
        .examples([json!("018f4a7e-5c1d-7b3a-9e2f-0123456789ab")]);
    ParameterBuilder::new()
        .name(format!("{thing}_id"))
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(text))
        .schema(Some(schema))
        .build()
}

/// Returns the parameter for the caller's own request id, which every request may have.
fn request_id() -> Parameter {
    let text = "The caller's own id of this request: 1 to 64 of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`. It comes back \
                in the answer and stands in the log. Anything else is replaced by a new id.";
    let schema = ObjectBuilder::new().schema_type(Type::String).examples([json!("my-request-1")]);
    ParameterBuilder::new()
        .name("X-Request-Id")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(text))
        .schema(Some(schema))
        .build()
}
