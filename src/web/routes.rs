//! The table of all pages.

use std::sync::Arc;

use super::error::Answer;
use super::pages::run::{actions, diff, graph, tabs};
use super::pages::{
    account, asset, batches, history, keys, operator, operator_accounts, run, search, sign_in, watches,
    webhooks,
};
use super::service::Web;
use super::visit::Visit;
use crate::http;
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
pub(super) type Handler = fn(&Arc<Web>, Visit) -> Answer;

/// A route. Every method except `GET` changes something, and must come from a page of the app with its token.
pub type Route = http::Route<Endpoint>;

/// The endpoint of a route.
#[derive(Clone, Copy)]
pub struct Endpoint {
    /// The access rule.
    pub access: Access,
    /// The rate limit for which the request counts, shared with the API. Streams have one, and requests that read or
    /// write more than the few rows of a page. (A search of the form is counted when it starts.)
    pub counts: Option<Policy>,
    /// Whether a page's script sends the request without an action of the user. Such requests do not extend the session,
    /// so an open page does not either.
    pub is_unattended: bool,
    /// Whether the handler waits, to hash a password or to read much data, so that it runs on its own thread.
    pub is_slow: bool,
    pub(super) handler: Handler,
}

const fn route(method: &'static str, path: &'static str, handler: Handler) -> Route {
    let endpoint =
        Endpoint { access: Access::SignedIn, counts: None, is_unattended: false, is_slow: false, handler };
    Route { method, path, endpoint }
}

/// A page.
const fn get(path: &'static str, handler: Handler) -> Route {
    route("GET", path, handler)
}

/// A page that reads more than a few rows.
const fn read(path: &'static str, handler: Handler) -> Route {
    get(path, handler).counting(Policy::Read)
}

/// What the script of a page fetches automatically.
const fn part(path: &'static str, handler: Handler) -> Route {
    let mut route = get(path, handler);
    route.endpoint.is_unattended = true;
    route
}

/// A change that does not count.
const fn post(path: &'static str, handler: Handler) -> Route {
    route("POST", path, handler)
}

/// A change.
const fn write(path: &'static str, handler: Handler) -> Route {
    post(path, handler).counting(Policy::Read)
}

/// The start of a search. One of a premium search may wait for a browser.
const fn start(path: &'static str, handler: Handler) -> Route {
    post(path, handler).counting(Policy::Search).slow()
}

impl Route {
    const fn counting(mut self, policy: Policy) -> Self {
        self.endpoint.counts = Some(policy);
        self
    }

    const fn slow(mut self) -> Self {
        self.endpoint.is_slow = true;
        self
    }

    const fn open_to(mut self, access: Access) -> Self {
        self.endpoint.access = access;
        self
    }
}

/// All routes.
pub static ROUTES: &[Route] = &[
    get("/app", search::page),
    read("/app/searches", history::page),
    post("/app/searches", search::start).slow(),
    get("/app/searches/{run_id}", run::page).slow(),
    part("/app/searches/{run_id}/live", run::live),
    read("/app/searches/{run_id}/export", actions::export).slow(),
    read("/app/searches/{run_id}/people", tabs::people),
    read("/app/searches/{run_id}/graph", graph::page),
    read("/app/searches/{run_id}/timeline", tabs::timeline),
    part("/app/searches/{run_id}/thumbnails/{result_id}", actions::thumbnail),
    read("/app/searches/{run_id}/results/{result_id}/evidence", actions::evidence),
    read("/app/searches/{run_id}/diff/{other}", diff::page),
    read("/app/searches/{run_id}/compare", diff::compare),
    start("/app/searches/{run_id}/leads/{lead_id}/follow", actions::follow),
    start("/app/searches/{run_id}/retry", actions::retry),
    post("/app/searches/{run_id}/again", search::again).slow(),
    write("/app/searches/{run_id}/stop", actions::stop),
    write("/app/searches/{run_id}/notes", actions::note_run),
    write("/app/searches/{run_id}/results", actions::judge),
    write("/app/searches/{run_id}/results/{result_id}/note", actions::note_result),
    post("/app/searches/{run_id}/delete", actions::delete),
    read("/app/batches", batches::list),
    start("/app/batches", batches::create),
    read("/app/batches/{batch_id}", batches::page),
    part("/app/batches/{batch_id}/state", batches::page),
    read("/app/batches/{batch_id}/matrix", batches::matrix).slow(),
    read("/app/batches/{batch_id}/export", batches::export),
    write("/app/batches/{batch_id}/stop", batches::stop),
    get("/app/sign-in", sign_in::page).open_to(Access::Anyone),
    post("/app/sign-in", sign_in::sign_in).open_to(Access::Anyone).slow(),
    post("/app/sign-out", sign_in::sign_out),
    get("/app/set-up/{token}", sign_in::set_up_page).open_to(Access::Anyone),
    post("/app/set-up/{token}", sign_in::set_up).open_to(Access::Anyone).slow(),
    read("/app/keys", keys::page),
    write("/app/keys", keys::create),
    write("/app/keys/{id}/revoke", keys::revoke),
    read("/app/webhooks", webhooks::list),
    write("/app/webhooks", webhooks::create),
    read("/app/webhooks/{webhook_id}", webhooks::page),
    write("/app/webhooks/{webhook_id}/test", webhooks::test),
    write("/app/webhooks/{webhook_id}/rotate", webhooks::rotate),
    write("/app/webhooks/{webhook_id}/enable", webhooks::enable),
    write("/app/webhooks/{webhook_id}/disable", webhooks::disable),
    write("/app/webhooks/{webhook_id}/delete", webhooks::delete),
    write("/app/webhooks/{webhook_id}/deliveries/{delivery_id}/replay", webhooks::replay),
    read("/app/watches", watches::list),
    write("/app/watches", watches::create),
    read("/app/watches/{watch_id}", watches::page),
    start("/app/watches/{watch_id}/run", watches::run),
    write("/app/watches/{watch_id}/pause", watches::pause),
    write("/app/watches/{watch_id}/resume", watches::resume),
    write("/app/watches/{watch_id}/delete", watches::delete),
    get("/app/account", account::page),
    post("/app/account/password", account::change_password).slow(),
    post("/app/account/sessions/{id}/revoke", account::end_session),
    write("/app/account/export", account::export),
    post("/app/account/delete", account::delete).slow(),
    get("/app/operator", operator::page).open_to(Access::Operator),
    part("/app/operator/load", operator::load).open_to(Access::Operator),
    post("/app/operator/health/reset", operator::reset).open_to(Access::Operator).slow(),
    get("/app/operator/accounts", operator_accounts::page).open_to(Access::Operator),
    post("/app/operator/accounts", operator_accounts::create).open_to(Access::Operator),
    post("/app/operator/accounts/link", operator_accounts::link).open_to(Access::Operator),
    post("/app/operator/accounts/plan", operator_accounts::set_plan).open_to(Access::Operator),
    get("/app/assets/{file}", asset).open_to(Access::File),
];
