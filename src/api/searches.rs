//! Starting a search in its three modes, and deleting one.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::warn;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::context::{Api, Call, json_response};
use super::decode::{self, SearchBody, SearchRequest};
use super::error::ApiError;
use super::request;
use super::stream::{self, StreamEvent};
use crate::account::service::Caller;
use crate::base::ids::{AccountId, RequestId, RunId};
use crate::base::storage::StorageError;
use crate::http::{Reply, Response};
use crate::model::audit::Origin;
use crate::model::coverage::Coverage;
use crate::model::run::{ResultRecord, RunError, RunSummary, Status};
use crate::runs::service::Found;

/// Seconds that a client should wait before it polls after a wait that ran out.
const POLL_AFTER_SECS: &str = "2";

/// The answer to a search. The members after `status` are present only if the request waited (`wait`) and the
/// run ended in time.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SearchAnswer)]
pub struct Answer<'a> {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// State of the run: `running`, unless a wait saw its end or an `Idempotency-Key` was repeated.
    pub status: Status,
    /// Present only in the answer to a wait, while the search waits for its turn: its position among all that wait,
    /// from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, examples(3))]
    pub queue_position: Option<u32>,
    /// Number of results.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(42))]
    pub total_results: Option<u32>,
    /// All results, in the order of their ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub results: Option<Vec<&'a ResultRecord>>,
    /// Outcomes of the modules, including those that could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub coverage: Option<Coverage>,
    /// Present only if the run failed: the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<&'a RunError>,
}

impl<'a> Answer<'a> {
    /// Returns the answer for a run that has not ended, or that was not waited for.
    pub fn begun(run_id: RunId, status: Status) -> Self {
        Self {
            run_id,
            status,
            queue_position: None,
            total_results: None,
            results: None,
            coverage: None,
            error: None,
        }
    }

    /// Returns the answer for a run that ended within the wait.
    pub fn ended(run: &'a RunSummary, results: Vec<&'a ResultRecord>) -> Self {
        Self {
            total_results: Some(run.total_results),
            results: Some(results),
            coverage: Some(run.coverage),
            error: run.error.as_ref(),
            ..Self::begun(run.id, run.status)
        }
    }
}

/// Starts a search.
///
/// Charges 1 credit, or 2 for a premium search, and starts a run. Counts as `search`, with `stream` as
/// `stream` too. There are three ways to get the results:
///
/// - **poll**: read `GET /v1/searches/{run_id}` every 2 to 5 seconds until `status` is `completed` or
/// `failed`;
///
/// - **wait** (`wait`): the answer contains the results if the run ends in time;
///
/// - **stream** (`stream`): the answer is a stream of events.
///
/// A run continues if its client disconnects. The credits of a failed run are refunded.
#[utoipa::path(
    post,
    path = "/v1/searches",
    operation_id = "startSearch",
    tag = "Searches",
    params(
        ("Idempotency-Key" = Option<String>, Header, nullable = false, pattern = "^[!-~]([ -~]*[!-~])?$",
            min_length = 1, max_length = 255, example = "5a0e7c1e-order-17",
            description = "Makes it safe to repeat a request whose answer was lost: 1 to 255 printable ASCII \
                characters, kept for 24 hours. The same key with the same body gives the same run without a second \
                charge (409 while the first request is being worked on, 422 for another body)."),
        ("Prefer" = Option<String>, Header, nullable = false, example = "wait=10",
            description = "`wait=N` (RFC 7240) shortens the wait of a search with `wait` to N seconds: at least 1, \
                at most the longest wait (30 seconds, as configured: see capabilities). `Preference-Applied` names \
                the seconds that hold. Anything else is ignored, as the standard says."),
    ),
    request_body(
        content = SearchRequest,
        description = "A JSON object in UTF-8 of at most 64 KiB, each member once, nested at most 16 levels deep.",
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
            content((Answer<'_> = "application/json"), (StreamEvent = "text/event-stream")),
            headers(
                ("Location" = String), ("X-Run-Id" = String), ("Retry-After" = u64),
                ("Preference-Applied" = String), ("X-Accel-Buffering" = String),
            )),
        (status = 402, description = "insufficient_credits"),
        (status = 403, description = "suppressed"),
        (status = 409, description = "idempotency_conflict"),
        (status = 415, description = "unsupported_media_type"),
        (status = 422, description = "idempotency_mismatch"),
        (status = 503, description = "premium_unavailable"),
    )
)]
pub fn start(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let body = SearchBody::from_request(call.request)?;
    let key = decode::idempotency_key(call.request)?;
    // The thread for a wait or a stream is reserved before the search starts. If there is none, the 503 comes
    // before anything is charged.
    let mut search = Order::prepare(api, caller, body, key, call.request_id)?;
    search.preferred_wait_secs = decode::preferred_wait_secs(call.request);
    if !search.body.stream && !search.body.wait {
        return search.run();
    }
    Ok(call.later(move || search.run()))
}

/// A valid search that is about to be charged.
struct Order {
    api: Arc<Api>,
    caller: Caller,
    body: SearchBody,
    key: Option<String>,
    flight: Option<InFlight>,
    preferred_wait_secs: Option<u64>,
    request_id: RequestId,
}

