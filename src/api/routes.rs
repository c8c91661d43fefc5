//! The table of all operations, and the table of pages.

use std::sync::LazyLock;

use utoipa::__dev::{SchemaReferences, Tags};
use utoipa::Path;
use utoipa::openapi::path::{HttpMethod, Operation};

use super::access::{Access, Counts, READ, SEARCH, SEARCH_OR_STREAM, STREAM};
use super::context::Handler;
use super::openapi::schemas::Schemas;
use super::{
    accounts, batch_files, batches, capabilities, deliveries, description, diff, docs, export, follow,
    health, leads, mcp, modules, notes, people, reading, searches, stopping, stream, thumbnails, variants,
    watches, webhooks,
};
use crate::http;

/// An operation. Its method and path are declared at its handler.
pub struct Route {
    /// The method in upper case. `GET` routes also serve `HEAD`.
    pub method: &'static str,
    /// The path. Segments in braces, such as `{run_id}`, match any text.
    pub path: String,
    /// The access rule.
    pub access: Access,
    /// The handler.
    pub handler: Handler,
    pub(super) http_method: HttpMethod,
    pub(super) operation: fn() -> Operation,
    pub(super) schemas: fn(&mut Schemas),
    pub(super) tags: fn() -> Vec<&'static str>,
}

/// Creates a route. `Described` is the type that `#[utoipa::path]` generates: `__path_` and the handler's
/// name.
fn route<Described: Path + SchemaReferences + Tags<'static>>(access: Access, handler: Handler) -> Route {
    let http_method = Described::methods().pop().unwrap_or(HttpMethod::Get);
    Route {
        method: match http_method {
            HttpMethod::Get => "GET",
            HttpMethod::Post => "POST",
            HttpMethod::Put => "PUT",
            HttpMethod::Delete => "DELETE",
            HttpMethod::Options => "OPTIONS",
            HttpMethod::Head => "HEAD",
            HttpMethod::Patch => "PATCH",
            HttpMethod::Trace => "TRACE",
        },
        path: Described::path(),
        access,
        handler,
        http_method,
        operation: Described::operation,
        schemas: <Described as SchemaReferences>::schemas,
        tags: Described::tags,
    }
}

/// A page for people: open to everyone, not counted, only `GET` and `HEAD`. `/openapi.json` does not list
/// pages, since it is for programs.
pub struct Page {
    /// The path, as in [`Route`].
    pub path: &'static str,
    /// The handler.
    pub handler: Handler,
}

const fn page(path: &'static str, handler: Handler) -> Page {
    Page { path, handler }
}

/// All pages.
pub static PAGES: &[Page] = &[
    page("/", docs::landing),
    page("/favicon.ico", docs::icon),
    page("/docs", docs::swagger_ui),
    page("/docs/licenses", docs::licenses),
    page("/docs/assets/{file}", docs::asset),
    page("/redoc", docs::redoc),
    page("/manual", docs::manual_index),
    page("/manual/{topic}", docs::manual_page),
    page("/llms.txt", docs::llms),
];

/// All operations.
pub static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    vec![
        route::<health::__path_health>(Access::Public, health::health),
        route::<capabilities::__path_capabilities>(Access::Public, capabilities::capabilities),
        route::<accounts::__path_me>(READ, accounts::me),
        route::<accounts::__path_credits>(READ, accounts::credits),
        route::<searches::__path_start>(SEARCH_OR_STREAM, searches::start),
        route::<reading::__path_list>(READ, reading::list),
        route::<reading::__path_run>(READ, reading::run),
        route::<notes::__path_note_run>(READ, notes::note_run),
        route::<searches::__path_delete>(READ, searches::delete),
        route::<stopping::__path_stop>(READ, stopping::stop),
        route::<stopping::__path_retry>(SEARCH, stopping::retry),
        route::<stream::__path_attach>(STREAM, stream::attach),
        route::<reading::__path_modules>(READ, reading::modules),
        route::<export::__path_export>(READ, export::export),
        route::<leads::__path_list>(READ, leads::list),
        route::<leads::__path_graph>(READ, leads::graph),
        route::<follow::__path_follow_lead>(SEARCH, follow::follow_lead),
        route::<people::__path_list>(READ, people::list),
        route::<thumbnails::__path_thumbnail>(READ, thumbnails::thumbnail),
        route::<notes::__path_annotate>(READ, notes::annotate),
        route::<diff::__path_diff>(READ, diff::diff),
        route::<watches::__path_create>(READ, watches::create),
        route::<watches::__path_list>(READ, watches::list),
        route::<watches::__path_watch>(READ, watches::watch),
        route::<watches::__path_change>(READ, watches::change),
        route::<watches::__path_delete>(READ, watches::delete),
        route::<watches::__path_runs>(READ, watches::runs),
        route::<watches::__path_changes>(READ, watches::changes),
        route::<watches::__path_run>(SEARCH, watches::run),
        route::<batches::__path_create>(SEARCH, batches::create),
        route::<batches::__path_list>(READ, batches::list),
        route::<batches::__path_batch>(READ, batches::batch),
        route::<batches::__path_stop>(READ, batches::stop),
        route::<batch_files::__path_export>(READ, batch_files::export),
        route::<batch_files::__path_matrix>(READ, batch_files::matrix),
        route::<webhooks::__path_create>(READ, webhooks::create),
        route::<webhooks::__path_list>(READ, webhooks::list),
        route::<webhooks::__path_webhook>(READ, webhooks::webhook),
        route::<webhooks::__path_change>(READ, webhooks::change),
        route::<webhooks::__path_delete>(READ, webhooks::delete),
        route::<webhooks::__path_rotate>(READ, webhooks::rotate),
        route::<webhooks::__path_test>(READ, webhooks::test),
        route::<deliveries::__path_list>(READ, deliveries::list),
        route::<deliveries::__path_replay>(READ, deliveries::replay),
        route::<variants::__path_list>(READ, variants::list),
        route::<modules::__path_modules>(READ, modules::modules),
        route::<description::__path_openapi>(Access::Public, description::openapi),
    ]
});

/// The endpoint of an operation or a page.
#[derive(Clone, Copy)]
pub struct Endpoint {
    /// The access rule.
    pub access: Access,
    /// The handler.
    pub handler: Handler,
}

/// All operations and pages, as the router needs them.
pub(super) static TABLE: LazyLock<Vec<http::Route<Endpoint>>> = LazyLock::new(|| {
    let operations = ROUTES.iter().map(|route| http::Route {
        method: route.method,
        path: route.path.as_str(),
        endpoint: Endpoint { access: route.access, handler: route.handler },
    });
    let pages = PAGES.iter().map(|page| http::Route {
        method: "GET",
        path: page.path,
        endpoint: Endpoint { access: Access::Public, handler: page.handler },
    });
    // MCP describes itself: see `tools/list`.
    let mcp = http::Route {
        method: "POST",
        path: "/mcp",
        endpoint: Endpoint { access: Access::Key(Counts::Message), handler: mcp::message },
    };
    operations.chain(pages).chain([mcp]).collect()
});

/// Returns the value of `Allow` for a path of [`ROUTES`].
pub(super) fn allow(path: &str) -> String {
    http::allow(ROUTES.iter().filter(|route| route.path == path).map(|route| route.method))
}
