//! The handler for reports, which are runs as files.

use std::sync::Arc;

use super::lookup::find;
use crate::http::{Reply, Response};
use crate::report::Format;
use crate::report::file_name::content_disposition;
use crate::runs::record::RunRecord;
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// Handles `GET /app/searches/{run_id}/export?format=…`: returns the results found so far. For a run that has not
/// ended, the file name says so.
///
/// # Errors
/// Returns 400 for an unknown format, 404 for an unknown run, 503 if the store is unavailable, or if a PDF is asked for
/// and no browser prints it.
pub(in crate::web) fn export(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let format = Format::from_name(visit.query().get("format"));
    let format = format.ok_or_else(|| {
        let names = Format::ALL.map(Format::as_str).join(", ");
        WebError::invalid(format!("A search can be exported in these formats: {names}."))
    })?;
    let found = find(web, &visit)?;
    let run = format.read(&web.parts.runs.reader, &found)?;
    if format != Format::Pdf {
        return file(web, &run, format).map(Reply::Now);
    }
    if !web.parts.runs.browsing().can_print() {
        return Err(WebError::cannot_print());
    }
    // A browser takes seconds.
    Ok(web.later(visit, move |web, _| file(web, &run, format).map(Reply::Now)))
}

fn file(web: &Web, run: &RunRecord, format: Format) -> Result<Response, WebError> {
    let mut bytes = Vec::new();
    let runs = &web.parts.runs;
    // A Vec accepts all bytes, and the record contains only numbers and strings, so only printing can fail.
    let written = format.write(&mut bytes, run, &runs.catalog(), |page| runs.browsing().print(page));
    written.map_err(|error| WebError::cannot_print().with_cause(error))?;
    let response = Response::new(200, format.media_type(), bytes)
        .with_header("Content-Disposition", content_disposition(&run.summary, format));
    Ok(match format.content_security_policy() {
        Some(policy) => response.with_header("Content-Security-Policy", policy),
        None => response,
    })
}
