//! Reports: a run as a file.

use std::sync::Arc;

use serde::Deserialize;
use utoipa::IntoParams;

use super::context::{Api, Call};
use super::error::ApiError;
use super::request;
use crate::http::{Reply, Response};
use crate::report::Format;
use crate::report::body::ReportBody;
use crate::report::file_name::content_disposition;
use crate::runs::record::RunRecord;

/// The query parameters of an export.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExportParameters {
    /// Format of the file; `json` by default.
    format: Option<Format>,
}

/// Gets a run as a file.
///
/// Contains the results found so far if the run has not ended; `X-Run-Status` and the file name then say so. CSV
/// cells never run as formulas in a spreadsheet. A PDF needs a browser, which takes some seconds. Costs no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/export",
    params(ExportParameters),
    responses((status = 200, description = "The file.",
        content(
            (ReportBody<'_> = "application/json"), (String = "application/x-ndjson"), (String = "text/csv"),
            (String = "text/html"), (String = "text/markdown"), (Vec<u8> = "application/pdf"),
            (String = "application/xml"), (Object = "application/stix+json;version=2.1"),
        ),
        headers(
            ("Content-Disposition" = String), ("X-Run-Id" = String), ("X-Run-Status" = String),
            ("Content-Security-Policy" = String),
        ))))]
pub fn export_search(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let found = api.find(call)?;
    let ExportParameters { format } = request::query(call.request)?;
    let format = format.unwrap_or(Format::Json);
    let run = format.read(&api.runs.reader, &found)?;
    if format != Format::Pdf {
        return file(api, &run, format).map(Reply::Now);
    }
    if !api.runs.browsing().can_print() {
        return Err(ApiError::premium_unavailable());
    }
    let api = Arc::clone(api);
    // A browser takes seconds.
    Ok(call.later(move || file(&api, &run, format).map(Reply::Now)))
}

fn file(api: &Api, run: &RunRecord, format: Format) -> Result<Response, ApiError> {
    let mut bytes = Vec::new();
    // A Vec takes all bytes, and the record contains only numbers and strings, so only printing can fail.
    format
        .write(&mut bytes, run, &api.runs.catalog(), |page| api.runs.browsing().print(page))
        .map_err(|error| ApiError::premium_unavailable().with_cause(error))?;
    let summary = &run.summary;
    let response = Response::new(200, format.media_type(), bytes)
        .with_header("Content-Disposition", content_disposition(summary, format))
        .with_header("X-Run-Id", summary.id.to_string())
        .with_header("X-Run-Status", summary.status.as_str());
    Ok(match format.content_security_policy() {
        Some(policy) => response.with_header("Content-Security-Policy", policy),
        None => response,
    })
}
