//! The one table of all routes. A test holds it against what the server answers.

use std::sync::Arc;

use super::error::ApiError;
use super::service::{Api, Call};
use super::{accounts, health, reading, searches, service_pages};
use crate::account::rate_limit::Policy;
use crate::http::Reply;

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
    /// Segments; `{run_id}` stands for any one.
    pub path: &'static str,
    /// Who may, and what it counts as.
    pub access: Access,
    /// Works it out.
    pub handler: Handler,
}

const READ: Access = Access::Key(Counts::As(Policy::Read));
const STREAM: Access = Access::Key(Counts::As(Policy::Stream));
const SEARCH: Access = Access::Key(Counts::SearchOrStream);

const fn route(method: &'static str, path: &'static str, access: Access, handler: Handler) -> Route {
    Route { method, path, access, handler }
}

/// Every route there is.
pub const ROUTES: &[Route] = &[
    route("GET", "/v1/health", Access::Public, health::health),
    route("GET", "/v1/capabilities", Access::Public, service_pages::capabilities),
    route("GET", "/v1/me", READ, accounts::me),
    route("GET", "/v1/credits", READ, accounts::credits),
    route("POST", "/v1/searches", SEARCH, searches::start),
    route("GET", "/v1/searches", READ, reading::list),
    route("GET", "/v1/searches/{run_id}", READ, reading::run),
    route("DELETE", "/v1/searches/{run_id}", READ, searches::delete),
    route("GET", "/v1/searches/{run_id}/stream", STREAM, searches::attach),
    route("GET", "/v1/searches/{run_id}/modules", READ, reading::modules),
    route("GET", "/v1/modules", READ, service_pages::modules),
];

/// What the table says of a method and a path.
pub enum Match<'a> {
    /// This route, with the path's run id as it was sent.
    Route(&'static Route, Option<&'a str>),
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
    let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
    let mut allowed: Vec<&str> = Vec::new();
    for route in ROUTES {
        let Some(run_id) = fit(route.path, path) else { continue };
        if route.method == method || (route.method == "GET" && method == "HEAD") {
            return Match::Route(route, run_id);
        }
        allowed.push(route.method);
        if route.method == "GET" {
            allowed.push("HEAD");
        }
    }
    if allowed.is_empty() {
        return Match::Nothing;
    }
    allowed.push("OPTIONS");
    Match::OtherMethods(allowed.join(", "))
}

/// All methods there are: what `OPTIONS *` asks for (RFC 9110, section 9.3.7).
fn all_methods() -> String {
    let mut methods = vec!["HEAD", "OPTIONS"];
    methods.extend(ROUTES.iter().map(|route| route.method));
    methods.sort_unstable();
    methods.dedup();
    methods.join(", ")
}

/// `Some` where the path fits the pattern, with what stands for `{run_id}`.
fn fit<'a>(pattern: &str, path: &'a str) -> Option<Option<&'a str>> {
    let mut run_id = None;
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return Some(run_id),
            (Some("{run_id}"), Some(segment)) if !segment.is_empty() => run_id = Some(segment),
            (Some(want), Some(segment)) if want == segment => {}
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: &str, path: &str) -> String {
        match find(method, path) {
            Match::Route(route, run_id) => format!("{} {:?}", route.path, run_id),
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
            ("GET", "/", "nothing"),
            ("GET", "*", "nothing"),
            ("OPTIONS", "*", "DELETE, GET, HEAD, OPTIONS, POST"),
            ("GET", "/v1/health/x", "nothing"),
        ] {
            assert_eq!(found(method, path), want, "{method} {path}");
        }
    }
}
