//! Starting a search in its three modes; its stream; asking again, stopping and deleting one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::warn;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::context::{Api, Call, json_response, no_content, ok_json};
use super::decode::{self, SearchBody, SearchRequest};
use super::request;
use crate::account::service::Caller;
use crate::base::ids::{RequestId, RunId};
use crate::base::storage::StorageError;
use crate::http::{Reply, Response};
use crate::model::coverage::Coverage;
use crate::model::refusal::Refusal;
use crate::model::run::{ResultRecord, RunError, RunSummary, Status};
use crate::runs::event::{
    ChildData, DoneData, ErrorData, LeadData, ProgressData, ReconnectData, RunData, run_frame,
};
use crate::runs::follow::{Permission, Stream};

/// Seconds that a client should wait before it polls after a wait that ran out.
const POLL_AFTER_SECS: &str = "2";

/// The answer to a search. The members after `status` are present only if the request waited (`wait`) and the
/// run ended in time.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SearchAnswer)]
pub struct Answer<'a> {
    /// Identifies the run.
    pub run_id: RunId,
    /// State of the run: `running`, unless a wait saw its end or an `Idempotency-Key` was repeated.
    pub status: Status,
    /// Present only in the answer to a wait, while the search waits for its turn: its position among all that wait,
    /// from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<u32>,
    /// Number of results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_results: Option<u32>,
    /// All results, in the order of their ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<&'a ResultRecord>>,
    /// Outcomes of the modules, including those that could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Present only if the run failed: the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a RunError>,
}

impl<'a> Answer<'a> {
    /// Returns the answer for a run, with its results if it has ended within a wait.
    fn new(run: &'a RunSummary, results: Option<Vec<&'a ResultRecord>>) -> Self {
        let has_ended = results.is_some();
        Self {
            run_id: run.id,
            status: run.status,
            queue_position: run.queue_position,
            total_results: has_ended.then_some(run.total_results),
            results,
            coverage: has_ended.then_some(run.coverage),
            error: run.error.as_ref().filter(|_| has_ended),
        }
    }
}

/// Starts a search.
///
/// Charges 1 credit, or 2 for a premium search, and starts a run. Counts as `search`, with `stream` also as
/// `stream`. There are three ways to get the results:
///
/// - **poll**: read `GET /v1/searches/{run_id}` every 2 to 5 seconds until `status` is `completed` or
/// `failed`;
///
/// - **wait** (`wait`): the answer contains the results if the run ends in time;
///
/// - **stream** (`stream`): the answer is a stream of events.
///
/// A run continues if its client disconnects. The credits of a failed run are refunded.
#[utoipa::path(post, path = "/v1/searches",
    params(("Idempotency-Key" = String, Header), ("Prefer" = String, Header)),
    request_body(
        content = SearchRequest,
        description = "A JSON object in UTF-8 of at most 64 KiB, each member once.",
        examples(
            ("username" = (summary = "username", value = json!({"type": "username", "query": "octocat"}))),
            ("email" = (summary = "email", value = json!(
                {"type": "email", "query": "name+tag@example.com", "wait": true}))),
            ("domain" = (summary = "domain", value = json!(
                {"type": "domain", "query": "example.com", "passive": true}))),
        ),
    ),
    responses(
        (status = 200,
            description = "The search is accepted. JSON, or a stream if the body asks for it. With `wait`: the \
                results if the run ended in time, else `status` `running` with `Retry-After`; a run that failed has \
                `status` `failed` and `error`.",
            content((Answer<'_> = "application/json"), (StreamEvent<'_> = "text/event-stream")),
            headers(
                ("Location" = String), ("X-Run-Id" = String), ("Retry-After" = u64),
                ("Preference-Applied" = String), ("X-Accel-Buffering" = String),
            )),
        (status = 402), (status = 409)))]
pub fn start_search(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let caller = call.caller()?;
    let body = SearchBody::from_request(call.request)?;
    let key = decode::idempotency_key(call.request)?;
    // Checked again when the search starts. Checked here before a thread is reserved.
    api.services.check(caller, &body.query, &body.search, key.is_some())?;
    let begin = |key: &str| api.in_flight.begin(caller.account.id, key);
    let flight =
        key.as_deref().map(|key| begin(key).ok_or_else(Refusal::idempotency_conflict)).transpose()?;
    let preferred_secs = decode::preferred_wait_secs(call.request);
    let is_long = body.stream || body.wait || body.search.premium;
    let (api, caller, request_id, origin) =
        (Arc::clone(api), caller.clone(), call.request_id.clone(), call.origin()?);
    let run = move || {
        let idempotency = api.services.idempotency(key, (&body.search, body.wait, body.stream));
        let found = api.services.start(&caller, body.search, idempotency, origin)?;
        // From now on, a request that repeats the key gets this run.
        drop(flight);
        Ok(if body.stream {
            stream(&api, &caller, &found, 0, &request_id)
        } else if body.wait {
            Reply::Now(wait(&api, found, preferred_secs, &request_id)?)
        } else {
            accepted_run(&found, &api.root)
        })
    };
    // The thread for a wait or a stream is reserved before the search starts. If there is none, the 503 comes
    // before anything is charged.
    call.later_if(is_long, run)
}

