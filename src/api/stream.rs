//! A run as Server-Sent Events (`src/manual/streams.md`). [`runs::stream`](crate::runs::stream) decides which
//! events are sent, and when.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use utoipa::openapi::schema::{Discriminator, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::context::{Api, Call};
use super::error::ApiError;
use super::openapi::schemas::{Schemas, named};
use super::request;
use crate::account::service::Caller;
use crate::base::ids::{RequestId, RunId};
use crate::http::{Reply, Response};
use crate::model::run::ResultRecord;
use crate::runs::event::{ChildData, DoneData, ErrorData, LeadData, ProgressData, ReconnectData, RunData};
use crate::runs::service::Found;
use crate::runs::stream::{Permission, Stream, StreamLimits};

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
    #[param(required = false, value_type = i64, minimum = 0, maximum = 4_294_967_295_u64, default = 0, example = 17)]
    after: Option<u32>,
}

/// Streams a run.
///
/// Sends the same events as a search with `stream`, from the first result. A run that has ended is replayed.
/// `Last-Event-ID` is ignored: events have no ids. Costs no credits; counts as `stream`.
///
/// The end of the stream does not mean success: `done` is the last event of a run. After `reconnect`, `error`
/// or a lost connection attach again. Repeated results have the same `run_id` and `id`.
#[utoipa::path(
    get,
    path = "/v1/searches/{run_id}/stream",
    operation_id = "streamSearch",
    tag = "Searches",
    params(StreamParameters),
    responses(
        (status = 200, description = "The run's events.", content((StreamEvent = "text/event-stream")),
            headers(("X-Accel-Buffering" = String), ("Location" = String), ("X-Run-Id" = String))),
    )
)]
pub fn attach(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
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
    let limits = StreamLimits { ceiling: api.config.stream_timeout, keep_alive: api.config.keep_alive };
    let mut stream = Stream::new(api.runs.reader.follow(found, after), limits, request_id.clone());
    if let Some(key) = caller.key {
        let accounts = Arc::clone(&api.accounts);
        stream = stream.with_permission(Permission {
            holds: Box::new(move || accounts.may_still_read(&key, KEY_CACHE_AGE)),
            every: KEY_CHECK_INTERVAL,
            error: "invalid_api_key",
            message: "the API key is no longer valid",
        });
    }
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

/// One event of a stream, for the documentation. OpenAPI 3.1 has no streams: the schema of
/// `text/event-stream` describes one event, as tools for such streams expect it. In the document of OpenAPI 3.2
/// it is the `itemSchema`.
pub struct StreamEvent;

/// The events: name, name of the schema, description.
const EVENTS: [(&str, &str, &str); 8] = [
    ("run", "RunEvent", "First event, sent once: identifies the run."),
    (
        "result",
        "ResultEvent",
        "A result was found, or got more sources. Results are sent again after a reattach: identify them by `run_id` and `id`.",
    ),
    ("progress", "ProgressEvent", "Some modules have ended."),
    (
        "lead",
        "LeadEvent",
        "A lead was looked up or followed. Sent just before `done`, if the search follows leads.",
    ),
    ("child", "ChildEvent", "A lead has started a search. Sent just before `done`, after its lead."),
    (
        "done",
        "DoneEvent",
        "Last event, sent once: the run has ended, and the stream closes. It does not mean success: see `status`.",
    ),
    (
        "reconnect",
        "ReconnectEvent",
        "The stream has reached its longest duration and closes while the run continues: attach to it again.",
    ),
    ("error", "ErrorEvent", "The server ends the stream early: read the run or attach to it again."),
];

impl ToSchema for StreamEvent {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("StreamEvent")
    }

    fn schemas(schemas: &mut Schemas) {
        let data = [
            named::<RunData<'_>>(schemas),
            named::<ResultRecord>(schemas),
            named::<ProgressData>(schemas),
            named::<LeadData<'_>>(schemas),
            named::<ChildData<'_>>(schemas),
            named::<DoneData<'_>>(schemas),
            named::<ReconnectData>(schemas),
            named::<ErrorData<'_>>(schemas),
        ];
        for ((name, schema_name, text), data) in EVENTS.into_iter().zip(data) {
            schemas.push((schema_name.to_owned(), event(name, text, data)));
        }
    }
}

impl PartialSchema for StreamEvent {
    fn schema() -> RefOr<Schema> {
        let mut any = OneOfBuilder::new().description(Some(
            "One event of a stream. `data` is JSON text on one line. Lines that begin with a colon are comments. \
             Clients ignore events that they do not know.",
        ));
        let mut mapping = Vec::new();
        for (name, schema_name, _) in EVENTS {
            let reference = Ref::from_schema_name(schema_name);
            mapping.push((name, reference.ref_location.clone()));
            any = any.item(reference);
        }
        any.discriminator(Some(Discriminator::with_mapping("event", mapping))).into()
    }
}

fn event(name: &str, text: &str, data: RefOr<Schema>) -> RefOr<Schema> {
    let data = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("JSON text."))
        .content_media_type("application/json")
        .content_schema(Some(data));
    ObjectBuilder::new()
        .description(Some(text))
        .property("event", words([name]).description(Some("Name of the event.")))
        .property("data", data)
        .required("event")
        .required("data")
        .into()
}

fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words))
}
