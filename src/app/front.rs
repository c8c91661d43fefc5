//! What the server asks: pages of the web app, or else the API.

use crate::api::service::ApiHandler;
use crate::http::{Handler, Refusal, Reply, Request, Response};
use crate::web::WebHandler;

/// Both.
pub(super) struct Front {
    pub(super) api: ApiHandler,
    pub(super) web: WebHandler,
}

impl Handler for Front {
    fn handle(&self, request: Request) -> Reply {
        if WebHandler::has(&request.path) { self.web.handle(request) } else { self.api.handle(request) }
    }

    fn refuse(&self, refusal: Refusal, request: Option<&Request>) -> Response {
        if request.is_some_and(|request| WebHandler::has(&request.path)) {
            self.web.refuse(refusal, request)
        } else {
            self.api.refuse(refusal, request)
        }
    }
}
