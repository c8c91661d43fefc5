//! The table of all pages.

use std::sync::Arc;

use super::error::WebError;
use super::pages;
use super::pages::run::{
    again, delete, diff, events, export, family, follow, graph, leads, notes, page, stop, thumbnail,
};
use super::pages::{
    account, batches, history, keys, operator, operator_accounts, search, sign_in, watches, webhooks,
};
use super::service::Web;
use super::visit::Visit;
use crate::http::{self, Reply};
use crate::model::quota::Policy;

/// The access rule of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The route is open to everyone, and the session is not read. Used for files.
    File,
    /// The route is open to everyone.
    Anyone,
    /// The route needs a session. Browsers without one are redirected to the sign-in page.
    SignedIn,
    /// The route needs a session of an operator.
    Operator,
}

/// The handler of a route.
pub type Handler = fn(&Arc<Web>, Visit) -> Result<Reply, WebError>;

/// A route. Every method except `GET` changes something, and must come from a page of the app with its token.
pub type Route = http::Route<Endpoint>;

/// The endpoint of a route.
#[derive(Clone, Copy)]
pub struct Endpoint {
    /// The access rule.
    pub access: Access,
    /// The rate limit for which the request counts, shared with the API. Streams have one, and requests that read or
    /// write more than the few rows of a page. (A search is counted when it starts.)
    pub counts: Option<Policy>,
    /// Whether a page's script sends the request by itself. Such requests do not extend the session, so an open page
    /// does not either.
    pub is_unattended: bool,
    /// The handler.
    pub handler: Handler,
}

const fn route(method: &'static str, path: &'static str, access: Access, handler: Handler) -> Route {
    Route { method, path, endpoint: Endpoint { access, counts: None, is_unattended: false, handler } }
}

impl Route {
    const fn counting(mut self, policy: Policy) -> Self {
        self.endpoint.counts = Some(policy);
        self
    }

    const fn unattended(mut self) -> Self {
        self.endpoint.is_unattended = true;
        self
    }
}

