//! Reading runs: one run, its modules, and the list of runs.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::cache::Snapshot;
use super::context::{Api, Call, json_response, ok_json};
use super::decode::IfNoneMatch;
use super::error::ApiError;
use super::{notes, pages, request};
use crate::base::ids::{AccountId, RunId};
use crate::http::{Reply, Response};
use crate::model::page::{Cursor, ListFilter, Page};
use crate::model::run::{ModuleReport, ResultRecord, RunSummary, Status, count};
use crate::modules::query::SearchType;
use crate::report::body::{RunBody, RunHead};
use crate::runs::live::LiveRun;
use crate::runs::service::Found;

/// Reads a run and its results.
///
/// While the run has not ended, the answer contains the results found so far. Poll every 2 to 5 seconds, with
/// `If-None-Match` or, after the run has ended, `If-Modified-Since`. Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/searches/{run_id}",
    operation_id = "getSearch",
    tag = "Searches",
    params(
        IfNoneMatch,
        ("If-Modified-Since" = Option<String>, Header, nullable = false, example = "Wed, 06 May 2026 07:09:21 GMT",
            description = "The `Last-Modified` of an answer that the caller has. If the run has not changed since, \
                the answer is 304 without a body. Ignored beside `If-None-Match` (RFC 9110)."),
    ),
    responses(
        (status = 200, description = "The run.", body = RunBody<'_>,
            headers(("ETag" = String), ("Last-Modified" = String))),
        (status = 304, description = "The run has not changed since the caller's copy.",
            headers(("ETag" = String), ("Last-Modified" = String))),
    )
)]
pub fn run(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let snapshot = snapshot(api, call)?;
    // A 304 gets the body too: the server derives the headers of the 200 response from it and leaves the body
    // out.
    let is_current = call.request.has_current_copy(&snapshot.etag, snapshot.last_modified.as_deref());
    let status = if is_current { 304 } else { 200 };
    let mut response = Response::new(status, "application/json", snapshot.body)
        .with_compressed(snapshot.compressed)
        .with_header("ETag", snapshot.etag)
        .with_header("Cache-Control", "private, no-cache");
    if let Some(moment) = snapshot.last_modified {
        response = response.with_header("Last-Modified", moment);
    }
    Ok(Reply::Now(response))
}

fn snapshot(api: &Api, call: &Call<'_>) -> Result<Snapshot, ApiError> {
    let account = call.caller()?.account.id;
    let id = call.id("run")?;
    if api.runs.reader.live(id).is_none()
        && let Some(snapshot) = api.snapshots.stored(id).filter(|snapshot| snapshot.account == account)
    {
        return Ok(snapshot);
    }
    let found = api.find(call)?;
    if found.is_following_root() {
        return snapshot_of_root(api, account, &found);
    }
    match found {
        Found::Live(run) => snapshot_of_live(api, &run),
        Found::Stored(summary) => {
            let mut results = api.runs.reader.stored_results(id)?;
            // A run on another instance may have found more results between the two reads.
            let mut summary = summary;
            summary.total_results = count(results.len());
            let notes = api.runs.reader.notes(&Found::Stored(summary.clone()))?;
            notes.annotate(&mut results);
            // Notes may change after the end of the run.
            let last_modified = last_modified(&summary).filter(|_| notes.is_empty());
            summary.notes = notes.run;
            let body = body_of(&summary, results.iter().collect());
            let snapshot = Snapshot::stored(account, body, last_modified);
            if summary.status.is_terminal() {
                api.snapshots.keep(id, &snapshot);
            }
            Ok(snapshot)
        }
    }
}

/// Returns the snapshot of a run that follows leads. It is not kept, because it changes with the runs of its family.
fn snapshot_of_root(api: &Api, account: AccountId, found: &Found) -> Result<Snapshot, ApiError> {
    let record = api.runs.reader.record_with_follow(found)?;
    let body = json_response(200, &RunBody::from(&record)).body.to_vec();
    Ok(Snapshot::stored(account, body, None))
}

fn snapshot_of_live(api: &Api, run: &Arc<LiveRun>) -> Result<Snapshot, ApiError> {
    if let Some(snapshot) = api.snapshots.at_version(run.id(), run.version()) {
        return Ok(snapshot);
    }
    let (summary, results, version) = run.snapshot();
    // The notes are read after the version, which changes with them.
    let notes = api.runs.reader.notes(&Found::Live(Arc::clone(run)))?;
    let last_modified = last_modified(&summary).filter(|_| notes.is_empty());
    let body = match notes.is_empty() {
        true => body_of(&summary, results.iter().map(|result| &result.record).collect()),
        false => {
            let mut results: Vec<ResultRecord> = results.iter().map(|result| result.record.clone()).collect();
            notes.annotate(&mut results);
            body_of(&RunSummary { notes: notes.run, ..summary.clone() }, results.iter().collect())
        }
    };
    let snapshot = Snapshot::live(summary.account, body, last_modified, version);
    api.snapshots.keep(summary.id, &snapshot);
    Ok(snapshot)
}

fn body_of(summary: &RunSummary, results: Vec<&ResultRecord>) -> Vec<u8> {
    json_response(200, &RunBody { head: RunHead::from(summary), results }).body.to_vec()
}

