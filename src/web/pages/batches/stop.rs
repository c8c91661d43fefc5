//! Stops a batch, after a confirmation.

use std::sync::Arc;

use askama::Template;

use super::list::shown_name;
use super::lookup::find;
use crate::base::ids::BatchId;
use crate::http::Reply;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::service::Web;
use crate::web::visit::Visit;

#[derive(Template)]
#[template(path = "batch-stop.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    id: BatchId,
    name: String,
    pending: u32,
}

/// Handles `GET /app/batches/{batch_id}/stop`: asks for confirmation.
///
/// # Errors
/// Returns 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn confirm(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let batch = find(web, &visit)?;
    let (name, pending) = (shown_name(&batch), batch.counts.pending);
    Ok(Reply::Now(render(&Page { frame: visit.frame, id: batch.id, name, pending })))
}

/// Handles `POST /app/batches/{batch_id}/stop`: stops the batch and redirects to its page.
///
/// # Errors
/// Returns the same errors as [`confirm`].
pub(in crate::web) fn stop(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let id = visit.id("batch_id")?;
    if !web.parts.batches.stop(visit.caller()?.account.id, id, &visit.origin()?)? {
        return Err(WebError::no_such_page());
    }
    Ok(Reply::Now(web.redirect(&format!("/app/batches/{id}"))))
}
