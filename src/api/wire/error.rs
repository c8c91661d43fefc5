//! The two bodies of an error: one that readers of both shapes of section 7 understand, and RFC 9457.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::failure::Code;
use crate::base::clock::millis;

/// What went wrong. `detail` repeats it for readers of the other documented shape, with what the case knows.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiError)]
pub struct ErrorBody<'a> {
    /// For programs.
    pub error: Code,
    /// For a person; the words may change.
    #[schema(examples("query is missing"))]
    pub message: &'a str,
    /// The same once more, and what the case knows.
    pub detail: ErrorDetail<'a>,
}

/// The error once more, with what the case knows.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiErrorDetail)]
pub struct ErrorDetail<'a> {
    /// For programs.
    pub error: Code,
    /// For a person; the words may change.
    #[schema(examples("query is missing"))]
    pub message: &'a str,
    /// The request's id, as in `X-Request-Id`: it leads to the reason in the operator's log.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$", examples("b9f6a1d2c3e44f5a8b7c6d5e4f3a2b1c"))]
    pub request_id: &'a str,
    /// What the case knows.
    #[serde(flatten)]
    pub facts: &'a Facts,
}

/// What went wrong, in the form of RFC 9457: sent where `Accept` asks for `application/problem+json`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem<'a> {
    /// Always `about:blank`.
    #[serde(rename = "type")]
    #[schema(pattern = "^about:blank$", examples("about:blank"))]
    pub kind: &'static str,
    /// The status in words, as RFC 9457 has it for `about:blank` (section 4.2.1); `error` tells more.
    #[schema(examples("Bad Request"))]
    pub title: &'static str,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599, examples(400))]
    pub status: u16,
    /// For a person; the words may change.
    #[schema(examples("query is missing"))]
    pub detail: &'a str,
    /// For programs.
    pub error: Code,
    /// The request's id, as in `X-Request-Id`: it leads to the reason in the operator's log.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$", examples("b9f6a1d2c3e44f5a8b7c6d5e4f3a2b1c"))]
    pub request_id: &'a str,
    /// What the case knows.
    #[serde(flatten)]
    pub facts: &'a Facts,
}

/// What the case knows; each member is there only where it says something.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[schema(as = ApiErrorFacts)]
pub struct Facts {
    /// What was wrong: a member of the body, a parameter, a header, or `body`, `target`, `headers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("query"))]
    pub field: Option<String>,
    /// What is allowed there: in words, or every value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub allowed: Option<Allowed>,
    /// The names that were refused, at most twenty, each cut at 64 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(json!(["githup"])))]
    pub names: Option<Vec<String>>,
    /// The limit that was passed: credits of the billing period, or requests in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(100))]
    pub limit: Option<u64>,
    /// What the search would have cost, in credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(1))]
    pub cost: Option<u64>,
    /// What is left, in credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(0))]
    pub remaining: Option<u64>,
    /// When the pool is filled again: RFC 3339, UTC, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", with = "millis::option")]
    #[schema(nullable = false, examples("2026-06-01T00:00:00.000Z"))]
    pub period_end: Option<Timestamp>,
    /// Plans that include what was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(json!(["pro", "unlimited"])))]
    pub plans: Option<Vec<String>>,
    /// The rate limit that was passed: `search`, `stream` or `read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("search"))]
    pub policy: Option<&'static str>,
    /// Whole seconds to wait before the request is tried again, as in `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, examples(41))]
    pub retry_after: Option<u64>,
}

/// What is allowed: in words, or every value.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = AllowedValues)]
pub enum Allowed {
    /// In words.
    Words(String),
    /// Every value.
    Values(Vec<String>),
}

impl From<&str> for Allowed {
    fn from(words: &str) -> Self {
        Self::Words(words.to_owned())
    }
}

impl From<String> for Allowed {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl From<&[&str]> for Allowed {
    fn from(values: &[&str]) -> Self {
        Self::Values(values.iter().map(|value| (*value).to_owned()).collect())
    }
}
