//! The run as a file.

use std::sync::Arc;

use super::find;
use crate::http::{Reply, Response};
use crate::report::Format;
use crate::report::file_name::content_disposition;
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// `GET /app/searches/{run_id}/export?format=…`: what is there, of a running run too; the file's name says so.
///
/// # Errors
/// 400 for an unknown format, 404, 503.
pub(in crate::web) fn export(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let format = Format::from_name(visit.query().get("format"));
    let format =
        format.ok_or_else(|| WebError::invalid("A search can be exported as json, ndjson, csv or html."))?;
    let run = web.parts.runs.record(&find(web, &visit)?)?;
    let mut bytes = Vec::new();
    // Only what cannot be: writing to a Vec doesn't fail, and the record is made of numbers and strings.
    format.write(&mut bytes, &run).map_err(|error| WebError::internal(error.to_string()))?;
    let response = Response::new(200, format.media_type(), bytes)
        .with_header("Content-Disposition", content_disposition(&run.summary, format));
    Ok(Reply::Now(match format.content_security_policy() {
        Some(policy) => response.with_header("Content-Security-Policy", policy),
        None => response,
    }))
}
