//! The table of failures: status, code, cause and facts. The documentation is made from it, and only failures
//! of this table can be sent.

use serde::Serialize;
use utoipa::ToSchema;

/// Code of an error. Further codes may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ErrorCode)]
#[expect(missing_docs, reason = "explained in the table of failures")]
pub enum Code {
    InvalidRequest,
    InvalidApiKey,
    InsufficientCredits,
    PlanRequired,
    Suppressed,
    NotFound,
    MethodNotAllowed,
    IdempotencyConflict,
    RunNotEnded,
    Conflict,
    PayloadTooLarge,
    UnsupportedMediaType,
    IdempotencyMismatch,
    RunsDiffer,
    RateLimited,
    InternalError,
    Unavailable,
    PremiumUnavailable,
    WebhooksUnavailable,
    Overloaded,
}

impl Code {
    /// Returns the code as text, such as `invalid_request`.
    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    /// Returns the title of the problem type (RFC 9457), as the manual has it.
    pub fn title(self) -> &'static str {
        self.row().1
    }

    fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::InvalidRequest => ("invalid_request", "Invalid request"),
            Self::InvalidApiKey => ("invalid_api_key", "Invalid API key"),
            Self::InsufficientCredits => ("insufficient_credits", "Insufficient credits"),
            Self::PlanRequired => ("plan_required", "Another plan is required"),
            Self::Suppressed => ("suppressed", "The identifier is never searched"),
            Self::NotFound => ("not_found", "Not found"),
            Self::MethodNotAllowed => ("method_not_allowed", "Method not allowed"),
            Self::IdempotencyConflict => {
                ("idempotency_conflict", "A request with the same key is in progress")
            }
            Self::RunNotEnded => ("run_not_ended", "The run has not ended"),
            Self::Conflict => ("conflict", "Conflict with the present state"),
            Self::PayloadTooLarge => ("payload_too_large", "Payload too large"),
            Self::UnsupportedMediaType => ("unsupported_media_type", "Unsupported media type"),
            Self::IdempotencyMismatch => ("idempotency_mismatch", "The key was used for another body"),
            Self::RunsDiffer => ("runs_differ", "The runs differ"),
            Self::RateLimited => ("rate_limited", "Rate limited"),
            Self::InternalError => ("internal_error", "Internal error"),
            Self::Unavailable => ("unavailable", "Unavailable"),
            Self::PremiumUnavailable => ("premium_unavailable", "Premium searches are unavailable"),
            Self::WebhooksUnavailable => ("webhooks_unavailable", "Webhooks are unavailable"),
            Self::Overloaded => ("overloaded", "Overloaded"),
        }
    }
}

/// A way in which a request can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is explained in the table")]
pub enum Failure {
    InvalidRequest,
    InvalidApiKey,
    InsufficientCredits,
    PlanRequired,
    Suppressed,
    NotFound,
    MethodNotAllowed,
    BodyTimeout,
    IdempotencyConflict,
    RunNotEnded,
    Conflict,
    LengthRequired,
    PayloadTooLarge,
    TargetTooLong,
    UnsupportedMediaType,
    IdempotencyMismatch,
    RunsDiffer,
    RateLimited,
    HeadTooLarge,
    Internal,
    Unavailable,
    PremiumUnavailable,
    WebhooksUnavailable,
    Overloaded,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// HTTP status.
    pub status: u16,
    /// The code.
    pub code: Code,
    /// When the failure arises, for the documentation.
    pub when: &'static str,
    /// Members of `detail` that are always present, besides `error`, `message` and `request_id`.
    pub facts: &'static [&'static str],
    /// Headers that are always present, besides those of every answer.
    pub headers: &'static [&'static str],
}

impl Failure {
    /// All failures, by status.
    pub const ALL: [Self; 24] = [
        Self::InvalidRequest,
        Self::InvalidApiKey,
        Self::InsufficientCredits,
        Self::PlanRequired,
        Self::Suppressed,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::BodyTimeout,
        Self::IdempotencyConflict,
        Self::RunNotEnded,
        Self::Conflict,
        Self::LengthRequired,
        Self::PayloadTooLarge,
        Self::TargetTooLong,
        Self::UnsupportedMediaType,
        Self::IdempotencyMismatch,
        Self::RunsDiffer,
        Self::RateLimited,
        Self::HeadTooLarge,
        Self::Internal,
        Self::Unavailable,
        Self::PremiumUnavailable,
        Self::WebhooksUnavailable,
        Self::Overloaded,
    ];

