//! A run's deletion: asked once more, then done.

use std::sync::Arc;

use askama::Template;

use super::{find, run_id};
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

/// `GET /app/searches/{run_id}/delete`.
///
/// # Errors
/// 404, 503.
pub(in crate::web) fn confirm(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let summary = match find(web, &visit)? {
        Found::Live(run) => run.summary(),
        Found::Stored(summary) => *summary,
    };
    let run = RunRow::new(&summary, web.parts.clock.now());
    Ok(Reply::Now(render(&Page { frame: visit.frame, run })))
}

/// `POST /app/searches/{run_id}/delete`.
///
/// # Errors
/// 404, 503.
pub(in crate::web) fn delete(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let account = visit.caller()?.account.id;
    if !web.parts.runs.delete(run_id(&visit)?, account, &visit.origin()?)? {
        return Err(WebError::no_such_page());
    }
    Ok(Reply::Now(web.redirect_saying("/app/searches", Notice::SearchDeleted)))
}