/// Waits for the end of a run, for as long as the caller and the configuration allow.
fn wait(
    api: &Api,
    found: RunSummary,
    preferred_secs: Option<u64>,
    request_id: &RequestId,
) -> Result<Response, Refusal> {
    let longest = api.config.sync_wait;
    let preferred = preferred_secs.map(|secs| Duration::from_secs(secs.max(1)).min(longest));
    let until = Instant::now() + preferred.unwrap_or(longest);
    let begun = answer(&found, None, &api.root);
    let response = match at_end(api, found, until) {
        Ok(Some(response)) => response,
        Ok(None) => return Err(Refusal::no_such("run")),
        // The run exists and is charged, whatever the store does: a client that repeated the request would pay twice.
        Err(error) => {
            warn!(request_id = request_id.as_str(); "cannot wait for the end of a run: {error}");
            begun.with_header("Retry-After", POLL_AFTER_SECS)
        }
    };
    Ok(match preferred {
        Some(wait) => response.with_header("Preference-Applied", format!("wait={}", wait.as_secs())),
        None => response,
    })
}

/// Waits for the end of a run, and returns the answer to its caller. Returns `None` if the run was deleted.
fn at_end(api: &Api, found: RunSummary, until: Instant) -> Result<Option<Response>, StorageError> {
    let runs = &api.runs;
    let Some(found) = runs.wait_for_end(found, until)? else { return Ok(None) };
    if !found.status.is_terminal() {
        return Ok(Some(answer(&found, None, &api.root).with_header("Retry-After", POLL_AFTER_SECS)));
    }
    let state = runs.state(found)?;
    let results = runs.results(&state)?;
    let results = results.iter().collect();
    Ok(Some(answer(&state.summary, Some(results), &api.root)))
}

/// Returns the answer for a run that was accepted and is not waited for.
pub(super) fn accepted_run(found: &RunSummary, root: &str) -> Reply {
    Reply::Now(answer(found, None, root))
}

fn answer(run: &RunSummary, results: Option<Vec<&ResultRecord>>, root: &str) -> Response {
    with_run_headers(json_response(200, &Answer::new(run, results)), root, run.id)
}

/// The query parameters of a deletion.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeleteParameters {
    /// Also delete the searches that its leads and theirs have started. Otherwise they are kept, and those that run
    /// continue.
    #[serde(default)]
    #[param(required = false, default = false)]
    family: bool,
}

/// Deletes a run.
///
/// Removes the run's query and results; a running one stops first. Its credits are not refunded. If it is the first run
/// of a family, no further lead of the family is followed.
#[utoipa::path(delete, path = "/v1/searches/{run_id}",
    params(DeleteParameters),
    responses((status = 204, description = "The run is deleted.")))]
pub fn delete_search(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let (account, id, by) = (call.caller()?.account.id, call.id("run")?, call.origin()?);
    let DeleteParameters { family } = request::query(call.request)?;
    no_content(api.runs.delete(id, account, family, &by)?, "run")
}

/// Stops a search.
///
/// The search ends a moment later with what it has: checks under way are given up, and the modules that are left end as
/// `skipped` with the reason `stopped`. Its status is then `completed`, or `failed` with a refund if no module had come to
/// a conclusion. The first search of a family stops all its searches, and no further lead is followed. Does nothing to a
/// search that has ended. Costs no credits.
#[utoipa::path(post, path = "/v1/searches/{run_id}/stop",
    responses((
        status = 200,
        description = "The search has ended or ends soon: follow its stream, or read it again.",
        body = RunSummary
    )))]
pub fn stop_search(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let (account, id) = (call.caller()?.account.id, call.id("run")?);
    if !api.runs.stop(id, account, &call.origin()?)? {
        return Err(Refusal::no_such("run"));
    }
    let summary = api.runs.state(api.find(call)?)?.summary;
    Ok(ok_json(&summary))
}

/// Asks the modules again that came to no conclusion.
///
/// Starts a search of these modules alone, with the query and the options of the first one; it follows no leads. Costs as
/// much as a search. Counts as `search`.
#[utoipa::path(post, path = "/v1/searches/{run_id}/retry",
    params(("Idempotency-Key" = String, Header)),
    responses(
        (status = 200, description = "The search is accepted.", body = Answer<'_>,
            headers(("Location" = String), ("X-Run-Id" = String))),
        (status = 402), (status = 409)))]
