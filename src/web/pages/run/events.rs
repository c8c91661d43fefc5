//! What the page's script reads.

use std::sync::Arc;

use serde::Serialize;

use super::find;
use crate::account::sign_in::SignInError;
use crate::account::sign_in::token::Token;
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::http::{Reply, Response, StreamEnd};
use crate::runs::run::ModuleReport;
use crate::runs::stream::{Leave, Stream, StreamLimits};
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// `GET /app/searches/{run_id}/events?after=N`: the frames of the API's stream, without the results up to `N`, for as
/// long as the session lasts.
///
/// # Errors
/// 400 for a bad `after`, 401, 404, 503.
pub(in crate::web) fn events(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let found = find(web, &visit)?;
    let after = after(&visit)?;
    let limits = StreamLimits { ceiling: web.config.stream_timeout, keep_alive: web.config.keep_alive };
    let leave = leave(web, &visit)?;
    let follower = web.parts.runs.follow(found, after);
    let stream = Stream::new(follower, limits, visit.request_id).as_long_as(leave);
    Ok(Reply::Stream(
        Response::event_stream(),
        Box::new(move |sink| match stream.run(&mut |bytes| sink.send(bytes)) {
            Ok(()) => StreamEnd::Complete,
            Err(_) => StreamEnd::ReaderGone,
        }),
    ))
}

fn after(visit: &Visit) -> Result<u32, WebError> {
    let query = visit.query();
    let text = query.get("after");
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| WebError::invalid("\"after\" is not the number of a result."))
}

/// As long as the session is the same account's.
fn leave(web: &Arc<Web>, visit: &Visit) -> Result<Leave, WebError> {
    let (account, token) = (visit.caller()?.account.id, visit.token.clone());
    let (web, token) = (Arc::clone(web), token.ok_or_else(WebError::not_signed_in)?);
    Ok(Box::new(move || is_open(&web, &token, account)))
}

fn is_open(web: &Web, token: &Token, account: AccountId) -> Result<bool, StorageError> {
    match web.parts.sign_ins.session_unused(token) {
        Ok(found) => Ok(found.is_some_and(|(session, _)| session.account == account)),
        // A run that is live goes on without the store for a while, and so do its readers.
        Err(SignInError::Storage(error)) if error.is_unavailable() => Ok(true),
        Err(SignInError::Storage(error)) => Err(error),
        // Nothing else can fail there.
        Err(_) => Ok(false),
    }
}

/// How the modules ended so far.
#[derive(Debug, Serialize)]
struct Modules {
    modules: Vec<ModuleReport>,
}

/// `GET /app/searches/{run_id}/modules`.
///
/// # Errors
/// 401, 404, 503.
pub(in crate::web) fn modules(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let modules = Modules { modules: web.parts.runs.reports(&find(web, &visit)?)? };
    let body = serde_json::to_vec(&modules).map_err(|error| WebError::internal(error.to_string()))?;
    Ok(Reply::Now(Response::new(200, "application/json", body)))
}
