//! Reading runs: one run, its modules, the list of runs, a run as a file.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::context::{Api, Call, json_response, ok_json};
use super::pages::page_of;
use super::{pages, request};
use crate::base::cache::Computed;
use crate::base::ids::RunId;
use crate::http::{Reply, Response, etag_of};
use crate::model::family::FollowState;
use crate::model::notes::{StoredNotes, tag as tag_of};
use crate::model::page::{Cursor, ListFilter};
use crate::model::refusal::Refusal;
use crate::model::run::{ModuleReport, ResultRecord, RunSummary, Status};
use crate::modules::query::SearchType;
use crate::report::Format;
use crate::runs::record::{RunRecord, RunState};

/// A run with the results found so far.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Run)]
pub struct RunBody<'a> {
    /// The run without its results.
    #[serde(flatten)]
    pub summary: &'a RunSummary,
    /// Present only at the first search of a family: how far leads are followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub follow: Option<FollowState>,
    /// Results found so far, in the order of their ids.
    pub results: Vec<&'a ResultRecord>,
}

/// Reads a run and its results.
///
/// While the run has not ended, the answer contains the results found so far. Poll every 2 to 5 seconds, with
/// `If-None-Match` or, after the run has ended, `If-Modified-Since`. Costs no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}",
    params(("If-None-Match" = String, Header), ("If-Modified-Since" = String, Header)),
    responses((status = 200, body = RunBody<'_>, headers(("ETag" = String), ("Last-Modified" = String)))))]
pub fn get_search(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let runs = &api.runs;
    let (response, etag, last_modified) = loop {
        let state = runs.state(api.find(call)?)?;
        let RunState { summary, follow, notes } = &state;
        // The results change only with the revision and the annotations, and their form with the version of the program.
        let version = (env!("CARGO_PKG_VERSION"), summary.revision, summary, follow, &notes.results);
        let etag = etag_of(&serde_json::to_vec(&version).map_err(Refusal::internal)?);
        // Notes may change after the end of the run, and so may the runs of its family.
        let may_change = summary.is_following_root() || *notes != StoredNotes::default();
        let last_modified = last_modified(summary).filter(|_| !may_change);
        if call.request.has_current_copy(&etag, last_modified.as_deref()) {
            break (Response::new(304, "application/json", []), etag, last_modified);
        }
        if let Some(body) = api.bodies.get(&etag) {
            break (Response::new(200, "application/json", body), etag, last_modified);
        }
        let results = runs.results(&state)?;
        // Results that have got more sources meanwhile belong to another tag.
        if summary.status.is_terminal() || api.find(call)?.revision == summary.revision {
            let results = results.iter().collect();
            let response = json_response(200, &RunBody { summary, follow: *follow, results });
            if summary.status.is_terminal() {
                let (value, weight) = (Arc::clone(&response.body), response.body.len());
                api.bodies.insert(&etag, Computed { value, ttl: KEPT_FOR, weight });
            }
            break (response, etag, last_modified);
        }
    };
    let mut response = response.with_header("ETag", etag).with_header("Cache-Control", "private, no-cache");
    if let Some(moment) = last_modified {
        response = response.with_header("Last-Modified", moment);
    }
    Ok(Reply::Now(response))
}

/// The time for which the body of an answer with an ended run is kept. It is short, since it may be that of a deleted run,
/// which nobody can read.
const KEPT_FOR: Duration = Duration::from_secs(10);

fn last_modified(summary: &RunSummary) -> Option<String> {
    let moment = summary.completed_at?;
    let since_1970 = Duration::from_secs(u64::try_from(moment.as_second()).ok()?);
    Some(httpdate::fmt_http_date(UNIX_EPOCH + since_1970))
}

/// The outcomes of the modules of a run.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunModules {
    /// Identifies the run.
    pub run_id: RunId,
    /// State of the run.
    pub status: Status,
    /// Number of modules that have ended.
    pub count: usize,
    /// The modules that have ended.
    pub modules: Vec<ModuleReport>,
}

/// Lists the outcomes of the modules of a run.
///
/// Contains the modules that have ended. Costs no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/modules", responses((status = 200, body = RunModules)))]
pub fn list_search_modules(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let found = api.find(call)?;
    // Read the status first: otherwise a run that ends now could appear as ended with only a part of its
    // modules.
    let (run_id, status) = (found.id, found.status);
    let modules = api.store.modules(run_id)?;
    Ok(ok_json(&RunModules { run_id, status, count: modules.len(), modules }))
}

page_of! {
    /// A page of the caller's runs, newest first.
    SearchList { searches: [RunSummary], String: "19c6e9a5a10.018f4a7e5c1d7b3a9e2f0123456789ab" }
}

/// The place in a list of runs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RunPageParameters {
    /// The most runs on one page.
    #[serde(default = "pages::default_limit", deserialize_with = "pages::limit")]
    #[param(required = false, minimum = 1, maximum = 100, default = 20)]
    pub(super) limit: usize,
    /// Start of the page: the `next_cursor` of an earlier answer.
    #[serde(default, deserialize_with = "request::cursor")]
    #[param(value_type = Option<String>, pattern = r"^(0|[1-9a-fA-F][0-9a-fA-F]{0,10})\.[0-9a-fA-F]{32}$",
        example = "19c6e9a5a10.018f4a7e5c1d7b3a9e2f0123456789ab")]
    pub(super) cursor: Option<Cursor>,
}

/// The filters of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchFilters {
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
#[utoipa::path(get, path = "/v1/searches", params(RunPageParameters, SearchFilters),
    responses((status = 200, body = SearchList)))]
pub fn list_searches(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let account = call.caller()?.account.id;
    let RunPageParameters { limit, cursor } = request::query(call.request)?;
    let SearchFilters { search_type, status, root_run_id, tag } = request::query(call.request)?;
    let tag = tag.as_deref().map(|text| tag_of("tag", text)).transpose()?;
    let (root, text, watch) = (root_run_id, None, None);
    let filter = ListFilter { search_type, status, text, root, watch, tag, before: cursor };
    let (runs, next) = api.runs.page(account, &filter, limit)?;
    Ok(SearchList::reply(runs, limit, next))
}

/// Gets a run as a file.
///
/// Contains the results found so far if the run has not ended; `X-Run-Status` and the file name then show it. CSV
/// cells never run as formulas in a spreadsheet. A PDF needs a browser, which takes some seconds. Costs no credits.
#[utoipa::path(get, path = "/v1/searches/{run_id}/export",
    params(("format" = Option<Format>, Query, description = "Format of the file; `json` by default.")),
    responses((status = 200, description = "The file.",
        content(
            (RunRecord = "application/json"), (String = "application/x-ndjson"), (String = "text/csv"),
            (String = "text/html"), (String = "text/markdown"), (Vec<u8> = "application/pdf"),
            (String = "application/xml"), (Object = "application/stix+json;version=2.1"),
        ),
        headers(
            ("Content-Disposition" = String), ("X-Run-Id" = String), ("X-Run-Status" = String),
            ("Content-Security-Policy" = String),
        ))))]
pub fn export_search(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let found = api.find(call)?;
    let format = request::format(call.request, &Format::ALL)?;
    let (api, is_pdf) = (Arc::clone(api), format == Format::Pdf);
    // A browser takes seconds.
    call.later_if(is_pdf, move || {
        if is_pdf && !(api.runs.browsers.prints() && api.runs.browsers.is_available()) {
            return Err(Refusal::premium_unavailable());
        }
        api.run_file(found, format).map(Reply::Now)
    })
}
