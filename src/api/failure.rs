//! The one table of failures: status, code, when it arises, what it knows. The documentation is made from it,
//! and no error can be sent that does not stand in it.

use serde::Serialize;
use utoipa::ToSchema;

/// Which failure it is: what `error` says. Others may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ErrorCode)]
#[expect(missing_docs, reason = "explained at the failures that have them")]
pub enum Code {
    InvalidRequest,
    InvalidApiKey,
    InsufficientCredits,
    PlanRequired,
    Suppressed,
    NotFound,
    MethodNotAllowed,
    IdempotencyConflict,
    PayloadTooLarge,
    UnsupportedMediaType,
    IdempotencyMismatch,
    RateLimited,
    InternalError,
    Unavailable,
    PremiumUnavailable,
    Overloaded,
}

impl Code {
    /// `invalid_request`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidApiKey => "invalid_api_key",
            Self::InsufficientCredits => "insufficient_credits",
            Self::PlanRequired => "plan_required",
            Self::Suppressed => "suppressed",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::IdempotencyConflict => "idempotency_conflict",
            Self::PayloadTooLarge => "payload_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::IdempotencyMismatch => "idempotency_mismatch",
            Self::RateLimited => "rate_limited",
            Self::InternalError => "internal_error",
            Self::Unavailable => "unavailable",
            Self::PremiumUnavailable => "premium_unavailable",
            Self::Overloaded => "overloaded",
        }
    }
}

/// One way in which a request can fail.
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
    PayloadTooLarge,
    TargetTooLong,
    UnsupportedMediaType,
    IdempotencyMismatch,
    RateLimited,
    HeadTooLarge,
    Internal,
    Unavailable,
    PremiumUnavailable,
    Overloaded,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// HTTP status.
    pub status: u16,
    /// Code.
    pub code: Code,
    /// When it arises: for the documentation.
    pub when: &'static str,
    /// Members of `detail` that are always there, beside `error`, `message` and `request_id`.
    pub facts: &'static [&'static str],
    /// Headers that always come with it, beside those of every answer.
    pub headers: &'static [&'static str],
}

impl Failure {
    /// All of them, by status.
    pub const ALL: [Self; 19] = [
        Self::InvalidRequest,
        Self::InvalidApiKey,
        Self::InsufficientCredits,
        Self::PlanRequired,
        Self::Suppressed,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::BodyTimeout,
        Self::IdempotencyConflict,
        Self::PayloadTooLarge,
        Self::TargetTooLong,
        Self::UnsupportedMediaType,
        Self::IdempotencyMismatch,
        Self::RateLimited,
        Self::HeadTooLarge,
        Self::Internal,
        Self::Unavailable,
        Self::PremiumUnavailable,
        Self::Overloaded,
    ];

    /// Its row.
    pub fn row(self) -> Row {
        let row = |status, code, when| Row { status, code, when, facts: &[], headers: &[] };
        match self {
            Self::InvalidRequest => row(400, Code::InvalidRequest, "The request is malformed, or a value in it is not allowed: `field` says which, `allowed` what is."),
            Self::InvalidApiKey => row(401, Code::InvalidApiKey, "The API key is missing, malformed, unknown or revoked, or two different ones were sent.").headers(&["WWW-Authenticate"]),
            Self::InsufficientCredits => row(402, Code::InsufficientCredits, "The credits of this billing period do not suffice. Nothing was charged.").facts(&["limit", "cost", "remaining", "period_end"]),
            Self::PlanRequired => row(403, Code::PlanRequired, "The account's plan does not include what was asked for: the API, or premium searches. Nothing was charged.").facts(&["plans"]),
            Self::Suppressed => row(403, Code::Suppressed, "What is asked for is on the operator's list of identifiers that are never searched. Nothing was charged."),
            Self::NotFound => row(404, Code::NotFound, "There is nothing at this address, or no such run of the caller's: unknown, foreign, deleted and malformed run ids are answered alike."),
            Self::MethodNotAllowed => row(405, Code::MethodNotAllowed, "The address does not answer this method; `Allow` says which it does.").facts(&["allowed"]).headers(&["Allow"]),
            Self::BodyTimeout => row(408, Code::InvalidRequest, "The body did not come in time.").facts(&["field"]),
            Self::IdempotencyConflict => row(409, Code::IdempotencyConflict, "A request with the same `Idempotency-Key` is still being worked on.").retry(&["retry_after"]),
            Self::PayloadTooLarge => row(413, Code::PayloadTooLarge, "The body is larger than 64 KiB.").facts(&["field", "allowed"]),
            Self::TargetTooLong => row(414, Code::InvalidRequest, "The address is longer than 8 KiB.").facts(&["field"]),
            Self::UnsupportedMediaType => row(415, Code::UnsupportedMediaType, "The body is not sent as `application/json`.").facts(&["field", "allowed"]),
            Self::IdempotencyMismatch => row(422, Code::IdempotencyMismatch, "The `Idempotency-Key` was used for another body within the last 24 hours.").facts(&["field"]),
            Self::RateLimited => row(429, Code::RateLimited, "More requests than the account may make in a minute.").retry(&["policy", "limit", "retry_after"]),
            Self::HeadTooLarge => row(431, Code::InvalidRequest, "The request's headers are more than 100 or larger than 32 KiB.").facts(&["field"]),
            Self::Internal => row(500, Code::InternalError, "The service broke; `request_id` leads to the reason in its log."),
            Self::Unavailable => row(503, Code::Unavailable, "The database is not reachable, or the service is shutting down.").retry(&["retry_after"]),
            Self::PremiumUnavailable => row(503, Code::PremiumUnavailable, "Premium searches are not to be had here now. Nothing was charged.").retry(&["retry_after"]),
            Self::Overloaded => row(503, Code::Overloaded, "The capacity for requests, streams or searches is used up. Nothing was charged.").retry(&["retry_after"]),
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
