//! The table of all pages.

use std::sync::Arc;

use super::error::WebError;
use super::pages;
use super::pages::run::{actions, diff, family, graph, page as run};
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

/// A page for everyone who is signed in.
const fn page(path: &'static str, handler: Handler) -> Route {
    route("GET", path, Access::SignedIn, handler)
}

/// A page that reads more than a few rows.
const fn read(path: &'static str, handler: Handler) -> Route {
    page(path, handler).counting(Policy::Read)
}

/// A change.
const fn write(path: &'static str, handler: Handler) -> Route {
    route("POST", path, Access::SignedIn, handler).counting(Policy::Read)
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
    page("/app", search::page),
    read("/app/searches", history::page),
    route("POST", "/app/searches", Access::SignedIn, search::start),
    page("/app/searches/{run_id}", run::page),
    route("GET", "/app/searches/{run_id}/live", Access::SignedIn, run::live).unattended(),
    read("/app/searches/{run_id}/export", actions::export),
    read("/app/searches/{run_id}/graph", graph::page),
    route("GET", "/app/searches/{run_id}/family", Access::SignedIn, family::family).unattended(),
    route("POST", "/app/searches/{run_id}/leads/{lead_id}/follow", Access::SignedIn, actions::follow)
        .counting(Policy::Search),
    route("GET", "/app/searches/{run_id}/thumbnails/{result_id}", Access::SignedIn, actions::thumbnail)
        .unattended(),
    read("/app/searches/{run_id}/diff/{other}", diff::page),
    write("/app/searches/{run_id}/stop", actions::stop),
    route("POST", "/app/searches/{run_id}/retry", Access::SignedIn, actions::retry).counting(Policy::Search),
    route("POST", "/app/searches/{run_id}/again", Access::SignedIn, actions::again),
    read("/app/searches/{run_id}/compare", diff::compare),
    write("/app/searches/{run_id}/notes", actions::note_run),
    route(
        "GET",
        "/app/searches/{run_id}/results/{result_id}/annotation",
        Access::SignedIn,
        actions::annotation,
    )
    .counting(Policy::Read),
    route(
        "POST",
        "/app/searches/{run_id}/results/{result_id}/annotation",
        Access::SignedIn,
        actions::annotate,
    )
    .counting(Policy::Read),
    page("/app/searches/{run_id}/delete", actions::confirm_delete),
    route("POST", "/app/searches/{run_id}/delete", Access::SignedIn, actions::delete),
    read("/app/batches", batches::list::page),
    route("POST", "/app/batches", Access::SignedIn, batches::create::create).counting(Policy::Search),
    read("/app/batches/{batch_id}", batches::page::page),
    route("GET", "/app/batches/{batch_id}/state", Access::SignedIn, batches::page::state).unattended(),
    read("/app/batches/{batch_id}/matrix", batches::matrix::page),
    read("/app/batches/{batch_id}/export", batches::export::export),
    page("/app/batches/{batch_id}/stop", batches::page::confirm_stop),
    write("/app/batches/{batch_id}/stop", batches::page::stop),
    route("GET", "/app/sign-in", Access::Anyone, sign_in::page),
    route("POST", "/app/sign-in", Access::Anyone, sign_in::sign_in),
    route("POST", "/app/sign-out", Access::SignedIn, sign_in::sign_out),
    route("GET", "/app/set-up/{token}", Access::Anyone, sign_in::set_up_page),
    route("POST", "/app/set-up/{token}", Access::Anyone, sign_in::set_up),
    read("/app/keys", keys::page),
    write("/app/keys", keys::create),
    page("/app/keys/{id}/revoke", keys::confirm_revoke),
    write("/app/keys/{id}/revoke", keys::revoke),
    read("/app/webhooks", webhooks::page),
    write("/app/webhooks", webhooks::create),
    read("/app/webhooks/{webhook_id}", webhooks::webhook),
    write("/app/webhooks/{webhook_id}/test", webhooks::test),
    write("/app/webhooks/{webhook_id}/rotate", webhooks::rotate),
    write("/app/webhooks/{webhook_id}/enable", webhooks::enable),
    write("/app/webhooks/{webhook_id}/disable", webhooks::disable),
    page("/app/webhooks/{webhook_id}/delete", webhooks::confirm_delete),
    write("/app/webhooks/{webhook_id}/delete", webhooks::delete),
    write("/app/webhooks/{webhook_id}/deliveries/{delivery_id}/replay", webhooks::replay),
    read("/app/watches", watches::list::page),
    write("/app/watches", watches::list::create),
    read("/app/watches/{watch_id}", watches::page::page),
    route("POST", "/app/watches/{watch_id}/run", Access::SignedIn, watches::change::run)
        .counting(Policy::Search),
    write("/app/watches/{watch_id}/pause", watches::change::pause),
    write("/app/watches/{watch_id}/resume", watches::change::resume),
    page("/app/watches/{watch_id}/delete", watches::change::confirm_delete),
    write("/app/watches/{watch_id}/delete", watches::change::delete),
    page("/app/account", account::page),
    route("POST", "/app/account/password", Access::SignedIn, account::change_password),
    route("POST", "/app/account/sessions/{id}/revoke", Access::SignedIn, account::end_session),
    write("/app/account/export", account::export),
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
