//! Which error is which status and code; one body that readers of both documented shapes understand.

use std::fmt::Display;

use log::{Level, log};
use serde_json::{Map, Value};

use crate::account::rate_limit::Standing;
use crate::account::service::AccountError;
use crate::base::clock::rfc3339_millis;
use crate::base::ids::RequestId;
use crate::base::storage::StorageError;
use crate::http::{Refusal, Response};
use crate::modules::catalog::ChoiceError;
use jiff::Timestamp;

/// An error as the contract shows it.
#[derive(Debug, Clone)]
pub struct ApiError(Box<Parts>);

#[derive(Debug, Clone)]
struct Parts {
    status: u16,
    code: &'static str,
    message: String,
    facts: Map<String, Value>,
    cause: Option<String>,
    headers: Vec<(&'static str, String)>,
}

impl ApiError {
    fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            status,
            code,
            message: message.into(),
            facts: Map::new(),
            cause: None,
            headers: Vec::new(),
        }))
    }

    /// What only the log may say.
    pub(super) fn because(mut self, cause: impl Display) -> Self {
        self.0.cause = Some(cause.to_string());
        self
    }

    fn with(mut self, fact: &str, value: impl Into<Value>) -> Self {
        self.0.facts.insert(fact.to_owned(), value.into());
        self
    }

    fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.headers.push((name, value.into()));
        self
    }

    fn retry_after(self, secs: u64) -> Self {
        self.with("retry_after", secs).with_header("Retry-After", secs.to_string())
    }

    /// 400: a field is missing or wrong; says which, what was wrong, and what is allowed.
    pub fn invalid_request(field: &str, message: impl Into<String>, allowed: impl Into<Value>) -> Self {
        Self::new(400, "invalid_request", message).with("field", field).with("allowed", allowed)
    }

    /// 400: the request as a whole is wrong.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request", message)
    }

    /// 401: no key, a malformed, unknown or revoked one, or two different ones.
    pub fn invalid_api_key(message: &str) -> Self {
        Self::new(401, "invalid_api_key", message).with_header("WWW-Authenticate", "Bearer")
    }

    /// 402: the pool does not hold what the search costs.
    pub fn insufficient_credits(limit: u64, used: u64, cost: u64, period_end: Timestamp) -> Self {
        Self::new(
            402,
            "insufficient_credits",
            "the credits of this billing cycle do not suffice for this search",
        )
        .with("limit", limit)
        .with("cost", cost)
        .with("remaining", limit.saturating_sub(used))
        .with("period_end", rfc3339_millis(period_end))
    }

    /// 403: another plan is needed, one of these.
    pub fn plan_required(message: &str, plans: &[&str]) -> Self {
        Self::new(403, "plan_required", message).with("plans", plans.to_vec())
    }

    /// 403: the operator was asked never to search for this.
    pub fn suppressed() -> Self {
        Self::new(403, "suppressed", "this identifier is never searched here; nothing was charged")
    }

    /// 404: there is no such path.
    pub fn no_such_path() -> Self {
        Self::new(404, "not_found", "there is nothing at this address")
    }

    /// 404: unknown, foreign, deleted or malformed run id; always the same words.
    pub fn no_such_run() -> Self {
        Self::new(404, "not_found", "there is no such run")
    }

    /// 405: the path exists, the method does not.
    pub fn method_not_allowed(allow: &str) -> Self {
        Self::new(405, "method_not_allowed", format!("this address answers {allow}"))
            .with("allowed", allow.split(", ").collect::<Vec<_>>())
            .with_header("Allow", allow)
    }

    /// 409: the same idempotency key is being worked on.
    pub fn idempotency_conflict() -> Self {
        Self::new(409, "idempotency_conflict", "a request with this Idempotency-Key is still in flight")
            .retry_after(1)
    }

    /// 415: a body that is not JSON.
    pub fn unsupported_media_type() -> Self {
        Self::new(415, "unsupported_media_type", "the body must be sent as application/json (UTF-8)")
            .with("field", "Content-Type")
            .with("allowed", "application/json")
    }

    /// 422: the same idempotency key, another body.
    pub fn idempotency_mismatch() -> Self {
        Self::new(422, "idempotency_mismatch", "this Idempotency-Key was used for another request body")
            .with("field", "Idempotency-Key")
    }

    /// 429: one policy is used up.
    pub fn rate_limited(standing: &Standing) -> Self {
        let policy = standing.policy.as_str();
        Self::new(429, "rate_limited", format!("more than {} {policy} requests in a minute", standing.limit))
            .with("policy", policy)
            .with("limit", standing.limit)
            .retry_after(standing.reset_secs)
    }

    /// 503: the store is down.
    pub fn unavailable() -> Self {
        Self::new(503, "unavailable", "the service cannot reach its database").retry_after(2)
    }

    /// 503: a premium search where no browser is configured.
    pub fn premium_unavailable() -> Self {
        Self::new(
            503,
            "premium_unavailable",
            "premium searches are not available here now; nothing was charged",
        )
        .retry_after(60)
    }

    /// 503: capacity is used up.
    pub fn overloaded(retry_after_secs: u64) -> Self {
        Self::new(503, "overloaded", "the service is at its limit; nothing was charged")
            .retry_after(retry_after_secs.max(1))
    }

    /// 500: a defect of ours.
    pub fn internal() -> Self {
        Self::new(500, "internal_error", "the service broke; the request_id leads to the reason in its log")
    }

    /// The answer. A failure of ours is logged here, once, with the id that leads from the answer to it.
    pub fn into_response(self, request_id: &RequestId, as_problem: bool) -> Response {
        let parts = *self.0;
        if parts.status >= 500 {
            let level = if parts.status == 500 { Level::Error } else { Level::Warn };
            let cause = parts.cause.as_deref().unwrap_or(&parts.message);
            log!(level, "{request_id} answers {} {}: {cause}", parts.status, parts.code);
        }
        let mut detail = Map::new();
        detail.insert("error".into(), parts.code.into());
        detail.insert("message".into(), parts.message.clone().into());
        detail.insert("request_id".into(), request_id.as_str().into());
        detail.extend(parts.facts);
        let mut body = Map::new();
        if as_problem {
            // RFC 9457.
            body.insert("type".into(), "about:blank".into());
            body.insert("title".into(), parts.code.into());
            body.insert("status".into(), parts.status.into());
            body.insert("detail".into(), parts.message.clone().into());
            detail.remove("message");
            body.extend(detail);
        } else {
            body.insert("error".into(), parts.code.into());
            body.insert("message".into(), parts.message.into());
            body.insert("detail".into(), detail.into());
        }
        let content_type = if as_problem { "application/problem+json" } else { "application/json" };
        let mut response =
            Response::new(parts.status, content_type, Value::Object(body).to_string().into_bytes());
        for (name, value) in parts.headers {
            response = response.with_header(name, value);
        }
        response
    }
}

