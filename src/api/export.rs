//! A run as a file.

use std::sync::Arc;

use super::decode;
use super::error::ApiError;
use super::searches::find;
use super::service::{Api, Call};
use crate::http::{Reply, Response};
use crate::report::Format;
use crate::report::file_name::content_disposition;
use crate::runs::record::RunRecord;

/// `GET /v1/searches/{run_id}/export`: what is there, of a running run too; `X-Run-Status`, the file's name and
/// the file itself (where its form has a place for it) say how the run stands.
///
/// # Errors
/// 400 for a missing or unknown format, 404, 503.
pub fn export(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let names = Format::ALL.map(Format::as_str);
    let format = decode::choice_parameter(call.request, "format", Format::from_name, &names)?
        .ok_or_else(|| ApiError::invalid_request("format", "format is missing", &names[..]))?;
    let found = find(api, call)?;
    file(&api.runs.record(&found)?, format).map(Reply::Now)
}

fn file(run: &RunRecord, format: Format) -> Result<Response, ApiError> {
    let mut bytes = Vec::new();
    // Only what cannot be: writing to a Vec doesn't fail, and the record is made of numbers and strings.
    format.write(&mut bytes, run).map_err(|error| ApiError::internal().because(error))?;
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
