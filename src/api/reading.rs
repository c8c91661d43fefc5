//! Reading runs: one, its modules, the list.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use jiff::Timestamp;

use super::cache::Snapshot;
use super::decode;
use super::error::ApiError;
use super::searches::{find, parse_run_id};
use super::service::{Api, Call, json_response, ok_json};
use super::wire::run::{RunModules, SearchList};
use crate::base::ids::RunId;
use crate::http::{Reply, Request, Response};
use crate::modules::query::SearchType;
use crate::report::body::{RunBody, RunHead};
use crate::runs::journal::ListFilter;
use crate::runs::live::LiveRun;
use crate::runs::page::{Cursor, Page};
use crate::runs::run::{ResultRecord, RunSummary, Status, count};
use crate::runs::service::Found;

/// `GET /v1/searches/{run_id}`.
///
/// # Errors
/// 404, 503.
pub fn run(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let snapshot = snapshot(api, call)?;
    // With its body a 304 too: the server tells by it what a 200 would have said of its form.
    let status = if call.request.has_current(&snapshot.etag) { 304 } else { 200 };
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
    let id = parse_run_id(call)?;
    if api.runs.live(id).is_none()
        && let Some(snapshot) = api.snapshots.stored(id).filter(|snapshot| snapshot.account == account)
    {
        return Ok(snapshot);
    }
    match find(api, call)? {
        Found::Live(run) => Ok(snapshot_of_live(api, &run)),
        Found::Stored(summary) => {
            let results = api.runs.stored_results(id)?;
            // A run that is driven elsewhere may have found more between the two reads.
            let mut summary = summary;
            summary.total_results = count(results.len());
            let snapshot = Snapshot::stored(
                account,
                body_of(&summary, results.iter().collect()),
                last_modified(&summary),
            );
            if summary.status.is_terminal() {
                api.snapshots.keep(id, &snapshot);
            }
            Ok(snapshot)
        }
    }
}

fn snapshot_of_live(api: &Api, run: &LiveRun) -> Snapshot {
    if let Some(snapshot) = api.snapshots.at_version(run.id(), run.version()) {
        return snapshot;
    }
    let (summary, results, version) = run.snapshot();
    let body = body_of(&summary, results.iter().map(|result| &result.record).collect());
    let snapshot = Snapshot::live(summary.account, body, last_modified(&summary), version);
    api.snapshots.keep(summary.id, &snapshot);
    snapshot
}

fn body_of(summary: &RunSummary, results: Vec<&ResultRecord>) -> Vec<u8> {
    json_response(200, &RunBody { head: RunHead::from(summary), results }).body.to_vec()
}

fn last_modified(summary: &RunSummary) -> Option<String> {
    let moment = summary.completed_at?;
    let since_1970 = std::time::Duration::from_secs(u64::try_from(moment.as_second()).ok()?);
    Some(httpdate::fmt_http_date(UNIX_EPOCH + since_1970))
}

/// `GET /v1/searches/{run_id}/modules`.
///
/// # Errors
/// 404, 503.
pub fn modules(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let found = find(api, call)?;
    // The status first: a run that ends now must not be shown as ended with a part of its modules.
    let (run_id, status) = (found.id(), found.status());
    let modules = api.runs.reports(&found)?;
    Ok(ok_json(&RunModules { run_id, status, count: modules.len(), modules }))
}

/// `GET /v1/searches`.
///
/// # Errors
/// 400 for bad parameters, 503.
pub fn list(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let account = call.caller()?.account.id;
    let request = call.request;
    let limit = decode::number_parameter(request, "limit", decode::LIST_LIMITS)? as usize;
    let types = SearchType::ALL.map(SearchType::as_str);
    let filter = ListFilter {
        search_type: decode::choice_parameter(request, "type", SearchType::from_name, &types)?,
        status: decode::choice_parameter(
            request,
            "status",
            Status::from_name,
            &["running", "completed", "failed"],
        )?,
        text: None,
        before: cursor_parameter(request)?,
    };
    let Page { runs, next } = api.runs.page(account, &filter, limit)?;
    let (has_more, next_cursor) = (next.is_some(), next.map(|next| next.to_string()));
    let searches: Vec<RunHead<'_>> = runs.iter().map(RunHead::from).collect();
    Ok(ok_json(&SearchList { count: searches.len(), searches, limit, has_more, next_cursor }))
}

fn cursor_parameter(request: &Request) -> Result<Option<(Timestamp, RunId)>, ApiError> {
    let Some(text) = decode::parameter(request, "cursor")? else { return Ok(None) };
    let cursor: Cursor = text.parse().map_err(|_| {
        ApiError::invalid_request(
            "cursor",
            "the cursor is not one of ours",
            "the next_cursor of an earlier answer",
        )
    })?;
    Ok(Some(cursor.place()))
}
