//! The deletion of a run, after a confirmation.

use std::sync::Arc;

use askama::Template;

use super::lookup::find;
use crate::http::Reply;
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
    /// The number of searches that its leads and theirs have started.
    family: usize,
}

/// Handles `GET /app/searches/{run_id}/delete`: asks for confirmation.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn confirm(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let summary = find(web, &visit)?.summary();
    let run = RunRow::new(&summary, web.parts.clock.now());
    // Only a root is deleted with its family.
    let family = match summary.family {
        None => web.parts.runs.families.tree(&summary)?.below.len(),
        Some(_) => 0,
    };
    Ok(Reply::Now(render(&Page { frame: visit.frame, run, family })))
}

/// Handles `POST /app/searches/{run_id}/delete`: deletes the run, with its family if `family` is `yes`.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (id, account, by) = (visit.id("run_id")?, visit.caller()?.account.id, visit.origin()?);
    let is_deleted = match visit.form().is_checked("family") {
        true => web.parts.runs.delete_family(id, account, &by)?,
        false => web.parts.runs.delete(id, account, &by)?,
    };
    if !is_deleted {
        return Err(WebError::no_such_page());
    }
    Ok(Reply::Now(web.redirect_with_notice("/app/searches", Notice::SearchDeleted)))
}