pub fn retry_search(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let caller = call.caller()?;
    let key = decode::idempotency_key(call.request)?;
    let (found, origin) = (api.find(call)?, call.origin()?);
    let (api, caller, is_premium) = (Arc::clone(api), caller.clone(), found.premium);
    let retry = move || Ok(accepted_run(&api.services.retry(&caller, &found, key, origin)?, &api.root));
    call.later_if(is_premium, retry)
}

/// The longest pause between two checks that the key of an open stream is still valid, and the age of a cached answer.
/// Together they are less than 2 s, the longest time that a stream may outlive its key. The pause is longer than a
/// second, at which frames of the progress come.
const KEY_CHECK_INTERVAL: Duration = Duration::from_millis(1100);
const KEY_CACHE_AGE: Duration = Duration::from_millis(800);

/// The query parameters of a stream.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct StreamParameters {
    /// Leaves out results up to this id, for a client that has them from an earlier stream. By default a
    /// stream starts with the first result.
    #[serde(default, deserialize_with = "request::whole::<_, _, 0, { u32::MAX }>")]
    #[param(required = false, value_type = i64, minimum = 0, maximum = 4_294_967_295_u64, default = 0)]
    after: Option<u32>,
}

/// Streams a run.
///
/// Sends the same events as a search with `stream`, from the first result. A run that has ended is replayed.
/// `Last-Event-ID` is ignored: events have no ids. Costs no credits; counts as `stream`.
///
/// The end of the stream does not mean success: `done` is the last event of a run. After `reconnect`, `error`
/// or a lost connection attach again. Repeated results have the same `run_id` and `id`.
#[utoipa::path(get, path = "/v1/searches/{run_id}/stream",
    params(StreamParameters),
    responses((status = 200, description = "The run's events.", content((StreamEvent<'_> = "text/event-stream")),
        headers(("X-Accel-Buffering" = String), ("Location" = String), ("X-Run-Id" = String)))))]
pub fn stream_search(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let found = api.find(call)?;
    let StreamParameters { after } = request::query(call.request)?;
    Ok(stream(api, call.caller()?, &found, after.unwrap_or(0), call.request_id))
}

/// Returns the stream of `found` for `caller`, without the results up to `after`.
fn stream(api: &Arc<Api>, caller: &Caller, found: &RunSummary, after: u32, request_id: &RequestId) -> Reply {
    let accounts = Arc::clone(&api.accounts);
    let permission = caller.key.map(|key| Permission {
        holds: Box::new(move || accounts.may_still_read(&key, KEY_CACHE_AGE)),
        every: KEY_CHECK_INTERVAL,
        error: "invalid_api_key",
        message: "the API key is no longer valid",
    });
    let mut stream = Stream {
        first: run_frame(found),
        follower: api.runs.follow(found, after),
        ceiling: api.config.stream_timeout,
        keep_alive: api.config.keep_alive,
        request_id: request_id.clone(),
        permission,
    };
    let head = with_run_headers(Response::event_stream(), &api.root, found.id);
    Reply::Stream(head, Box::new(move |out| stream.run(out).is_ok()))
}

/// Adds the headers that name the run.
fn with_run_headers(response: Response, root: &str, id: RunId) -> Response {
    let location = format!("{root}/v1/searches/{id}");
    response.with_header("Location", location).with_header("X-Run-Id", id.to_string())
}

/// One event of a stream. Its data is this object as JSON on one line. Lines that start with a colon are comments. Clients
/// ignore events that they do not know.
// OpenAPI 3.1 has no streams: the schema of `text/event-stream` describes one event, as tools for such streams expect it.
#[derive(ToSchema)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum StreamEvent<'a> {
    /// First event, sent once: identifies the run.
    Run(RunData<'a>),
    /// A result was found, or got more sources. Results are sent again after a reattach: identify them by `run_id` and `id`.
    Result(ResultRecord),
    /// Some modules have ended.
    Progress(ProgressData),
    /// A lead was looked up or followed. Sent just before `done`, if the search follows leads.
    Lead(LeadData<'a>),
    /// A lead has started a search. Sent just before `done`, after its lead.
    Child(ChildData<'a>),
    /// Last event, sent once: the run has ended, and the stream closes. It does not mean success: see `status`.
    Done(DoneData<'a>),
    /// The stream has reached its longest duration and closes while the run continues: attach to it again.
    Reconnect(ReconnectData),
    /// The server ends the stream early: read the run or attach to it again.
    Error(ErrorData<'a>),
}