impl Order {
    /// Checks a search before anything is charged.
    fn prepare(
        api: &Arc<Api>,
        caller: &Caller,
        body: SearchBody,
        key: Option<String>,
        request_id: &RequestId,
    ) -> Result<Self, ApiError> {
        // Checked again when the search starts. Checked here before a thread is reserved.
        api.services().check(caller, &body.query, &body.search, key.is_some())?;
        let flight = match &key {
            Some(key) => Some(InFlight::begin(&api.in_flight, caller.account.id, key)?),
            None => None,
        };
        Ok(Self {
            api: Arc::clone(api),
            caller: caller.clone(),
            body,
            key,
            flight,
            preferred_wait_secs: None,
            request_id: request_id.clone(),
        })
    }

    /// Charges and starts the search, and answers the request.
    fn run(mut self) -> Result<Reply, ApiError> {
        let found = self.start_run()?;
        // From now on, a request that repeats the key gets this run.
        self.flight = None;
        let id = found.id();
        let reply = if self.body.stream {
            stream::reply(&self.api, &self.caller, found, 0, &self.request_id)
        } else if self.body.wait {
            Reply::Now(self.wait(found)?)
        } else {
            Reply::Now(accepted(&found))
        };
        Ok(stream::with_run_headers(reply, &self.api.root, id))
    }

    /// Charges and starts the search, or finds the run of an earlier request with the same idempotency key.
    fn start_run(&mut self) -> Result<Found, ApiError> {
        let services = self.api.services();
        let idempotency = self.key.take().map(|key| services.idempotency(key, self.body.fingerprint()));
        let origin = Origin::request(self.caller.actor, &self.request_id);
        Ok(services.start(&self.caller, self.body.search.clone(), idempotency, origin)?)
    }

    fn wait(&self, found: Found) -> Result<Response, ApiError> {
        let longest = self.api.config.sync_wait;
        let preferred = self.preferred_wait_secs.map(|secs| Duration::from_secs(secs.max(1)).min(longest));
        let until = Instant::now() + preferred.unwrap_or(longest);
        let begun = accepted(&found);
        let response = match self.at_end(found, until) {
            Ok(Some(response)) => response,
            Ok(None) => return Err(ApiError::no_such("run")),
            // The run exists and is charged, whatever the store does: a client that repeated the request would pay twice.
            Err(error) => {
                warn!(request_id = self.request_id.as_str(); "cannot wait for the end of a run: {error}");
                begun.with_header("Retry-After", POLL_AFTER_SECS)
            }
        };
        Ok(match preferred {
            Some(wait) => response.with_header("Preference-Applied", format!("wait={}", wait.as_secs())),
            None => response,
        })
    }

    /// Waits for the end of a run, and returns the answer to its caller. Returns `None` if the run was deleted.
    fn at_end(&self, found: Found, until: Instant) -> Result<Option<Response>, StorageError> {
        let reader = &self.api.runs.reader;
        let Some(found) = reader.wait_for_end(found, until)? else { return Ok(None) };
        Ok(Some(match found {
            Found::Live(run) if run.ended_at().is_some() => {
                let (summary, results, _) = run.snapshot();
                finished(&summary, results.iter().map(|result| &result.record).collect())
            }
            Found::Stored(summary) if summary.status.is_terminal() => {
                finished(&summary, reader.stored_results(summary.id)?.iter().collect())
            }
            running => accepted(&running).with_header("Retry-After", POLL_AFTER_SECS),
        }))
    }
}

/// Returns the answer for a run that was accepted and is not waited for.
pub(super) fn accepted_run(found: &Found, root: &str) -> Reply {
    stream::with_run_headers(Reply::Now(accepted(found)), root, found.id())
}

fn accepted(found: &Found) -> Response {
    let queue_position = match found {
        Found::Live(_) => None,
        Found::Stored(summary) => summary.queue_position,
    };
    json_response(200, &Answer { queue_position, ..Answer::begun(found.id(), found.status()) })
}

fn finished(summary: &RunSummary, results: Vec<&ResultRecord>) -> Response {
    json_response(200, &Answer::ended(summary, results))
}

/// The query parameters of a deletion.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeleteParameters {
    /// Also delete the searches that its leads and theirs have started. Otherwise they are kept, and those that run
    /// continue.
    #[serde(default)]
    #[param(required = false, default = false, example = true)]
    family: bool,
}

/// Deletes a run.
///
/// Removes the run's query and results; a running one stops first. Its credits are not refunded. If it is the first run
/// of a family, no further lead of the family is followed.
#[utoipa::path(
    delete,
    path = "/v1/searches/{run_id}",
    operation_id = "deleteSearch",
    tag = "Searches",
    params(DeleteParameters),
    responses((status = 204, description = "The run is deleted."))
)]
pub fn delete(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let id = call.id("run")?;
    let DeleteParameters { family } = request::query(call.request)?;
    let (account, by) = (caller.account.id, Origin::request(caller.actor, call.request_id));
    let is_deleted = match family {
        true => api.runs.delete_family(id, account, &by)?,
        false => api.runs.delete(id, account, &by)?,
    };
    if !is_deleted {
        return Err(ApiError::no_such("run"));
    }
    Ok(Reply::Now(Response::empty(204)))
}

/// Marks an idempotency key as in progress until it is dropped.
struct InFlight {
    table: Arc<Mutex<HashSet<(AccountId, String)>>>,
    entry: (AccountId, String),
}

impl InFlight {
    fn begin(
        table: &Arc<Mutex<HashSet<(AccountId, String)>>>,
        account: AccountId,
        key: &str,
    ) -> Result<Self, ApiError> {
        let entry = (account, key.to_owned());
        if !table.lock().insert(entry.clone()) {
            return Err(ApiError::idempotency_conflict());
        }
        Ok(Self { table: Arc::clone(table), entry })
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.table.lock().remove(&self.entry);
    }
}
