//! Parameters that several operations share.

use serde_json::json;
use utoipa::IntoParams;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};

/// The ids in paths: the name of the segment, and of the thing that it identifies.
const IDS: [(&str, &str); 5] = [
    ("run_id", "run"),
    ("batch_id", "batch"),
    ("watch_id", "watch"),
    ("webhook_id", "webhook"),
    ("delivery_id", "delivery"),
];

/// Returns the parameters for the ids in a path.
pub(super) fn ids(path: &str) -> impl Iterator<Item = Parameter> {
    IDS.into_iter()
        .filter(move |(name, _)| path.contains(&format!("{{{name}}}")))
        .map(|(name, thing)| id(name, thing))
}

fn id(name: &str, thing: &str) -> Parameter {
    let text = format!(
        "Identifies the {thing}: the hyphenated form of a UUID. A malformed id gets 404, like an unknown one."
    );
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
        .examples([json!("018f4a7e-5c1d-7b3a-9e2f-0123456789ab")]);
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(text))
        .schema(Some(schema))
        .build()
}

/// Returns the parameter for the caller's own request id, which every request may have.
pub(super) fn request_id() -> Parameter {
    let text = "The caller's own id of this request: 1 to 64 of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`. It comes back \
                in the answer and stands in the log. Anything else is replaced by a new id.";
    let schema = ObjectBuilder::new().schema_type(Type::String).examples([json!("my-request-1")]);
    ParameterBuilder::new()
        .name("X-Request-Id")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(text))
        .schema(Some(schema))
        .build()
}

/// `If-None-Match`, for operations whose answers have an `ETag`.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
pub struct IfNoneMatch {
    /// Entity tags of answers that the caller has (`ETag`), or `*`. If one of them is current, the answer is
    /// 304 without a body. Compared weakly (RFC 9110).
    #[param(rename = "If-None-Match", nullable = false, example = "\"5d41402abc4b2a76b9719d911017c592\"")]
    pub if_none_match: Option<String>,
}
