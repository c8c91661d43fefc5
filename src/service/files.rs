//! Runs, batches and pictures as files, with their names, such as `sightline-username-octocat-0123456789ab.csv`. The name marks
//! an incomplete or simulated run, since a list of results cannot: `…-running.csv`, `…-failed.csv`, `…-simulated.csv`.

use std::io::Write;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Services;
use crate::base::clock::rfc3339_millis;
use crate::base::encoding::gunzip;
use crate::base::ids::RequestId;
use crate::http::{Reply, Request, Response, StaticFile};
use crate::model::batch::{Batch, MAX_SEARCHES};
use crate::model::entity::merge;
use crate::model::refusal::Refusal;
use crate::model::run::{RunSummary, Status};
use crate::report::Format;
use crate::report::account::log_failure;
use crate::report::batch::write_batch;
use crate::runs::graph::Graph;
use crate::runs::record::RunRecord;

/// The maximum number of characters of the query in the name. File names have at most 255 bytes, and a character has
/// up to four.
const MAX_QUERY: usize = 40;
/// The characters that are percent-encoded in a header.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-').remove(b'+');

impl Services {
    /// Returns the results that a run has found so far as a file. Printing a PDF takes some seconds.
    ///
    /// # Errors
    /// Returns a failure of the store, and the refusal of a PDF if no browser prints it.
    pub fn run_file(&self, run: RunSummary, format: Format) -> Result<Response, Refusal> {
        let (runs, mut bytes) = (&self.runs, format.mark().to_vec());
        // The page has the hash of the JSON report.
        let follow = runs.follow_state(&run)?;
        let run = match format {
            Format::Html | Format::Pdf => runs.record_with_thumbnails(run),
            _ => runs.record(run),
        }?;
        let run = RunRecord { follow, ..run };
        // A Vec takes all bytes, and the record contains only numbers and strings, so only printing can fail.
        format
            .write(&mut bytes, &run, &runs.catalog(), |page| runs.print(page))
            .map_err(|error| Refusal::premium_unavailable().with_cause(error))?;
        let summary = &run.summary;
        let response = Response::new(200, format.media_type(), bytes)
            .with_header("Content-Disposition", disposition_of_run(summary, format))
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
        let head = Response::empty(200)
            .with_header("Content-Type", format.media_type())
            .with_header("Content-Disposition", disposition_of_batch(&batch, "batch", format));
        let (services, request_id) = (self.clone(), request_id.clone());
        let write = move |out: &mut dyn Write| {
            let written = out.write_all(format.mark());
            let written =
                written.and_then(|()| write_batch(&services.store, &services.runs, &batch, format, out));
            written.inspect_err(|error| log_failure(error, "a batch", &request_id)).is_ok()
        };
        Reply::Stream(head, Box::new(write))
    }

    /// Returns the outcomes of a batch as CSV.
    ///
    /// # Errors
    /// Returns a failure of the store.
    pub fn matrix_file(&self, batch: &Batch) -> Result<Response, Refusal> {
        let mut bytes = Format::Csv.mark().to_vec();
        // Cannot happen: a Vec takes all bytes.
        self.runs.matrix(batch.id, 0, MAX_SEARCHES)?.write_csv(&mut bytes).map_err(Refusal::internal)?;
        let response = Response::new(200, Format::Csv.media_type(), bytes);
        Ok(response.with_header("Content-Disposition", disposition_of_batch(batch, "matrix", Format::Csv)))
    }

    /// Returns the graph of a run, and of the runs below it if `family` is true, as a file in one of [`Format::OF_GRAPHS`].
    ///
    /// # Errors
    /// Returns a failure of the store.
    pub fn graph_file(&self, run: RunSummary, family: bool, format: Format) -> Result<Response, Refusal> {
        let (id, status, mut bytes) = (run.id, run.status, Vec::new());
        let graph = self.of_family(self.runs.record(run)?, family, Graph::of)?;
        // Cannot happen: a Vec takes all bytes, and the graph contains only numbers and strings.
        format.write_graph(&mut bytes, &graph, None).map_err(Refusal::internal)?;
        Ok(Response::new(200, format.media_type(), bytes)
            .with_header("X-Run-Id", id.to_string())
            .with_header("X-Run-Status", status.as_str()))
    }

