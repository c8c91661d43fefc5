//! The document, put together.

use std::collections::{BTreeMap, BTreeSet};

use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::info::InfoBuilder;
use utoipa::openapi::link::{Link, LinkBuilder};
use utoipa::openapi::path::{HttpMethod, OperationBuilder, PathItem, PathItemBuilder, PathsBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder, ResponsesBuilder};
use utoipa::openapi::schema::{Components, ComponentsBuilder};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::server::ServerBuilder;
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{OpenApi, OpenApiBuilder, Ref, RefOr, Schema};

use super::doc::{Answer, Doc, Schemas, Tag, named};
use super::tidy::tidy;
use super::{failures, headers, parameters};
use crate::account::rate_limit::Policy;
use crate::api::failure::Failure;
use crate::api::routes::{self, Access, Counts, ROUTES, Route};
use crate::api::wire::error::{ErrorBody, Problem};
use crate::report::Format;
use crate::runs::entity::merge::Source;

/// Names of the two forms in which a key can be sent.
const KEY_SCHEMES: [&str; 2] = ["bearer", "header"];

/// The document of a server that clients reach at `base_url` (without a slash at its end).
pub fn document(base_url: &str) -> OpenApi {
    let info = InfoBuilder::new()
        .title("Sightline API")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(include_str!("about.md")))
        .build();
    let tags =
        Tag::ALL.map(|tag| TagBuilder::new().name(tag.name()).description(Some(tag.description())).build());
    let mut parts = Parts::default();
    let mut paths = PathsBuilder::new();
    for path in ROUTES.iter().map(|route| route.path).collect::<BTreeSet<_>>() {
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

/// What the paths refer to.
#[derive(Default)]
struct Parts {
    schemas: BTreeMap<String, RefOr<Schema>>,
    errors: BTreeMap<String, Vec<Failure>>,
    /// Addresses of headers.
    headers: BTreeSet<String>,
}

impl Parts {
    fn path_item(&mut self, path: &'static str) -> PathItem {
        let methods = routes::methods(path).join(", ");
        let mut item = PathItemBuilder::new().description(Some(format!("Answers {methods}.")));
        for route in ROUTES.iter().filter(|route| route.path == path) {
            if let Some(method) = http_method(route.method) {
                item = item.operation(method, self.operation(route));
            }
        }
        item.build()
    }

    fn operation(&mut self, route: &Route) -> OperationBuilder {
        let doc = (route.doc)();
        let mut operation = OperationBuilder::new()
            .operation_id(Some(doc.id))
            .tag(doc.tag.name())
            .summary(Some(doc.summary))
            .description(Some(text(route, &doc)).filter(|text| !text.is_empty()))
            .securities(Some(security(route.access)))
            .responses(self.responses(route, &doc));
        if route.path.contains("{run_id}") {
            operation = operation.parameter(parameters::run_id());
        }
        let Doc { parameters, body, schemas, .. } = doc;
        for parameter in parameters {
            operation = operation.parameter(parameter);
        }
        self.add(schemas);
        operation.parameter_ref(Ref::new("#/components/parameters/X-Request-Id")).request_body(body)
    }

    fn responses(&mut self, route: &Route, doc: &Doc) -> ResponsesBuilder {
        let mut responses = ResponsesBuilder::new();
        for answer in &doc.answers {
            let response = response(route, answer);
            self.refer(&response);
            responses = responses.response(answer.status.to_string(), response);
        }
        for (status, failed) in failures::of_route(route, &doc.failures) {
            responses = responses.response(status.to_string(), failures::reference(&failed));
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

    /// Notes which headers a response refers to.
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
        self.add(shared);
        for (_, failed) in failures::of_no_route() {
            self.errors.insert(failures::component_name(&failed), failed);
        }
        let errors = std::mem::take(&mut self.errors).into_iter();
        let errors: Vec<_> = errors.map(|(name, failed)| (name, failures::response(&failed))).collect();
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

/// The operation's words, and what it counts as. Those that count as anything but reads say so themselves, in their
/// place.
fn text(route: &Route, doc: &Doc) -> String {
    match route.access {
        Access::Key(Counts::As(Policy::Read)) => {
            let text = doc.text.trim_end();
            format!("{text}{}Counts as `read`.", if text.is_empty() { "" } else { " " })
        }
        Access::Key(_) | Access::Public => doc.text.clone(),
    }
}

fn http_method(name: &str) -> Option<HttpMethod> {
    Some(match name {
        "GET" => HttpMethod::Get,
        "POST" => HttpMethod::Post,
        "PUT" => HttpMethod::Put,
        "PATCH" => HttpMethod::Patch,
        "DELETE" => HttpMethod::Delete,
        _ => return None,
    })
}

fn response(route: &Route, answer: &Answer) -> Response {
    let counted = headers::COUNTED.into_iter().filter(|_| matches!(route.access, Access::Key(_)));
    let always = headers::EVERYWHERE.into_iter().chain(counted).chain(answer.always.iter().copied());
    let maybe = headers::ANYWHERE.into_iter().chain(answer.maybe.iter().copied());
    let mut response = ResponseBuilder::new().description(answer.text);
    for (media_type, schema) in &answer.bodies {
        let content = ContentBuilder::new().schema(Some(schema.clone())).build();
        response = response.content(*media_type, content);
    }
    let mut response = response.build();
    response.headers.extend(headers::references(always, maybe));
    if answer.links {
        response.links.extend(links());
    }
    response
}

/// What can be asked of a run that has begun.
fn links() -> impl Iterator<Item = (String, RefOr<Link>)> {
    let of_runs = ROUTES.iter().filter(|route| route.path.contains("{run_id}"));
    of_runs.map(|route| {
        let doc = (route.doc)();
        let link = LinkBuilder::new()
            .operation_id(doc.id)
            .parameter("run_id", "$response.header.X-Run-Id")
            .description(doc.summary)
            .build();
        (doc.id.to_owned(), link.into())
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
    let text = "`sl_live_` and 36 letters and digits. Keys are made by the account's owner and shown once.";
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("sl_live_…")
        .description(Some(format!("The API key as `Authorization: Bearer <API_KEY>`. {text}")))
        .build();
    let header = format!("The API key as it is. {text}");
    let header = ApiKeyValue::with_description("X-API-Key".to_owned(), header);
    let [bearer_name, header_name] = KEY_SCHEMES;
    [
        (bearer_name, SecurityScheme::Http(bearer)),
        (header_name, SecurityScheme::ApiKey(ApiKey::Header(header))),
    ]
}
