//! What requests may have beside a body.

use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
use utoipa::openapi::{Ref, RefOr, Required, Schema};

use super::doc::parameter;
use crate::api::decode::{LIST_LIMITS, MAX_IDEMPOTENCY_KEY};
use crate::modules::query::SearchType;
use crate::report::Format;
use crate::runs::run::Status;

/// The run that a path names.
pub fn run_id() -> Parameter {
    let text = "Identifies the run: the hyphenated form of a UUID. A malformed one gets 404, as an unknown one does.";
    parameter(
        ParameterIn::Path,
        "run_id",
        text,
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
            .examples([json!("018f4a7e-5c1d-7b3a-9e2f-0123456789ab")]),
    )
}

/// The caller's own request id: every request may have one.
pub fn request_id() -> Parameter {
    header(
        "X-Request-Id",
        "The caller's own id of this request: 1 to 64 of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`. It comes back in \
         the answer and stands in the log. Anything else is replaced by a new id.",
        text().examples([json!("my-request-1")]),
    )
}

/// `If-None-Match`.
pub fn if_none_match() -> Parameter {
    header(
        "If-None-Match",
        "Entity tags of answers that the caller has (`ETag`), or `*`: where one of them still holds, the answer is \
         304 without a body. Compared weakly (RFC 9110).",
        text().examples([json!("\"5d41402abc4b2a76b9719d911017c592\"")]),
    )
}

/// `Idempotency-Key`.
pub fn idempotency_key() -> Parameter {
    header(
        "Idempotency-Key",
        "Makes it safe to repeat a request whose answer was lost: 1 to 255 printable ASCII characters, kept for 24 \
         hours. The same key with the same body gives the same run without a second charge (409 while the first \
         request is being worked on, 422 for another body).",
        text()
            .pattern(Some("^[!-~]([ -~]*[!-~])?$"))
            .min_length(Some(1))
            .max_length(Some(MAX_IDEMPOTENCY_KEY))
            .examples([json!("5a0e7c1e-order-17")]),
    )
}

/// `Prefer`.
pub fn prefer() -> Parameter {
    header(
        "Prefer",
        "`wait=N` (RFC 7240) with N from 1 to 30 shortens the wait of a search with `wait` to N seconds, and is \
         answered with `Preference-Applied`. Anything else is ignored, as the standard says.",
        text().examples([json!("wait=10")]),
    )
}

/// `limit` of the list.
pub fn limit() -> Parameter {
    let (from, to, default) = LIST_LIMITS;
    query(
        "limit",
        "The most runs that one answer has.",
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(from))
            .maximum(Some(to))
            .default(Some(json!(default)))
            .examples([json!(50)]),
    )
}

/// `cursor` of the list.
pub fn cursor() -> Parameter {
    query(
        "cursor",
        "Where the page begins: the `next_cursor` of an earlier answer.",
        text()
            .pattern(Some("^[0-9a-fA-F]{1,11}\\.[0-9a-fA-F]{32}$"))
            .examples([json!("19c6e9a5a10.018f4a7e5c1d7b3a9e2f0123456789ab")]),
    )
}

/// `type` of the list.
pub fn search_type() -> Parameter {
    query("type", "Only runs of this type.", RefOr::<Schema>::from(Ref::from_schema_name(SearchType::name())))
}

/// `status` of the list.
pub fn status() -> Parameter {
    query("status", "Only runs of this status.", RefOr::<Schema>::from(Ref::from_schema_name(Status::name())))
}

/// `format` of the export.
pub fn format() -> Parameter {
    let schema = RefOr::<Schema>::from(Ref::from_schema_name(Format::name()));
    let mut format = query("format", "The form of the file.", schema);
    format.required = Required::True;
    format
}

/// `after` of the stream.
pub fn after() -> Parameter {
    query(
        "after",
        "Leaves out results up to this id: for a client that has them from an earlier stream. Without it a stream \
         begins with the first result.",
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(0))
            .maximum(Some(u32::MAX))
            .default(Some(json!(0)))
            .examples([json!(17)]),
    )
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn query(name: &str, words: &str, schema: impl Into<RefOr<Schema>>) -> Parameter {
    parameter(ParameterIn::Query, name, words, schema)
}

fn header(name: &str, words: &str, schema: impl Into<RefOr<Schema>>) -> Parameter {
    parameter(ParameterIn::Header, name, words, schema)
}
