//! `/openapi.json`: the description of the API for programs, in OpenAPI 3.1.
//!
//! An operation is described beside its handler by `#[utoipa::path]`. The doc comment of the handler gives
//! summary and text, the attribute gives path, parameters, answers and examples. Schemas are derived from the
//! serialized types. This folder adds the parts that operations share and builds the document.
//!
//! | file | holds |
//! |---|---|
//! | this one | [`document`]: routes, shared parts, components |
//! | `failures` | the error responses |
//! | [`headers`] | response headers |
//! | [`parameters`] | parameters that several operations have |
//! | [`schemas`] | named schemas, and corrections to the derived ones |
//! | [`version_3_2`] | the document in OpenAPI 3.2 |
//!
//! # Documenting an endpoint
//! 1. Put `#[utoipa::path]` on its handler; [`reading`](super::reading) has examples. The row in [`routes`]
//!    does not compile without it.
//! 2. Its answer is a type that derives `Serialize` and `ToSchema`. The docs of fields are descriptions for the API's
//!    users: meaning, unit, bounds, what null means; `#[schema(examples(…))]` gives an example. An `Option` that is
//!    always sent is `#[schema(required)]`; one that is left out has `skip_serializing_if` and
//!    `#[schema(nullable = false)]`.
//! 3. Name response headers with `String` if they are required, with `Option<String>` if they are optional.
//!    [`headers`] describes them.
//! 4. Its own failures are responses whose description is the error's code. Those of its access (401, 403, 429), of
//!    `{run_id}` (404) and of the server (400, 408, 413, …) are added to every operation. A new kind of error is a row in
//!    [`failure`](super::failure).

mod failures;
pub mod headers;
pub mod parameters;
pub mod schemas;
pub mod version_3_2;

use std::collections::{BTreeMap, BTreeSet};

use utoipa::openapi::info::{ContactBuilder, InfoBuilder, License};
use utoipa::openapi::link::{Link, LinkBuilder};
use utoipa::openapi::path::{Operation, Parameter, PathItem, PathItemBuilder, PathsBuilder};
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{Components, ComponentsBuilder};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::server::ServerBuilder;
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{OpenApi, OpenApiBuilder, Ref, RefOr, Schema};

use super::access::{Access, Counts};
use super::error_body::{ErrorBody, Problem};
use super::failure::Failure;
use super::routes::{self, ROUTES, Route};
use crate::api::batch_files::MatrixFormat;
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
    let mut parts = Parts { base_url: base_url.to_owned(), ..Parts::default() };
    let mut paths = PathsBuilder::new();
    for path in ROUTES.iter().map(|route| &*route.path).collect::<BTreeSet<_>>() {
        paths = paths.path(path, parts.path_item(path));
    }
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([ServerBuilder::new().url(base_url).description(Some("This service")).build()]))
        .tags(Some(tags))
        .paths(paths)
        .components(Some(parts.components()))
        .build()
}

fn license() -> License {
    let mut license = License::new("MIT (the program), CC BY-SA 4.0 (the catalogue's data)");
    license.identifier = Some(env!("CARGO_PKG_LICENSE").to_owned());
    license
}

/// The components that the paths refer to.
#[derive(Default)]
struct Parts {
    base_url: String,
    schemas: BTreeMap<String, RefOr<Schema>>,
    errors: BTreeMap<String, Vec<Failure>>,
    /// Addresses of headers.
    headers: BTreeSet<String>,
}

impl Parts {
    fn path_item(&mut self, path: &str) -> PathItem {
        let methods = routes::allow(path);
        let mut item = PathItemBuilder::new().description(Some(format!("Supports {methods}.")));
        for route in ROUTES.iter().filter(|route| route.path == path) {
            item = item.operation(route.http_method.clone(), self.operation(route));
        }
        item.build()
    }

    /// Returns the operation of the handler's attribute, with the parts that all operations of its kind
    /// share.
    fn operation(&mut self, route: &Route) -> Operation {
        let mut operation = (route.operation)();
        let mut schemas = Schemas::new();
        (route.schemas)(&mut schemas);
        self.add(schemas);
        operation.tags = Some((route.tags)().into_iter().map(str::to_owned).collect());
        operation.summary = operation.summary.map(|summary| summary.trim_end_matches('.').to_owned());
        operation.description =
            Some(text(route.access, operation.description.as_deref().unwrap_or_default()));
        operation.security = Some(security(route.access));
        operation.parameters = Some(parameters_of(route, operation.parameters.take()));
        operation.responses.responses = self.responses(route, &operation);
        operation
    }