    /// Returns what was kept as evidence for a result: the answer of a module, a screenshot, or the first one. It is no page:
    /// whoever opens it runs nothing of the site.
    ///
    /// # Errors
    /// Returns the refusal of a result without one.
    pub fn evidence(&self, run: &RunSummary, result: u32, module: Option<&str>) -> Result<Response, Refusal> {
        let mut record = [self.result(run.id, result)?];
        self.store.notes(run.id)?.annotate(&mut record);
        let mut kept = merge::evidence(&record[0]).into_iter();
        let none =
            || Refusal::no_such("evidence: the search has kept no answer of this module for this result");
        let kept = kept.find(|(by, _)| module.is_none_or(|module| module == by));
        let (module, answer) = kept.ok_or_else(none)?;
        let body = self.store.evidence(run.id, &answer.sha256)?.ok_or_else(none)?;
        let body = gunzip(&body).map_err(Refusal::internal)?;
        let extension = if module == merge::SCREENSHOT { "jpg" } else { "txt" };
        let (what, id) = (format!("evidence-{module}"), &answer.sha256[..12]);
        let disposition = disposition(&what, id, "", run.simulated, extension);
        let response = Response::new(200, "application/octet-stream", body)
            .with_header("Content-Disposition", disposition)
            .with_header("X-Evidence-Time", rfc3339_millis(answer.at))
            .with_header("X-Evidence-SHA256", answer.sha256);
        Ok(match answer.address {
            Some(address) => response.with_header("X-Evidence-Address", address),
            None => response,
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

/// Returns the `Content-Disposition` of a file about a run. For any query its name contains only letters, digits, `.`, `_`, `-`
/// and `+`.
fn disposition_of_run(run: &RunSummary, format: Format) -> String {
    let query: String = run.query.trim().chars().map(sanitize).take(MAX_QUERY).collect();
    let state = if run.status == Status::Completed { "" } else { run.status.as_str() };
    let what = format!("{}-{query}", run.search_type);
    disposition(&what, &run.id.to_string(), state, run.simulated, format.as_str())
}

/// Returns the `Content-Disposition` of a file about the thing with this id (RFC 6266): the name in ASCII, and in UTF-8 for
/// clients that support RFC 8187. `state` is empty if the thing is complete.
fn disposition(what: &str, id: &str, state: &str, is_simulated: bool, extension: &str) -> String {
    // The end of a version 7 UUID is random. Its beginning is the time, which is equal for runs of one minute.
    let id = id.rsplit('-').next().unwrap_or_default();
    let dash = if state.is_empty() { "" } else { "-" };
    let web = if is_simulated { "-simulated" } else { "" };
    let name = format!("sightline-{what}-{id}{dash}{state}{web}.{extension}");
    let ascii: String = name.chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
    if ascii == name {
        return format!("attachment; filename=\"{ascii}\"");
    }
    let encoded = utf8_percent_encode(&name, ENCODED);
    format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")
}

/// Replaces a character that has a meaning in a shell, a path or a header.
fn sanitize(c: char) -> char {
    if c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+') { c } else { '_' }
}

/// Returns the `Content-Disposition` of a file about a batch, whose name is such as `sightline-batch-0123456789ab.csv`. The name
/// marks a batch whose searches have not all ended, and a simulated one.
fn disposition_of_batch(batch: &Batch, what: &str, format: Format) -> String {
    let state = if batch.ended_at.is_none() { "running" } else { "" };
    disposition(what, &batch.id.to_string(), state, batch.simulated, format.as_str())
}
