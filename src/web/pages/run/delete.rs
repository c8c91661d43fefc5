//! The deletion of a run, after a confirmation.

use std::sync::Arc;

use askama::Template;

use super::lookup::{find, run_id};
use crate::http::Reply;
use crate::runs::service::Found;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::notice::Notice;
use crate::web::pages::run_row::RunRow;
use crate::web::service::Web;
use crate::web::visit::Visit;

#[derive(Template)]
#[template(path = "delete-run.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    run: RunRow,
}

/// Handles `GET /app/searches/{run_id}/delete`: asks for confirmation.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn confirm(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let summary = match find(web, &visit)? {
        Found::Live(run) => run.summary(),
        Found::Stored(summary) => *summary,
    };
    let run = RunRow::new(&summary, web.parts.clock.now());
    Ok(Reply::Now(render(&Page { frame: visit.frame, run })))
}

/// Handles `POST /app/searches/{run_id}/delete`: deletes the run.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let account = visit.caller()?.account.id;
    if !web.parts.runs.delete(run_id(&visit)?, account, &visit.origin()?)? {
        return Err(WebError::no_such_page());
    }
    Ok(Reply::Now(web.redirect_with_notice("/app/searches", Notice::SearchDeleted)))
}