fn last_modified(summary: &RunSummary) -> Option<String> {
    let moment = summary.completed_at?;
    let since_1970 = std::time::Duration::from_secs(u64::try_from(moment.as_second()).ok()?);
    Some(httpdate::fmt_http_date(UNIX_EPOCH + since_1970))
}

/// The outcomes of the modules of a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunModules {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// State of the run.
    pub status: Status,
    /// Number of modules that have ended.
    #[schema(examples(231))]
    pub count: usize,
    /// The modules that have ended.
    pub modules: Vec<ModuleReport>,
}

/// Lists the outcomes of the modules of a run.
///
/// Contains the modules that have ended. Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/searches/{run_id}/modules",
    operation_id = "listSearchModules",
    tag = "Searches",
    responses((status = 200, description = "The modules that have ended.", body = RunModules))
)]
pub fn modules(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let found = api.find(call)?;
    // Read the status first: otherwise a run that ends now could appear as ended with only a part of its
    // modules.
    let (run_id, status) = (found.id(), found.status());
    let modules = api.runs.reader.reports(&found)?;
    Ok(ok_json(&RunModules { run_id, status, count: modules.len(), modules }))
}

/// A page of the caller's runs, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchList<'a> {
    /// The runs of this page.
    #[schema(max_items = 100)]
    pub searches: Vec<RunHead<'a>>,
    /// Number of runs on this page.
    #[schema(maximum = 100, examples(20))]
    pub count: usize,
    /// Requested maximum of runs per page.
    #[schema(minimum = 1, maximum = 100, examples(20))]
    pub limit: usize,
    /// Whether there are older runs.
    #[schema(examples(true))]
    pub has_more: bool,
    /// Value of `cursor` for the next page; null on the last one.
    #[schema(required, examples("19c6e9a5a10.018f4a7e5c1d7b3a9e2f0123456789ab"))]
    pub next_cursor: Option<String>,
}

impl<'a> SearchList<'a> {
    /// Returns a page of runs. `limit` is the maximum that was asked for.
    pub(super) fn new(page: &'a Page, limit: usize) -> Self {
        let searches: Vec<RunHead<'_>> = page.runs.iter().map(RunHead::from).collect();
        let next_cursor = page.next.map(|next| next.to_string());
        Self { count: searches.len(), searches, limit, has_more: page.next.is_some(), next_cursor }
    }
}

/// The query parameters of a list of runs without filters.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunPageParameters {
    /// The most runs on one page.
    #[serde(default = "pages::default_limit", deserialize_with = "pages::limit")]
    #[param(required = false, minimum = 1, maximum = 100, default = 20, example = 50)]
    pub(super) limit: usize,
    /// Start of the page: the `next_cursor` of an earlier answer.
    #[serde(default, deserialize_with = "request::cursor")]
    #[param(value_type = Option<String>, pattern = r"^(0|[1-9a-fA-F][0-9a-fA-F]{0,10})\.[0-9a-fA-F]{32}$",
        example = "19c6e9a5a10.018f4a7e5c1d7b3a9e2f0123456789ab")]
    pub(super) cursor: Option<Cursor>,
}

/// The query parameters of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListParameters {
    /// The most runs on one page.
    #[serde(default = "pages::default_limit", deserialize_with = "pages::limit")]
    #[param(required = false, minimum = 1, maximum = 100, default = 20, example = 50)]
    limit: usize,
    /// Start of the page: the `next_cursor` of an earlier answer.
    #[serde(default, deserialize_with = "request::cursor")]
    #[param(value_type = Option<String>, pattern = r"^(0|[1-9a-fA-F][0-9a-fA-F]{0,10})\.[0-9a-fA-F]{32}$",
        example = "19c6e9a5a10.018f4a7e5c1d7b3a9e2f0123456789ab")]
    cursor: Option<Cursor>,
    /// Only runs of this type.
    #[serde(rename = "type")]
    search_type: Option<SearchType>,
    /// Only runs with this status.
    status: Option<Status>,
    /// The first run of a family: only this run and the runs whose `root_run_id` it is.
    #[serde(default, deserialize_with = "request::id")]
    #[param(value_type = Option<uuid::Uuid>, example = "018f4a7e-5c1d-7b3a-9e2f-0123456789ab")]
    root_run_id: Option<RunId>,
    /// Only runs with this tag, in any case.
    #[param(
        min_length = 1,
        max_length = 40,
        pattern = r"^[^\x00-\x22\x24-\x2a\x2c\x3b-\x3f\x5b-\x5e\x60\x7b-\xa0\u061c\u1680\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u206f\u3000]{1,40}$",
        example = "case-7"
    )]
    tag: Option<String>,
}

/// Lists recent searches.
///
/// Returns the caller's runs without their results, newest first. Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/searches",
    operation_id = "listSearches",
    tag = "Searches",
    params(ListParameters),
    responses((status = 200, description = "A page of runs.", body = SearchList<'_>, headers(("Link" = String))))
)]
pub fn list(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let account = call.caller()?.account.id;
    let ListParameters { limit, cursor, search_type, status, root_run_id, tag } =
        request::query(call.request)?;
    let tag = tag.as_deref().map(notes::one_tag).transpose()?;
    let before = cursor.map(Cursor::place);
    let filter = ListFilter { search_type, status, text: None, root: root_run_id, watch: None, tag, before };
    let page = api.runs.reader.page(account, &filter, limit)?;
    Ok(api.page(call, &SearchList::new(&page, limit), page.next.as_ref()))
}
