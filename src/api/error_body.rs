//! The two formats of an error body: `error` with `detail`, and RFC 9457.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::failure::Code;
use crate::base::clock::millis;
use crate::runs::batches::draft::InvalidRow;

/// The format of the errors that a request gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorFormat {
    /// `application/json`.
    Json,
    /// `application/problem+json` (RFC 9457). The types of problems are sections of the manual.
    Problem {
        /// The address of the service, without a slash at its end.
        base_url: Arc<str>,
    },
}

impl ErrorFormat {
    /// Returns the media type.
    pub fn media_type(&self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Problem { .. } => "application/problem+json",
        }
    }
}

/// An error. `detail` repeats code and message, for clients that read only `detail`, and adds facts about the
/// error.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiError)]
pub struct ErrorBody<'a> {
    /// Code of the error, for programs.
    pub error: Code,
    /// Description for people; the wording may change.
    #[schema(examples("query is missing"))]
    pub message: &'a str,
    /// The same code and message, with facts about the error.
    pub detail: ErrorDetail<'a>,
}

/// Code and message of the error, with facts about it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiErrorDetail)]
pub struct ErrorDetail<'a> {
    /// Code of the error, for programs.
    pub error: Code,
    /// Description for people; the wording may change.
    #[schema(examples("query is missing"))]
    pub message: &'a str,
    /// Id of the request, as in `X-Request-Id`: the operator finds the cause in the log with it.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$", examples("b9f6a1d2c3e44f5a8b7c6d5e4f3a2b1c"))]
    pub request_id: &'a str,
    /// Facts about the error.
    #[serde(flatten)]
    pub facts: &'a Facts,
}

/// An error in the format of RFC 9457, sent if `Accept` asks for `application/problem+json`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem<'a> {
    /// Address of the section of the manual about this kind of error. It ends with the code.
    #[serde(rename = "type")]
    #[schema(
        pattern = "/manual/problems#[a-z_]+$",
        examples("https://search.example.org/manual/problems#invalid_request")
    )]
    pub kind: &'a str,
    /// The kind of error, for people; the same for all errors with this code.
    #[schema(examples("Invalid request"))]
    pub title: &'static str,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599, examples(400))]
    pub status: u16,
    /// Description for people; the wording may change.
    #[schema(examples("query is missing"))]
    pub detail: &'a str,
    /// Code of the error, for programs.
    pub error: Code,
    /// Id of the request, as in `X-Request-Id`: the operator finds the cause in the log with it.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$", examples("b9f6a1d2c3e44f5a8b7c6d5e4f3a2b1c"))]
    pub request_id: &'a str,
    /// Facts about the error.
    #[serde(flatten)]
    pub facts: &'a Facts,
}

/// Facts about an error. Each member is present only if it applies.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[schema(as = ApiErrorFacts)]
pub struct Facts {
    /// The invalid part: a member of the body, a parameter, a header, or `body`, `target`, `headers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("query"))]
    pub field: Option<String>,
    /// The allowed values: a description, or all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub allowed: Option<Allowed>,
    /// Refused names, at most twenty, each cut at 64 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(json!(["githup"])))]
    pub names: Option<Vec<String>>,
    /// Searches of a batch that are not valid; the first 100 of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 100)]
    pub rows: Option<Vec<InvalidRow>>,
    /// The limit that was reached: credits of the billing period, or requests per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(100))]
    pub limit: Option<u64>,
    /// Cost of the search in credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(1))]
    pub cost: Option<u64>,
    /// Credits that are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(0))]
    pub remaining: Option<u64>,
    /// Time at which the credits are renewed: RFC 3339, UTC, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", with = "millis::option")]
    #[schema(nullable = false, examples("2026-06-01T00:00:00.000Z"))]
    pub period_end: Option<Timestamp>,
    /// Plans that include the feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(json!(["pro", "unlimited"])))]
    pub plans: Option<Vec<String>>,
    /// The rate limit that was reached: `search`, `stream` or `read`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("search"))]
    pub policy: Option<&'static str>,
    /// Whole seconds to wait before a retry, as in `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, examples(41))]
    pub retry_after: Option<u64>,
}

/// The allowed values: a description, or all of them.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = AllowedValues)]
pub enum Allowed {
    /// A description.
    Words(String),
    /// All values.
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
