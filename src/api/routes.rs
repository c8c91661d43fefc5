//! The table of all operations, and the table of pages.

use std::sync::LazyLock;

use utoipa::__dev::SchemaReferences;
use utoipa::Path;
use utoipa::openapi::path::{HttpMethod, Operation};

use super::context::Handler;
use super::openapi::schemas::Schemas;
use super::{batches, capabilities, docs, mcp, modules, reading, results, searches, watches, webhooks};
use crate::http;
use crate::model::quota::Policy;

use Access::SearchOrStream;

const READ: Access = Access::Key(Policy::Read);
const STREAM: Access = Access::Key(Policy::Stream);
const SEARCH: Access = Access::Key(Policy::Search);

/// Who may call a route, and the rate limits that a call counts under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everyone; a call is not counted.
    Public,
    /// Callers with a key of a plan with API access. This and the following count.
    Key(Policy),
    /// As a search, and as a stream too if the body asks for one.
    SearchOrStream,
    /// As a search if a call of a tool of MCP starts one, and as a read otherwise.
    Message,
}

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
    pub(super) operation: fn() -> Operation,
    pub(super) schemas: fn(&mut Schemas),
}

/// Creates a route. `Described` is the type that `#[utoipa::path]` generates: `__path_` and the handler's
/// name.
fn route<Described: Path + SchemaReferences>(access: Access, handler: Handler) -> Route {
    let method = match Described::methods().pop() {
        Some(HttpMethod::Post) => "POST",
        Some(HttpMethod::Patch) => "PATCH",
        Some(HttpMethod::Delete) => "DELETE",
        _ => "GET",
    };
    Route {
        method,
        path: Described::path(),
        access,
        handler,
        operation: Described::operation,
        schemas: <Described as SchemaReferences>::schemas,
    }
}

/// All pages for people, by path: open to everyone, not counted, only `GET` and `HEAD`. `/openapi.json` does not list them,
/// since it is for programs.
pub static PAGES: [(&str, Handler); 9] = [
    ("/", docs::file),
    ("/favicon.ico", docs::file),
    ("/docs", docs::file),
    ("/docs/licenses", docs::file),
    ("/docs/assets/{file}", docs::asset),
    ("/redoc", docs::file),
    ("/manual", docs::manual_index),
    ("/manual/{topic}", docs::file),
    ("/llms.txt", docs::file),
];

/// All operations.
pub static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    vec![
        route::<capabilities::__path_get_health>(Access::Public, capabilities::get_health),
        route::<capabilities::__path_get_capabilities>(Access::Public, capabilities::get_capabilities),
        route::<capabilities::__path_get_account>(READ, capabilities::get_account),
        route::<capabilities::__path_get_credits>(READ, capabilities::get_credits),
        route::<searches::__path_start_search>(SearchOrStream, searches::start_search),
        route::<reading::__path_list_searches>(READ, reading::list_searches),
        route::<reading::__path_get_search>(READ, reading::get_search),
        route::<results::__path_note_search>(READ, results::note_search),
        route::<searches::__path_delete_search>(READ, searches::delete_search),
        route::<searches::__path_stop_search>(READ, searches::stop_search),
        route::<searches::__path_retry_search>(SEARCH, searches::retry_search),
        route::<searches::__path_stream_search>(STREAM, searches::stream_search),
        route::<reading::__path_list_search_modules>(READ, reading::list_search_modules),
        route::<reading::__path_export_search>(READ, reading::export_search),
        route::<results::__path_list_search_leads>(READ, results::list_search_leads),
        route::<results::__path_get_search_graph>(READ, results::get_search_graph),
        route::<results::__path_follow_lead>(SEARCH, results::follow_lead),
        route::<results::__path_list_search_people>(READ, results::list_search_people),
        route::<results::__path_get_thumbnail>(READ, results::get_thumbnail),
        route::<results::__path_annotate_result>(READ, results::annotate_result),
        route::<results::__path_diff_searches>(READ, results::diff_searches),
        route::<watches::__path_create_watch>(READ, watches::create_watch),
        route::<watches::__path_list_watches>(READ, watches::list_watches),
        route::<watches::__path_get_watch>(READ, watches::get_watch),
        route::<watches::__path_change_watch>(READ, watches::change_watch),
        route::<watches::__path_delete_watch>(READ, watches::delete_watch),
        route::<watches::__path_list_watch_runs>(READ, watches::list_watch_runs),
        route::<watches::__path_list_watch_changes>(READ, watches::list_watch_changes),
        route::<watches::__path_run_watch>(SEARCH, watches::run_watch),
        route::<batches::__path_create_batch>(SEARCH, batches::create_batch),
        route::<batches::__path_list_batches>(READ, batches::list_batches),
        route::<batches::__path_get_batch>(READ, batches::get_batch),
        route::<batches::__path_stop_batch>(READ, batches::stop_batch),
        route::<batches::__path_export_batch>(READ, batches::export_batch),
        route::<batches::__path_get_batch_matrix>(READ, batches::get_batch_matrix),
        route::<webhooks::__path_create_webhook>(READ, webhooks::create_webhook),
        route::<webhooks::__path_list_webhooks>(READ, webhooks::list_webhooks),
        route::<webhooks::__path_get_webhook>(READ, webhooks::get_webhook),
        route::<webhooks::__path_change_webhook>(READ, webhooks::change_webhook),
        route::<webhooks::__path_delete_webhook>(READ, webhooks::delete_webhook),
        route::<webhooks::__path_rotate_webhook_secret>(READ, webhooks::rotate_webhook_secret),
        route::<webhooks::__path_test_webhook>(READ, webhooks::test_webhook),
        route::<webhooks::__path_list_webhook_deliveries>(READ, webhooks::list_webhook_deliveries),
        route::<webhooks::__path_replay_webhook_delivery>(READ, webhooks::replay_webhook_delivery),
        route::<modules::__path_list_variants>(READ, modules::list_variants),
        route::<modules::__path_list_modules>(READ, modules::list_modules),
        route::<docs::__path_get_open_api>(Access::Public, docs::get_open_api),
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
    let pages = PAGES.iter().map(|&(path, handler)| http::Route {
        method: "GET",
        path,
        endpoint: Endpoint { access: Access::Public, handler },
    });
    // MCP describes itself: see `tools/list`.
    let mcp = http::Route {
        method: "POST",
        path: "/mcp",
        endpoint: Endpoint { access: Access::Message, handler: mcp::message },
    };
    operations.chain(pages).chain([mcp]).collect()
});

/// Returns the value of `Allow` for a path of [`ROUTES`].
pub(super) fn allow(path: &str) -> String {
    http::allow(ROUTES.iter().filter(|route| route.path == path).map(|route| route.method))
}
