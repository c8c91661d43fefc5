//! What a stream carries: an object for each event, as section 6 of the contract has them. OpenAPI 3.1 knows no
//! streams: the schema of `text/event-stream` describes one event, as the tools that read such streams expect it
//! (3.2 calls the same `itemSchema`).

use utoipa::openapi::schema::{Discriminator, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};

use super::doc::{Schemas, named};
use crate::runs::event::{DoneData, ErrorData, ProgressData, ReconnectData, RunData};
use crate::runs::run::ResultRecord;

/// The media type of streams.
pub const MEDIA_TYPE: &str = "text/event-stream";

/// An event: its name, the name of its schema, what it says.
const EVENTS: [(&str, &str, &str); 6] = [
    ("run", "RunEvent", "Once, first: which run it is."),
    (
        "result",
        "ResultEvent",
        "A result was found, or has got more sources. Results come again after a reattach: tell them by `run_id` and `id`.",
    ),
    ("progress", "ProgressEvent", "Modules have ended."),
    (
        "done",
        "DoneEvent",
        "Once, last: the run has ended, and the stream closes. It is not always success: see `status`.",
    ),
    (
        "reconnect",
        "ReconnectEvent",
        "The stream has reached its longest duration and closes, the run goes on: attach to it again.",
    ),
    (
        "error",
        "ErrorEvent",
        "The server breaks off, and the stream closes: read the run or attach to it again.",
    ),
];

/// The schema of an event, and the named ones that it refers to.
pub fn schema() -> (RefOr<Schema>, Schemas) {
    let mut schemas = Schemas::new();
    let data = [
        named::<RunData<'_>>(&mut schemas),
        named::<ResultRecord>(&mut schemas),
        named::<ProgressData>(&mut schemas),
        named::<DoneData<'_>>(&mut schemas),
        named::<ReconnectData>(&mut schemas),
        named::<ErrorData<'_>>(&mut schemas),
    ];
    let mut any = OneOfBuilder::new().description(Some(
        "One event of a stream. `data` is JSON text on one line. Lines that begin with a colon are comments. \
         Clients ignore events that they do not know.",
    ));
    let mut mapping = Vec::new();
    for ((name, schema_name, text), data) in EVENTS.into_iter().zip(data) {
        schemas.push((schema_name.to_owned(), event(name, text, data)));
        let reference = Ref::from_schema_name(schema_name);
        mapping.push((name, reference.ref_location.clone()));
        any = any.item(reference);
    }
    let any = any.discriminator(Some(Discriminator::with_mapping("event", mapping)));
    schemas.push(("StreamEvent".to_owned(), any.into()));
    (Ref::from_schema_name("StreamEvent").into(), schemas)
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
