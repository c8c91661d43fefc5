//! The data for the page's script: events and modules.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::lookup::find;
use crate::account::sign_in::SignInError;
use crate::account::sign_in::token::Token;
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::http::{Reply, Response};
use crate::model::run::ModuleReport;
use crate::runs::stream::{Permission, Stream, StreamLimits};
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The interval at which the session of an open stream is checked.
const SESSION_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Handles `GET /app/searches/{run_id}/events?after=N`: sends the events of the API's stream, without the results up
/// to `N`, as long as the session lasts.
///
/// # Errors
/// Returns 400 for an invalid `after`, 401 without a session, 404 for an unknown run, 503 if the store is
/// unavailable.
pub(in crate::web) fn events(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let found = find(web, &visit)?;
    let after = after(&visit)?;
    let limits = StreamLimits { ceiling: web.config.stream_timeout, keep_alive: web.config.keep_alive };
    let permission = permission(web, &visit)?;
    let follower = web.parts.runs.reader.follow(found, after);
    let stream = Stream::new(follower, limits, visit.request_id).with_permission(permission);
    Ok(Reply::Stream(Response::event_stream(), Box::new(move |out| stream.run(out).is_ok())))
}

fn after(visit: &Visit) -> Result<u32, WebError> {
    let query = visit.query();
    let text = query.get("after");
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| WebError::invalid("invalid \"after\": expected the number of a result"))
}

/// Returns a permission that lasts as long as the session belongs to the same account.
fn permission(web: &Arc<Web>, visit: &Visit) -> Result<Permission, WebError> {
    let (account, token) = (visit.caller()?.account.id, visit.token.clone());
    let (web, token) = (Arc::clone(web), token.ok_or_else(WebError::not_signed_in)?);
    Ok(Permission {
        holds: Box::new(move || is_open(&web, &token, account)),
        every: SESSION_CHECK_INTERVAL,
        error: "unauthorized",
        message: "the session has ended",
    })
}

fn is_open(web: &Web, token: &Token, account: AccountId) -> Result<bool, StorageError> {
    match web.parts.sign_ins.peek_session(token) {
        Ok(found) => Ok(found.is_some_and(|(session, _)| session.account == account)),
        // A live run continues for a while without the store, so its readers do too.
        Err(SignInError::Storage(error)) if error.is_unavailable() => Ok(true),
        Err(SignInError::Storage(error)) => Err(error),
        // No other error can occur at this point.
        Err(_) => Ok(false),
    }
}

/// The outcomes of the modules so far.
#[derive(Debug, Serialize)]
struct Modules {
    modules: Vec<ModuleReport>,
}

/// Handles `GET /app/searches/{run_id}/modules`: returns the outcomes of the modules as JSON.
///
/// # Errors
/// Returns 401 without a session, 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn modules(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let modules = Modules { modules: web.parts.runs.reader.reports(&find(web, &visit)?)? };
    let body = serde_json::to_vec(&modules).map_err(WebError::internal)?;
    Ok(Reply::Now(Response::new(200, "application/json", body)))
}
