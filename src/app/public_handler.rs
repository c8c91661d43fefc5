//! Dispatches requests of the public listener to the web app or the API.

use crate::api::Api;
use crate::http::{Handler, Refusal, Reply, Request, Response, Router};
use crate::web::{Web, is_app_path};

/// The handler of the public listener.
#[derive(Clone)]
pub(super) struct PublicHandler {
    pub(super) api: Router<Api>,
    pub(super) web: Router<Web>,
}

impl PublicHandler {
    /// Returns whether the web app answers a request: one for its pages, or one of a browser for a page that does not
    /// exist.
    fn is_for_web(&self, request: &Request) -> bool {
        let is_read = matches!(request.method.as_str(), "GET" | "HEAD");
        let is_browser =
            is_read && request.header("accept").is_some_and(|accept| accept.contains("text/html"));
        let is_of_programs = request.path.starts_with("/v1");
        is_app_path(&request.path) || is_browser && !is_of_programs && !self.api.has_path(&request.path)
    }
}

impl Handler for PublicHandler {
    fn handle(&self, request: Request) -> Reply {
        if self.is_for_web(&request) { self.web.handle(request) } else { self.api.handle(request) }
    }

    fn refuse(&self, refusal: Refusal, request: Option<&Request>) -> Response {
        if request.is_some_and(|request| is_app_path(&request.path)) {
            self.web.refuse(refusal, request)
        } else {
            self.api.refuse(refusal, request)
        }
    }
}
