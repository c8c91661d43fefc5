//! A run as Server-Sent Events (`src/manual/streams.md`). [`runs::stream`](crate::runs::stream) decides which
//! events are sent, and when.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::{IntoParams, ToSchema};

use super::context::{Api, Call};
use super::request;
use crate::account::service::Caller;
use crate::base::ids::{RequestId, RunId};
use crate::http::{Reply, Response};
use crate::model::run::ResultRecord;
use crate::runs::event::{ChildData, DoneData, ErrorData, LeadData, ProgressData, ReconnectData, RunData};
use crate::runs::service::Found;
use crate::runs::stream::{Permission, Stream};
use crate::service::refusal::Refusal;

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
    /// stream begins with the first result.
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
    let id = found.id();
    Ok(with_run_headers(
        reply(api, call.caller()?, found, after.unwrap_or(0), call.request_id),
        &api.root,
        id,
    ))
}

/// Returns the stream of `found` for `caller`, without the results up to `after`.
pub fn reply(api: &Arc<Api>, caller: &Caller, found: Found, after: u32, request_id: &RequestId) -> Reply {
    let accounts = Arc::clone(&api.accounts);
    let permission = caller.key.map(|key| Permission {
        holds: Box::new(move || accounts.may_still_read(&key, KEY_CACHE_AGE)),
        every: KEY_CHECK_INTERVAL,
        error: "invalid_api_key",
        message: "the API key is no longer valid",
    });
    let stream = Stream {
        follower: api.runs.reader.follow(found, after),
        ceiling: api.config.stream_timeout,
        keep_alive: api.config.keep_alive,
        request_id: request_id.clone(),
        permission,
    };
    Reply::Stream(Response::event_stream(), Box::new(move |out| stream.run(out).is_ok()))
}

/// Adds the headers that name the run.
pub(super) fn with_run_headers(reply: Reply, root: &str, id: RunId) -> Reply {
    let with = |response: Response| {
        let location = format!("{root}/v1/searches/{id}");
        response.with_header("Location", location).with_header("X-Run-Id", id.to_string())
    };
    match reply {
        Reply::Now(response) => Reply::Now(with(response)),
        Reply::Stream(head, body) => Reply::Stream(with(head), body),
        later @ Reply::Later(_) => later,
    }
}

/// One event of a stream. `data` is JSON text on one line. Lines that begin with a colon are comments. Clients ignore events
/// that they do not know.
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

/// Gives each event a schema with a name, and says that its data are JSON text.
pub(super) fn describe_events(all: &mut Map<String, Value>) {
    let (mut mapping, mut events) = (Map::new(), Map::new());
    for case in all["StreamEvent"]["oneOf"].as_array_mut().into_iter().flatten() {
        let properties = &mut case["properties"];
        properties["event"]["description"] = "Name of the event.".into();
        let data = properties["data"].take();
        properties["data"] = json!({
            "type": "string",
            "description": "JSON text.",
            "contentMediaType": "application/json",
            "contentSchema": data,
        });
        let event = properties["event"]["enum"][0].as_str().unwrap_or_default().to_owned();
        let name = format!("{}{}Event", event[..1].to_uppercase(), &event[1..]);
        let reference = format!("#/components/schemas/{name}");
        mapping.insert(event, reference.clone().into());
        events.insert(name, std::mem::replace(case, json!({"$ref": reference})));
    }
    all["StreamEvent"]["discriminator"] = json!({"propertyName": "event", "mapping": mapping});
    all.extend(events);
}