    /// Returns the row of this failure.
    #[expect(clippy::too_many_lines, reason = "a table with one row for each failure")]
    pub fn row(self) -> Row {
        let row = |status, code, when| Row { status, code, when, facts: &[], headers: &[] };
        match self {
            Self::InvalidRequest => row(
                400,
                Code::InvalidRequest,
                "The request is malformed, or a value in it is not allowed: `field` names it, `allowed` says what is allowed.",
            ),
            Self::InvalidApiKey => row(
                401,
                Code::InvalidApiKey,
                "The API key is missing, malformed, unknown or revoked, or two different ones were sent.",
            )
            .headers(&["WWW-Authenticate"]),
            Self::InsufficientCredits => row(
                402,
                Code::InsufficientCredits,
                "The credits of this billing period are not enough. Nothing was charged.",
            )
            .facts(&["limit", "cost", "remaining", "period_end"]),
            Self::PlanRequired => row(
                403,
                Code::PlanRequired,
                "The account's plan does not include the API or premium searches. Nothing was charged.",
            )
            .facts(&["plans"]),
            Self::Suppressed => row(
                403,
                Code::Suppressed,
                "The query is on the operator's list of identifiers that are never searched. Nothing was charged.",
            ),
            Self::NotFound => row(
                404,
                Code::NotFound,
                "The address is unknown, or the caller has no such run, batch, watch, webhook or delivery: unknown, foreign, deleted and malformed ids get the same answer.",
            ),
            Self::MethodNotAllowed => row(
                405,
                Code::MethodNotAllowed,
                "The address does not support this method; `Allow` lists those that it supports.",
            )
            .facts(&["allowed"])
            .headers(&["Allow"]),
            Self::LengthRequired => {
                row(411, Code::InvalidRequest, "The body comes in chunks.").facts(&["field"])
            }
            Self::BodyTimeout => {
                row(408, Code::InvalidRequest, "The body did not arrive in time.").facts(&["field"])
            }
            Self::IdempotencyConflict => row(
                409,
                Code::IdempotencyConflict,
                "A request with the same `Idempotency-Key` is still in progress.",
            )
            .retry(&["retry_after"]),
            Self::RunNotEnded => row(
                409,
                Code::RunNotEnded,
                "A run is in progress, and only runs that have ended can be compared.",
            ),
            Self::Conflict => row(
                409,
                Code::Conflict,
                "The account has the most webhooks or watches that are allowed, the webhook is disabled, or the lead cannot be followed.",
            ),
            Self::PayloadTooLarge => {
                row(413, Code::PayloadTooLarge, "The body is larger than 64 KiB, or than 2 MiB for a batch.")
                    .facts(&["field", "allowed"])
            }
            Self::TargetTooLong => {
                row(414, Code::InvalidRequest, "The address is longer than 8 KiB.").facts(&["field"])
            }
            Self::UnsupportedMediaType => row(
                415,
                Code::UnsupportedMediaType,
                "The body is not sent as `application/json`, or for a batch as `text/csv`.",
            )
            .facts(&["field", "allowed"]),
            Self::IdempotencyMismatch => row(
                422,
                Code::IdempotencyMismatch,
                "The `Idempotency-Key` was used for another body within the last 24 hours.",
            )
            .facts(&["field"]),
            Self::RunsDiffer => row(
                422,
                Code::RunsDiffer,
                "The runs have different types or queries, or only one of them is of the simulated web.",
            ),
            Self::RateLimited => {
                row(429, Code::RateLimited, "The account has made too many requests in a minute.").retry(&[
                    "policy",
                    "limit",
                    "retry_after",
                ])
            }
            Self::HeadTooLarge => row(
                431,
                Code::InvalidRequest,
                "The request has more than 100 headers, or they are larger than 32 KiB.",
            )
            .facts(&["field"]),
            Self::Internal => {
                row(500, Code::InternalError, "The service failed; its log has the cause under `request_id`.")
            }
            Self::Unavailable => {
                row(503, Code::Unavailable, "The database is not reachable, or the service is shutting down.")
                    .retry(&["retry_after"])
            }
            Self::PremiumUnavailable => row(
                503,
                Code::PremiumUnavailable,
                "No browser is available at the moment, which premium searches and PDF reports need. Nothing was charged.",
            )
            .retry(&["retry_after"]),
            Self::WebhooksUnavailable => {
                row(503, Code::WebhooksUnavailable, "The operator of this server has not set up webhooks.")
                    .retry(&["retry_after"])
            }
            Self::Overloaded => row(
                503,
                Code::Overloaded,
                "All capacity for requests, streams or searches is in use. Nothing was charged.",
            )
            .retry(&["retry_after"]),
        }
    }
}

impl Row {
    fn facts(self, facts: &'static [&'static str]) -> Self {
        Self { facts, ..self }
    }

    fn headers(self, headers: &'static [&'static str]) -> Self {
        Self { headers, ..self }
    }

    fn retry(self, facts: &'static [&'static str]) -> Self {
        self.facts(facts).headers(&["Retry-After"])
    }
}
