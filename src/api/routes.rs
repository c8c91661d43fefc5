//! The one table of all routes, and that of the pages beside them. A test holds it against what the server answers.

use std::sync::Arc;

use super::error::ApiError;
use super::openapi::{self, Doc};
use super::service::{Api, Call};
use super::{accounts, docs, export, health, reading, searches, service_pages};
use crate::account::rate_limit::Policy;
use crate::http::{Reply, fit};

/// Who may call a route, and what a call counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone; not counted.
    Public,
    /// A key of a plan with API access; counted.
    Key(Counts),
}

/// What a call with a key counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Under one policy.
    As(Policy),
    /// As a search, and as a stream too where the body asks for one.
    SearchOrStream,
}

/// Works a call out.
pub type Handler = fn(&Arc<Api>, &Call<'_>) -> Result<Reply, ApiError>;

/// One route.
pub struct Route {
    /// Upper-case method. `GET` answers `HEAD` too.
    pub method: &'static str,
    /// Segments; at most one, like `{run_id}`, stands for any.
    pub path: &'static str,
    /// Who may, and what it counts as.
    pub access: Access,
    /// Works it out.
    pub handler: Handler,
    /// What `/openapi.json` says of it.
    pub doc: fn() -> Doc,
}

const READ: Access = Access::Key(Counts::As(Policy::Read));
const STREAM: Access = Access::Key(Counts::As(Policy::Stream));
const SEARCH: Access = Access::Key(Counts::SearchOrStream);

const fn route(
    method: &'static str,
    path: &'static str,
    access: Access,
    handler: Handler,
    doc: fn() -> Doc,
) -> Route {
    Route { method, path, access, handler, doc }
}

/// A page for people: anyone's, not counted, `GET` (and `HEAD`) alone. `/openapi.json` is for programs and leaves
/// pages out.
pub struct Page {
    /// As in [`Route`].
    pub path: &'static str,
    /// Works it out.
    pub handler: Handler,
}

const fn page(path: &'static str, handler: Handler) -> Page {
    Page { path, handler }
}

/// Every page there is. A static: a row is known by its place in memory.
pub static PAGES: &[Page] = &[
    page("/", docs::landing),
    page("/favicon.ico", docs::icon),
    page("/docs", docs::swagger_ui),
    page("/docs/licenses", docs::licenses),
    page("/docs/assets/{file}", docs::asset),
    page("/redoc", docs::redoc),
];

/// Every route there is. A static, likewise.
pub static ROUTES: &[Route] = &[
    route("GET", "/v1/health", Access::Public, health::health, openapi::service::health),
    route(
        "GET",
        "/v1/capabilities",
        Access::Public,
        service_pages::capabilities,
        openapi::service::capabilities,
    ),
    route("GET", "/v1/me", READ, accounts::me, openapi::account::me),
    route("GET", "/v1/credits", READ, accounts::credits, openapi::account::credits),
    route("POST", "/v1/searches", SEARCH, searches::start, openapi::searches::start),
    route("GET", "/v1/searches", READ, reading::list, openapi::searches::list),
    route("GET", "/v1/searches/{run_id}", READ, reading::run, openapi::searches::run),
    route("DELETE", "/v1/searches/{run_id}", READ, searches::delete, openapi::searches::delete),
    route("GET", "/v1/searches/{run_id}/stream", STREAM, searches::attach, openapi::searches::stream),
    route("GET", "/v1/searches/{run_id}/modules", READ, reading::modules, openapi::searches::modules),
    route("GET", "/v1/searches/{run_id}/export", READ, export::export, openapi::searches::export),
    route("GET", "/v1/modules", READ, service_pages::modules, openapi::service::modules),
    route("GET", "/openapi.json", Access::Public, openapi::page::openapi, openapi::service::openapi),
];

/// What the table says of a method and a path.
pub enum Match<'a> {
    /// This route, with the segment that stands in the path for `{…}`, as it was sent.
    Route(&'static Route, Option<&'a str>),
    /// This page, likewise.
    Page(&'static Page, Option<&'a str>),
    /// The path exists with these methods alone (the value of `Allow`).
    OtherMethods(String),
    /// There is no such path.
    Nothing,
}

