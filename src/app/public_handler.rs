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
    /// Answers a browser outside of the addresses for programs. The web app answers for pages that do not exist.
    fn page(&self, request: Request) -> Reply {
        if !self.api.has_path(&request.path) {
            return self.web.handle(request);
        }
        match self.api.handle(request.clone()) {
            // A page of the manual, for example.
            Reply::Now(answer) if answer.status == 404 => self.web.handle(request),
            reply => reply,
        }
    }
}

/// Returns whether a browser asks for a page outside of the addresses for programs.
fn is_for_people(request: &Request) -> bool {
    let is_read = matches!(request.method.as_str(), "GET" | "HEAD");
    let is_of_programs = request.path == "/v1" || request.path.starts_with("/v1/");
    is_read && !is_of_programs && request.header("accept").is_some_and(|accept| accept.contains("text/html"))
}

impl Handler for PublicHandler {
    fn handle(&self, request: Request) -> Reply {
        if is_app_path(&request.path) {
            self.web.handle(request)
        } else if is_for_people(&request) {
            self.page(request)
        } else {
            self.api.handle(request)
        }
    }

    fn refuse(&self, refusal: Refusal, request: Option<&Request>) -> Response {
        if request.is_some_and(|request| is_app_path(&request.path)) {
            self.web.refuse(refusal, request)
        } else {
            self.api.refuse(refusal, request)
        }
    }
}