    fn responses(&mut self, route: &Route, operation: &Operation) -> BTreeMap<String, RefOr<Response>> {
        let (mut responses, mut own) = (BTreeMap::new(), Vec::new());
        for (status, response) in &operation.responses.responses {
            let RefOr::T(response) = response else { continue };
            if status.as_str() >= "400" {
                own.push(failures::named(status, &response.description));
                continue;
            }
            let mut response = response.clone();
            share(route.access, &mut response);
            self.refer(&response);
            responses.insert(status.clone(), response.into());
        }
        for (status, failed) in failures::of_operation(route.access, &route.path, &own) {
            responses.insert(status.to_string(), failures::reference(&failed));
            self.errors.insert(failures::component_name(&failed), failed);
        }
        responses
    }

    fn add(&mut self, schemas: Schemas) {
        for (name, mut schema) in schemas {
            tidy(&name, &mut schema);
            self.schemas.insert(name, schema);
        }
    }

    /// Records the headers that a response refers to.
    fn refer(&mut self, response: &Response) {
        let addresses = response.headers.values().filter_map(|header| match header {
            RefOr::Ref(reference) => Some(reference.ref_location.clone()),
            RefOr::T(_) => None,
        });
        self.headers.extend(addresses);
    }

    fn components(mut self) -> Components {
        let mut shared = Schemas::new();
        named::<ErrorBody<'_>>(&mut shared);
        named::<Problem<'_>>(&mut shared);
        named::<Source>(&mut shared);
        named::<Format>(&mut shared);
        named::<GraphFormat>(&mut shared);
        named::<BatchFormat>(&mut shared);
        named::<MatrixFormat>(&mut shared);
        self.add(shared);
        let errors = std::mem::take(&mut self.errors).into_iter();
        let errors: Vec<_> =
            errors.map(|(name, failed)| (name, failures::response(&failed, &self.base_url))).collect();
        errors.iter().for_each(|(_, response)| self.refer(response));
        let mut components = ComponentsBuilder::new()
            .schemas_from_iter(self.schemas)
            .responses_from_iter(errors)
            .parameter("X-Request-Id", parameters::request_id());
        for (name, header) in headers::components() {
            if self.headers.contains(&headers::address(&name)) {
                components = components.header(name, header);
            }
        }
        for (name, scheme) in security_schemes() {
            components = components.security_scheme(name, scheme);
        }
        components.build()
    }
}

/// Returns the text of an operation with the rate limit that it counts under. Operations that count as
/// anything but reads name it in their own text.
fn text(access: Access, own: &str) -> String {
    let own = one_line(own);
    match access {
        Access::Key(Counts::As(Policy::Read)) => format!("{own} Counts as `read`.").trim_start().to_owned(),
        Access::Key(_) | Access::Public => own,
    }
}

fn parameters_of(route: &Route, own: Option<Vec<RefOr<Parameter>>>) -> Vec<RefOr<Parameter>> {
    let ids = parameters::ids(&route.path).map(RefOr::T);
    let mut all: Vec<_> = ids.chain(own.into_iter().flatten()).collect();
    all.iter_mut().for_each(tidy_parameter);
    all.push(RefOr::Ref(Ref::new("#/components/parameters/X-Request-Id")));
    all
}

/// Adds the headers of every answer, and turns the headers of the attribute into references. An answer with the
/// address of a run gets links to the operations on the run.
fn share(access: Access, response: &mut Response) {
    let (always, maybe) = headers::split(&response.headers);
    let counted = headers::COUNTED.into_iter().filter(|_| matches!(access, Access::Key(_)));
    let always: Vec<_> = headers::ALWAYS.into_iter().chain(counted).chain(always).collect();
    if always.contains(&"Location") {
        response.links.extend(links());
    }
    let maybe = headers::POSSIBLE.into_iter().chain(maybe);
    response.headers = headers::references(always, maybe).into_iter().collect();
}

/// Returns links to the operations on a run.
fn links() -> impl Iterator<Item = (String, RefOr<Link>)> {
    // A link names the run alone, so operations that need further segments have none.
    let of_runs =
        ROUTES.iter().filter(|route| route.path.contains("{run_id}") && route.path.matches('{').count() == 1);
    of_runs.map(|route| {
        let operation = (route.operation)();
        let id = operation.operation_id.unwrap_or_default();
        let link = LinkBuilder::new()
            .operation_id(id.clone())
            .parameter("run_id", "$response.header.X-Run-Id")
            .description(operation.summary.unwrap_or_default().trim_end_matches('.'))
            .build();
        (id, link.into())
    })
}

fn security(access: Access) -> Vec<SecurityRequirement> {
    match access {
        Access::Public => Vec::new(),
        Access::Key(_) => {
            KEY_SCHEMES.map(|name| SecurityRequirement::new(name, Vec::<String>::new())).to_vec()
        }
    }
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
