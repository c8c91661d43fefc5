//! Pauses, resumes, runs and deletes a watch.

use std::sync::Arc;

use super::page::{address, find, show};
use crate::http::Reply;
use crate::model::watch::{WatchState, WatchUpdate};
use crate::web::error::WebError;
use crate::web::frame::{Confirm, render};
use crate::web::notice::Notice;
use crate::web::pages::search::started;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// Handles `POST /app/watches/{watch_id}/run`: starts a run, and redirects to its page. The last run, if it has not ended,
/// is shown instead.
///
/// # Errors
/// Returns 404 for an unknown watch, 503 if the store is unavailable. The page of the watch shows why else no run starts.
pub(in crate::web) fn run(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (caller, watch) = (visit.caller()?, find(web, &visit)?);
    let run = web.services().run_watch(caller, &watch, visit.origin()?);
    match started(&visit, run)? {
        Ok(id) => Ok(Reply::Now(web.redirect(&format!("/app/searches/{id}")))),
        Err(refusal) => {
            let wait = refusal.retry_after;
            let response = show(web, visit, &watch, Some(refusal))?;
            Ok(Reply::Now(match wait {
                Some(wait) => response.with_header("Retry-After", wait.to_string()),
                None => response,
            }))
        }
    }
}

/// Handles `POST /app/watches/{watch_id}/pause`: starts no further runs.
///
/// # Errors
/// Returns 404 for an unknown watch, 503 if the store is unavailable.
pub(in crate::web) fn pause(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    switch(web, &visit, WatchState::Paused)
}

/// Handles `POST /app/watches/{watch_id}/resume`: starts runs again.
///
/// # Errors
/// Returns 404 for an unknown watch, 503 if the store is unavailable.
pub(in crate::web) fn resume(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    switch(web, &visit, WatchState::Active)
}

fn switch(web: &Web, visit: &Visit, state: WatchState) -> Result<Reply, WebError> {
    let id = visit.id("watch_id")?;
    let update = WatchUpdate { state: Some(state), ..WatchUpdate::default() };
    let (account, now) = (visit.caller()?.account.id, web.parts.clock.now());
    web.parts.store.change_watch(account, id, &update, now, &visit.origin()?)?;
    Ok(Reply::Now(web.redirect(&address(id))))
}

/// Handles `GET /app/watches/{watch_id}/delete`: asks for confirmation.
///
/// # Errors
/// Returns 404 for an unknown watch, 503 if the store is unavailable.
pub(in crate::web) fn confirm_delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let watch = find(web, &visit)?;
    let text = "It starts no further runs, and its changes are deleted. Its runs stay in the history. It cannot be undone.";
    Ok(Reply::Now(render(&Confirm {
        frame: visit.frame,
        question: "Delete this watch?",
        subject: watch.query,
        text: text.to_owned(),
        also: None,
        button: "Delete it",
        back: address(watch.id),
    })))
}

/// Handles `POST /app/watches/{watch_id}/delete`: deletes the watch with its changes.
///
/// # Errors
/// Returns the same errors as [`confirm_delete`].
pub(in crate::web) fn delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (account, now) = (visit.caller()?.account.id, web.parts.clock.now());
    if !web.parts.store.delete_watch(account, visit.id("watch_id")?, now, &visit.origin()?)? {
        return Err(WebError::no_such_page());
    }
    Ok(Reply::Now(web.redirect_with_notice("/app/watches", Notice::WatchDeleted)))
}
