//! The one table of all pages.

use std::sync::Arc;

use super::assets;
use super::error::WebError;
use super::pages::run::{delete, events, export, page};
use super::pages::{account, data, history, keys, operator, search, security, set_up, sign_in};
use super::service::Web;
use super::visit::Visit;
use crate::account::rate_limit::Policy;
use crate::http::{Reply, fit};

/// Who may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone, and it is not looked up who it is: files.
    File,
    /// Anyone.
    Anyone,
    /// Whoever is signed in; others are sent to the sign-in page.
    SignedIn,
    /// Whoever is signed in and has the role.
    Operator,
}

/// Works a visit out.
pub type Handler = fn(&Arc<Web>, Visit) -> Result<Reply, WebError>;

/// One route. What is no `GET` changes something, and must come from a page of ours with its token.
pub struct Route {
    /// Upper-case method. `GET` answers `HEAD` too.
    pub method: &'static str,
    /// Segments; at most one, like `{run_id}`, stands for any.
    pub path: &'static str,
    /// Who may.
    pub access: Access,
    /// What it counts as for the account's rate limits, which the API shares: what occupies a stream's place, and
    /// what reads or writes more than a page's few rows. (A search counts where it is ordered.)
    pub counts: Option<Policy>,
    /// What a page asks for by itself, which is no use of the session: a page that is left open must not keep it alive.
    pub is_unattended: bool,
    /// Works it out.
    pub handler: Handler,
}

const fn route(method: &'static str, path: &'static str, access: Access, handler: Handler) -> Route {
    Route { method, path, access, counts: None, is_unattended: false, handler }
}

impl Route {
    const fn counting(self, policy: Policy) -> Self {
        Self { counts: Some(policy), ..self }
    }

    const fn unattended(self) -> Self {
        Self { is_unattended: true, ..self }
    }
}

/// Every route there is. A static: a row is known by its place in memory.
pub static ROUTES: &[Route] = &[
    route("GET", "/app", Access::SignedIn, search::page),
    route("GET", "/app/searches", Access::SignedIn, history::page).counting(Policy::Read),
    route("POST", "/app/searches", Access::SignedIn, search::start),
    route("GET", "/app/searches/{run_id}", Access::SignedIn, page::page),
    route("GET", "/app/searches/{run_id}/events", Access::SignedIn, events::events).counting(Policy::Stream),
    route("GET", "/app/searches/{run_id}/modules", Access::SignedIn, events::modules).counting(Policy::Read),
    route("GET", "/app/searches/{run_id}/export", Access::SignedIn, export::export).counting(Policy::Read),
    route("GET", "/app/searches/{run_id}/delete", Access::SignedIn, delete::confirm),
    route("POST", "/app/searches/{run_id}/delete", Access::SignedIn, delete::delete),
    route("GET", "/app/sign-in", Access::Anyone, sign_in::page),
    route("POST", "/app/sign-in", Access::Anyone, sign_in::sign_in),
    route("POST", "/app/sign-out", Access::SignedIn, sign_in::sign_out),
    route("GET", "/app/set-up/{token}", Access::Anyone, set_up::page),
    route("POST", "/app/set-up/{token}", Access::Anyone, set_up::set_up),
    route("GET", "/app/keys", Access::SignedIn, keys::page).counting(Policy::Read),
    route("POST", "/app/keys", Access::SignedIn, keys::create).counting(Policy::Read),
    route("GET", "/app/keys/{id}/revoke", Access::SignedIn, keys::confirm_revoke),
    route("POST", "/app/keys/{id}/revoke", Access::SignedIn, keys::revoke).counting(Policy::Read),
    route("GET", "/app/account", Access::SignedIn, account::page),
    route("POST", "/app/account/password", Access::SignedIn, security::change_password),
    route("POST", "/app/account/sessions/{id}/revoke", Access::SignedIn, security::end_session),
    route("POST", "/app/account/export", Access::SignedIn, data::export).counting(Policy::Read),
    route("POST", "/app/account/delete", Access::SignedIn, data::delete),
    route("GET", "/app/operator", Access::Operator, operator::service),
    route("GET", "/app/operator/load", Access::Operator, operator::load).unattended(),
    route("GET", "/app/operator/accounts", Access::Operator, operator::accounts),
    route("GET", "/app/assets/{file}", Access::File, assets::asset),
];

/// What the table says of a method and a path.
pub(super) enum Match<'a> {
    /// This route, with the segment that stands in the path for `{…}`, as it was sent.
    Route(&'static Route, Option<&'a str>),
    /// The path exists with these methods alone (the value of `Allow`).
    OtherMethods(String),
    /// There is no such path.
    Nothing,
}

/// Looks a request up. One trailing slash is forgiven.
pub(super) fn find<'a>(method: &str, path: &'a str) -> Match<'a> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut methods = vec!["OPTIONS"];
    for route in ROUTES {
        let Some(segment) = fit(route.path, path) else { continue };
        if route.method == method || (route.method == "GET" && method == "HEAD") {
            return Match::Route(route, segment);
        }
        methods.extend(if route.method == "GET" { vec!["GET", "HEAD"] } else { vec![route.method] });
    }
    if methods.len() == 1 { Match::Nothing } else { Match::OtherMethods(methods.join(", ")) }
}

/// The place of a request's route in the table.
pub(super) fn place_of(method: &str, path: &str) -> Option<usize> {
    let Match::Route(route, _) = find(method, path) else { return None };
    ROUTES.iter().position(|known| std::ptr::eq(known, route))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: &str, path: &str) -> String {
        match find(method, path) {
            Match::Route(route, segment) => format!("{} {segment:?}", route.path),
            Match::OtherMethods(allow) => allow,
            Match::Nothing => "nothing".into(),
        }
    }

    #[test]
    fn paths_are_looked_up_with_their_methods() {
        assert_eq!(found("GET", "/app"), "/app None");
        assert_eq!(found("GET", "/app/"), "/app None");
        assert_eq!(found("HEAD", "/app/set-up/abc"), "/app/set-up/{token} Some(\"abc\")");
        assert_eq!(found("DELETE", "/app/sign-in"), "OPTIONS, GET, HEAD, POST");
        assert_eq!(found("GET", "/app/sign-out"), "OPTIONS, POST");
        assert_eq!(found("GET", "/app/nothing/here"), "nothing");
    }

    #[test]
    fn every_route_is_below_app_and_changes_are_posted() {
        for route in ROUTES {
            assert!(route.path == "/app" || route.path.starts_with("/app/"), "{}", route.path);
            assert!(matches!(route.method, "GET" | "POST"), "{} {}", route.method, route.path);
        }
    }
}