impl From<AccountError> for ApiError {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::InvalidKey => Self::invalid_api_key("the API key is malformed, unknown or revoked"),
            AccountError::Storage(error) => error.into(),
            error => Self::internal().because(error),
        }
    }
}

impl From<StorageError> for ApiError {
    fn from(error: StorageError) -> Self {
        if error.is_unavailable() { Self::unavailable() } else { Self::internal() }.because(error)
    }
}

impl From<ChoiceError> for ApiError {
    fn from(error: ChoiceError) -> Self {
        let refusal = Self::invalid_request(error.part.field(), error.message, error.allowed);
        if error.names.is_empty() { refusal } else { refusal.with("names", error.names) }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Malformed(what) => Self::malformed(what),
            Refusal::BodyTimeout => {
                Self::new(408, "invalid_request", "the body did not come in time").with("field", "body")
            }
            Refusal::BodyTooLarge => Self::new(413, "payload_too_large", "the body is larger than 64 KiB")
                .with("field", "body")
                .with("allowed", "at most 65536 bytes"),
            Refusal::TargetTooLong => {
                Self::new(414, "invalid_request", "the address is too long").with("field", "target")
            }
            Refusal::HeadTooLarge => {
                Self::new(431, "invalid_request", "the request's head is too large").with("field", "headers")
            }
            Refusal::Overloaded { retry_after } => Self::overloaded(retry_after.as_secs()),
            Refusal::ShuttingDown => {
                Self::new(503, "unavailable", "the service is shutting down").retry_after(1)
            }
            Refusal::Internal => Self::internal().because("the handler panicked"),
        }
    }
}