/// All routes.
pub static ROUTES: &[Route] = &[
    route("GET", "/app", Access::SignedIn, search::page),
    route("GET", "/app/searches", Access::SignedIn, history::page).counting(Policy::Read),
    route("POST", "/app/searches", Access::SignedIn, search::start),
    route("GET", "/app/searches/{run_id}", Access::SignedIn, page::page),
    route("GET", "/app/searches/{run_id}/events", Access::SignedIn, events::events).counting(Policy::Stream),
    route("GET", "/app/searches/{run_id}/modules", Access::SignedIn, events::modules).counting(Policy::Read),
    route("GET", "/app/searches/{run_id}/export", Access::SignedIn, export::export).counting(Policy::Read),
    route("GET", "/app/searches/{run_id}/graph", Access::SignedIn, graph::page).counting(Policy::Read),
    route("GET", "/app/searches/{run_id}/family", Access::SignedIn, family::family).unattended(),
    route("GET", "/app/searches/{run_id}/leads", Access::SignedIn, leads::leads)
        .counting(Policy::Read)
        .unattended(),
    route("POST", "/app/searches/{run_id}/leads/{lead_id}/follow", Access::SignedIn, follow::follow)
        .counting(Policy::Search),
    route("GET", "/app/searches/{run_id}/thumbnails/{result_id}", Access::SignedIn, thumbnail::thumbnail)
        .unattended(),
    route("GET", "/app/searches/{run_id}/diff/{other}", Access::SignedIn, diff::page).counting(Policy::Read),
    route("POST", "/app/searches/{run_id}/stop", Access::SignedIn, stop::stop).counting(Policy::Read),
    route("POST", "/app/searches/{run_id}/retry", Access::SignedIn, stop::retry).counting(Policy::Search),
    route("POST", "/app/searches/{run_id}/again", Access::SignedIn, again::again),
    route("GET", "/app/searches/{run_id}/compare", Access::SignedIn, diff::compare).counting(Policy::Read),
    route("POST", "/app/searches/{run_id}/notes", Access::SignedIn, notes::note_run).counting(Policy::Read),
    route("GET", "/app/searches/{run_id}/results/{result_id}/annotation", Access::SignedIn, notes::form)
        .counting(Policy::Read),
    route("POST", "/app/searches/{run_id}/results/{result_id}/annotation", Access::SignedIn, notes::annotate)
        .counting(Policy::Read),
    route("GET", "/app/searches/{run_id}/delete", Access::SignedIn, delete::confirm),
    route("POST", "/app/searches/{run_id}/delete", Access::SignedIn, delete::delete),
    route("GET", "/app/batches", Access::SignedIn, batches::list::page).counting(Policy::Read),
    route("POST", "/app/batches", Access::SignedIn, batches::create::create).counting(Policy::Search),
    route("GET", "/app/batches/{batch_id}", Access::SignedIn, batches::page::page).counting(Policy::Read),
    route("GET", "/app/batches/{batch_id}/state", Access::SignedIn, batches::page::state).unattended(),
    route("GET", "/app/batches/{batch_id}/matrix", Access::SignedIn, batches::matrix::page)
        .counting(Policy::Read),
    route("GET", "/app/batches/{batch_id}/export", Access::SignedIn, batches::export::export)
        .counting(Policy::Read),
    route("GET", "/app/batches/{batch_id}/stop", Access::SignedIn, batches::page::confirm_stop),
    route("POST", "/app/batches/{batch_id}/stop", Access::SignedIn, batches::page::stop)
        .counting(Policy::Read),
    route("GET", "/app/sign-in", Access::Anyone, sign_in::page),
    route("POST", "/app/sign-in", Access::Anyone, sign_in::sign_in),
    route("POST", "/app/sign-out", Access::SignedIn, sign_in::sign_out),
    route("GET", "/app/set-up/{token}", Access::Anyone, sign_in::set_up_page),
    route("POST", "/app/set-up/{token}", Access::Anyone, sign_in::set_up),
    route("GET", "/app/keys", Access::SignedIn, keys::page).counting(Policy::Read),
    route("POST", "/app/keys", Access::SignedIn, keys::create).counting(Policy::Read),
    route("GET", "/app/keys/{id}/revoke", Access::SignedIn, keys::confirm_revoke),
    route("POST", "/app/keys/{id}/revoke", Access::SignedIn, keys::revoke).counting(Policy::Read),
    route("GET", "/app/webhooks", Access::SignedIn, webhooks::page).counting(Policy::Read),
    route("POST", "/app/webhooks", Access::SignedIn, webhooks::create).counting(Policy::Read),
    route("GET", "/app/webhooks/{webhook_id}", Access::SignedIn, webhooks::webhook).counting(Policy::Read),
    route("POST", "/app/webhooks/{webhook_id}/test", Access::SignedIn, webhooks::test).counting(Policy::Read),
    route("POST", "/app/webhooks/{webhook_id}/rotate", Access::SignedIn, webhooks::rotate)
        .counting(Policy::Read),
    route("POST", "/app/webhooks/{webhook_id}/enable", Access::SignedIn, webhooks::enable)
        .counting(Policy::Read),
    route("POST", "/app/webhooks/{webhook_id}/disable", Access::SignedIn, webhooks::disable)
        .counting(Policy::Read),
    route("GET", "/app/webhooks/{webhook_id}/delete", Access::SignedIn, webhooks::confirm_delete),
    route("POST", "/app/webhooks/{webhook_id}/delete", Access::SignedIn, webhooks::delete)
        .counting(Policy::Read),
    route(
        "POST",
        "/app/webhooks/{webhook_id}/deliveries/{delivery_id}/replay",
        Access::SignedIn,
        webhooks::replay,
    )
    .counting(Policy::Read),
    route("GET", "/app/watches", Access::SignedIn, watches::list::page).counting(Policy::Read),
    route("POST", "/app/watches", Access::SignedIn, watches::list::create).counting(Policy::Read),
    route("GET", "/app/watches/{watch_id}", Access::SignedIn, watches::page::page).counting(Policy::Read),
    route("POST", "/app/watches/{watch_id}/run", Access::SignedIn, watches::change::run)
        .counting(Policy::Search),
    route("POST", "/app/watches/{watch_id}/pause", Access::SignedIn, watches::change::pause)
        .counting(Policy::Read),
    route("POST", "/app/watches/{watch_id}/resume", Access::SignedIn, watches::change::resume)
        .counting(Policy::Read),
    route("GET", "/app/watches/{watch_id}/delete", Access::SignedIn, watches::change::confirm_delete),
    route("POST", "/app/watches/{watch_id}/delete", Access::SignedIn, watches::change::delete)
        .counting(Policy::Read),
    route("GET", "/app/account", Access::SignedIn, account::page),
    route("POST", "/app/account/password", Access::SignedIn, account::change_password),
    route("POST", "/app/account/sessions/{id}/revoke", Access::SignedIn, account::end_session),
    route("POST", "/app/account/export", Access::SignedIn, account::export).counting(Policy::Read),
    route("POST", "/app/account/delete", Access::SignedIn, account::delete),
    route("GET", "/app/operator", Access::Operator, operator::page),
    route("GET", "/app/operator/load", Access::Operator, operator::load).unattended(),
    route("POST", "/app/operator/health/reset", Access::Operator, operator::reset),
    route("GET", "/app/operator/accounts", Access::Operator, operator_accounts::page),
    route("POST", "/app/operator/accounts", Access::Operator, operator_accounts::create),
    route("POST", "/app/operator/accounts/link", Access::Operator, operator_accounts::link),
    route("POST", "/app/operator/accounts/plan", Access::Operator, operator_accounts::set_plan),
    route("GET", "/app/assets/{file}", Access::File, pages::asset),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_below_app_and_changes_are_posted() {
        for route in ROUTES {
            assert!(route.path == "/app" || route.path.starts_with("/app/"), "{}", route.path);
            assert!(matches!(route.method, "GET" | "POST"), "{} {}", route.method, route.path);
        }
    }
}