/// Looks a request up. One trailing slash is forgiven.
pub fn find<'a>(method: &str, path: &'a str) -> Match<'a> {
    if (method, path) == ("OPTIONS", "*") {
        return Match::OtherMethods(all_methods());
    }
    let path = path.strip_suffix('/').filter(|path| !matches!(*path, "" | "/")).unwrap_or(path);
    let mut pattern = None;
    for route in ROUTES {
        let Some(segment) = fit(route.path, path) else { continue };
        if route.method == method || (route.method == "GET" && method == "HEAD") {
            return Match::Route(route, segment);
        }
        pattern = Some(route.path);
    }
    match pattern {
        Some(pattern) => Match::OtherMethods(methods(pattern).join(", ")),
        None => find_page(method, path),
    }
}

/// Every route and page, as a method and a pattern: what requests are counted by.
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let routes = ROUTES.iter().map(|route| (route.method, route.path));
    routes.chain(PAGES.iter().map(|page| ("GET", page.path)))
}

/// The place of what was found among [`all`]: rows of the tables have one place in memory each.
pub(super) fn place_of(found: &Match<'_>) -> Option<usize> {
    match found {
        Match::Route(route, _) => ROUTES.iter().position(|known| std::ptr::eq(known, *route)),
        Match::Page(page, _) => {
            PAGES.iter().position(|known| std::ptr::eq(known, *page)).map(|at| ROUTES.len() + at)
        }
        Match::OtherMethods(_) | Match::Nothing => None,
    }
}

/// All methods there are: what `OPTIONS *` asks for (RFC 9110, section 9.3.7).
fn all_methods() -> String {
    let mut methods = vec!["HEAD", "OPTIONS"];
    methods.extend(ROUTES.iter().map(|route| route.method));
    methods.sort_unstable();
    methods.dedup();
    methods.join(", ")
}

fn find_page<'a>(method: &str, path: &'a str) -> Match<'a> {
    let fitting = PAGES.iter().find_map(|page| Some((page, fit(page.path, path)?)));
    match (fitting, method) {
        (Some((page, segment)), "GET" | "HEAD") => Match::Page(page, segment),
        (Some(_), _) => Match::OtherMethods("GET, HEAD, OPTIONS".to_owned()),
        (None, _) => Match::Nothing,
    }
}

/// All methods that a path of the table answers.
pub fn methods(pattern: &str) -> Vec<&'static str> {
    let of_path = ROUTES.iter().filter(|route| route.path == pattern);
    let methods = of_path.flat_map(|route| match route.method {
        "GET" => vec!["GET", "HEAD"],
        other => vec![other],
    });
    methods.chain(["OPTIONS"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: &str, path: &str) -> String {
        match find(method, path) {
            Match::Route(Route { path, .. }, segment) | Match::Page(Page { path, .. }, segment) => {
                format!("{path} {segment:?}")
            }
            Match::OtherMethods(allow) => allow,
            Match::Nothing => "nothing".into(),
        }
    }

    #[test]
    fn paths_are_looked_up_with_their_methods() {
        for (method, path, want) in [
            ("GET", "/v1/searches", "/v1/searches None"),
            ("GET", "/v1/searches/", "/v1/searches None"),
            ("HEAD", "/v1/health", "/v1/health None"),
            ("GET", "/v1/searches/abc", "/v1/searches/{run_id} Some(\"abc\")"),
            ("GET", "/v1/searches/abc/stream", "/v1/searches/{run_id}/stream Some(\"abc\")"),
            ("PUT", "/v1/searches", "POST, GET, HEAD, OPTIONS"),
            ("POST", "/v1/searches/abc", "GET, HEAD, DELETE, OPTIONS"),
            ("GET", "/v1/searches//", "nothing"),
            ("GET", "/v1/searches//stream", "nothing"),
            ("GET", "/V1/health", "nothing"),
            ("GET", "/", "/ None"),
            ("GET", "//", "nothing"),
            ("GET", "", "nothing"),
            ("GET", "/docs/assets/a.js", "/docs/assets/{file} Some(\"a.js\")"),
            ("GET", "/docs/assets/", "nothing"),
            ("POST", "/docs", "GET, HEAD, OPTIONS"),
            ("GET", "*", "nothing"),
            ("OPTIONS", "*", "DELETE, GET, HEAD, OPTIONS, POST"),
            ("GET", "/v1/health/x", "nothing"),
        ] {
            assert_eq!(found(method, path), want, "{method} {path}");
        }
    }
}
