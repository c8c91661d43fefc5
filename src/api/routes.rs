//! The table of all routes: operations, pages, and MCP.

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
    /// As a search, and also as a stream if the body asks for one.
    SearchOrStream,
    /// As a search if a call of a tool of MCP starts one, and as a read otherwise.
    Message,
}

/// The endpoint of a route.
pub struct Endpoint {
    /// Who may call it, and which rate limits count the call.
    pub access: Access,
    /// Answers a request whose caller has access.
    pub handler: Handler,
    /// What `/openapi.json` says of an operation, and the schemas that it refers to. Pages are for people, and MCP describes
    /// itself.
    pub(super) described: Option<Described>,
}

type Described = (fn() -> Operation, fn(&mut Schemas));

/// A route. `GET` routes also serve `HEAD`.
pub type Route = http::Route<Endpoint>;

/// An operation. Its method and path are declared at its handler. `Declared` is the type that `#[utoipa::path]` generates:
/// `__path_` and the handler's name.
fn route<Declared: Path + SchemaReferences>(access: Access, handler: Handler) -> Route {
    let method = match Declared::methods().pop() {
        Some(HttpMethod::Post) => "POST",
        Some(HttpMethod::Patch) => "PATCH",
        Some(HttpMethod::Delete) => "DELETE",
        _ => "GET",
    };
    let described: Described = (Declared::operation, <Declared as SchemaReferences>::schemas);
    // The table lives as long as the program.
    let path = Declared::path().leak();
    Route { method, path, endpoint: Endpoint { access, handler, described: Some(described) } }
}

/// A page: open to everyone, not counted, only `GET` and `HEAD`.
fn page(path: &'static str, handler: Handler) -> Route {
    Route { method: "GET", path, endpoint: Endpoint { access: Access::Public, handler, described: None } }
}

/// All routes.
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
        route::<results::__path_get_evidence>(READ, results::get_evidence),
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
        page("/", docs::file),
        page("/favicon.ico", docs::file),
        page("/docs", docs::file),
        page("/docs/licenses", docs::file),
        page("/docs/assets/{file}", docs::asset),
        page("/redoc", docs::file),
        page("/manual", docs::file),
        page("/manual/{topic}", docs::file),
        page("/llms.txt", docs::file),
        Route {
            method: "POST",
            path: "/mcp",
            endpoint: Endpoint { access: Access::Message, handler: mcp::message, described: None },
        },
    ]
});

/// Returns the routes that `/openapi.json` describes.
pub fn operations() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(|route| route.endpoint.described.is_some())
}

/// Returns the value of `Allow` for a path.
pub(super) fn allow(path: &str) -> String {
    http::allow(ROUTES.iter().filter(|route| route.path == path).map(|route| route.method))
}
