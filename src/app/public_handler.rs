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

impl Handler for PublicHandler {
    fn handle(&self, request: Request) -> Reply {
        if is_app_path(&request.path) { self.web.handle(request) } else { self.api.handle(request) }
    }

    fn refuse(&self, refusal: Refusal, request: Option<&Request>) -> Response {
        if request.is_some_and(|request| is_app_path(&request.path)) {
            self.web.refuse(refusal, request)
        } else {
            self.api.refuse(refusal, request)
        }
    }
}
