//! The handler for reports, which are runs as files.

use std::sync::Arc;

use super::lookup::find;
use crate::http::{Reply, Response};
use crate::report::Format;
use crate::report::file_name::content_disposition;
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// Handles `GET /app/searches/{run_id}/export?format=…`: returns the results found so far. For a run that has not
/// ended, the file name says so.
///
/// # Errors
/// Returns 400 for an unknown format, 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn export(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let format = Format::from_name(visit.query().get("format"));
    let format =
        format.ok_or_else(|| WebError::invalid("A search can be exported as json, ndjson, csv or html."))?;
    let found = find(web, &visit)?;
    let run = match format {
        Format::Html => web.parts.runs.reader.record_with_thumbnails(&found)?,
        Format::Json | Format::Ndjson | Format::Csv => web.parts.runs.reader.record(&found)?,
    };
    let mut bytes = Vec::new();
    // This cannot fail: a Vec accepts all bytes, and the record contains only numbers and strings.
    format.write(&mut bytes, &run).map_err(WebError::internal)?;
    let response = Response::new(200, format.media_type(), bytes)
        .with_header("Content-Disposition", content_disposition(&run.summary, format));
    Ok(Reply::Now(match format.content_security_policy() {
        Some(policy) => response.with_header("Content-Security-Policy", policy),
        None => response,
    }))
}
