//! The results of a batch as a file.

use std::sync::Arc;

use super::page::find;
use crate::http::{Reply, Response};
use crate::report::Format;
use crate::report::batch::{file_name, write_batch};
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// Handles `GET /app/batches/{batch_id}/export?format=…`: sends the results found so far. If the export fails before
/// its end, the connection is closed, so that an incomplete file never looks complete.
///
/// # Errors
/// Returns 400 for an unknown format, 404 for an unknown batch, 503 if the store is unavailable.
pub(in crate::web) fn export(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let format = Format::among(Format::OF_BATCHES, visit.query().get("format"));
    let format =
        format.ok_or_else(|| WebError::invalid("A batch can be exported as json, ndjson or csv."))?;
    let batch = find(web, &visit)?;
    let name = file_name(&batch, "batch", format.as_str());
    let head = Response::empty(200)
        .with_header("Content-Type", format.media_type())
        .with_header("Content-Disposition", format!("attachment; filename=\"{name}\""));
    let web = Arc::clone(web);
    Ok(Reply::file(head, move |out| {
        let written = write_batch(&web.parts.store, &web.parts.runs, &batch, format, out);
        written.inspect_err(|error| error.log("a batch", &visit.request_id)).is_ok()
    }))
}
