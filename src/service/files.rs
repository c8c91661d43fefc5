//! Runs, batches and pictures as files.

use std::sync::Arc;

use super::Services;
use crate::base::ids::RequestId;
use crate::http::{Reply, Request, Response, StaticFile};
use crate::model::batch::Batch;
use crate::model::refusal::Refusal;
use crate::model::run::RunSummary;
use crate::report::Format;
use crate::report::batch::{file_name, write_batch};
use crate::report::file_name::content_disposition;

impl Services {
    /// Returns the results that a run has found so far as a file. Printing a PDF takes some seconds.
    ///
    /// # Errors
    /// Returns a failure of the store, and the refusal of a PDF if no browser prints it.
    pub fn run_file(&self, run: RunSummary, format: Format) -> Result<Response, Refusal> {
        let (runs, mut bytes) = (&self.runs, Vec::new());
        let run = format.read(runs, run)?;
        // A Vec takes all bytes, and the record contains only numbers and strings, so only printing can fail.
        format
            .write(&mut bytes, &run, &runs.catalog(), |page| runs.print(page))
            .map_err(|error| Refusal::premium_unavailable().with_cause(error))?;
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

    /// Returns the results that the searches of a batch have found so far as a file. If the export fails before its end, the
    /// connection is closed, so that an incomplete file never looks complete.
    pub fn batch_file(&self, batch: Batch, format: Format, request_id: &RequestId) -> Reply {
        let name = file_name(&batch, "batch", format.as_str());
        let head = Response::empty(200)
            .with_header("Content-Type", format.media_type())
            .with_header("Content-Disposition", format!("attachment; filename=\"{name}\""));
        let (services, request_id) = (self.clone(), request_id.clone());
        Reply::file(head, move |out| {
            let written = write_batch(&services.store, &services.runs, &batch, format, out);
            written.inspect_err(|error| error.log("a batch", &request_id)).is_ok()
        })
    }

    /// Returns the picture of a result.
    ///
    /// # Errors
    /// Returns the refusal of a result without one.
    pub fn thumbnail(&self, run: &RunSummary, result: u32, request: &Request) -> Result<Response, Refusal> {
        let png = self.store.thumbnail(run.id, result)?;
        let png = png.ok_or_else(|| Refusal::no_such("picture: this result has none"))?;
        Ok(Response::of_file(&Arc::new(StaticFile::plain("image/png", png)), request)
            .with_header("Cache-Control", "private, max-age=86400, immutable")
            .with_header("Content-Security-Policy", "default-src 'none'"))
    }
}
