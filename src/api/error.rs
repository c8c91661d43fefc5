//! Which error is which status and code; one body that readers of both documented shapes understand.

use std::fmt::Display;

use log::{Level, log};

use super::failure::{Failure, Row};
use super::wire::error::{Allowed, ErrorBody, ErrorDetail, Facts, Problem};
use crate::account::rate_limit::{Policy, Standing};
use crate::account::service::AccountError;
use crate::base::ids::RequestId;
use crate::base::storage::StorageError;
use crate::http::{Refusal, Response, reason};
use crate::modules::catalog::ChoiceError;
use jiff::Timestamp;

/// An error as the contract shows it.
#[derive(Debug, Clone)]
pub struct ApiError(Box<Parts>);

#[derive(Debug, Clone)]
struct Parts {
    failure: Failure,
    message: String,
    facts: Facts,
    cause: Option<String>,
    headers: Vec<(&'static str, String)>,
}

impl ApiError {
    fn new(failure: Failure, message: impl Into<String>) -> Self {
        Self::with_facts(failure, message, Facts::default())
    }

    fn with_facts(failure: Failure, message: impl Into<String>, facts: Facts) -> Self {
        Self(Box::new(Parts { failure, message: message.into(), facts, cause: None, headers: Vec::new() }))
    }

    /// Something about this part of the request.
    fn about(failure: Failure, field: &str, message: impl Into<String>) -> Self {
        Self::with_facts(failure, message, Facts { field: Some(field.to_owned()), ..Facts::default() })
    }

    /// What only the log may say.
    pub(super) fn because(mut self, cause: impl Display) -> Self {
        self.0.cause = Some(cause.to_string());
        self
    }

    fn allowing(mut self, allowed: impl Into<Allowed>) -> Self {
        self.0.facts.allowed = Some(allowed.into());
        self
    }

    fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.headers.push((name, value.into()));
        self
    }

    fn retry_after(mut self, secs: u64) -> Self {
        self.0.facts.retry_after = Some(secs);
        self.with_header("Retry-After", secs.to_string())
    }

    /// 400: a field is missing or wrong; says which, what was wrong, and what is allowed.
    pub fn invalid_request(field: &str, message: impl Into<String>, allowed: impl Into<Allowed>) -> Self {
        Self::about(Failure::InvalidRequest, field, message).allowing(allowed)
    }

    /// 400: the request as a whole is wrong.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(Failure::InvalidRequest, message)
    }

    /// 401: no key, a malformed, unknown or revoked one, or two different ones.
    pub fn invalid_api_key(message: &str) -> Self {
        Self::new(Failure::InvalidApiKey, message).with_header("WWW-Authenticate", "Bearer")
    }

    /// 402: the pool does not hold what the search costs.
    pub fn insufficient_credits(limit: u64, used: u64, cost: u64, period_end: Timestamp) -> Self {
        let facts = Facts {
            limit: Some(limit),
            cost: Some(cost),
            remaining: Some(limit.saturating_sub(used)),
            period_end: Some(period_end),
            ..Facts::default()
        };
        let message = "the credits of this billing cycle do not suffice for this search";
        Self::with_facts(Failure::InsufficientCredits, message, facts)
    }

    /// 403: another plan is needed, one of these.
    pub fn plan_required(message: &str, plans: &[&str]) -> Self {
        let plans = plans.iter().map(|plan| (*plan).to_owned()).collect();
        Self::with_facts(Failure::PlanRequired, message, Facts { plans: Some(plans), ..Facts::default() })
    }

    /// 403: the operator was asked never to search for this.
    pub fn suppressed() -> Self {
        Self::new(Failure::Suppressed, "this identifier is never searched here; nothing was charged")
    }

    /// 404: there is no such path.
    pub fn no_such_path() -> Self {
        Self::new(Failure::NotFound, "there is nothing at this address")
    }

    /// 404: unknown, foreign, deleted or malformed run id; always the same words.
    pub fn no_such_run() -> Self {
        Self::new(Failure::NotFound, "there is no such run")
    }

    /// 405: the path exists, the method does not.
    pub fn method_not_allowed(allow: &str) -> Self {
        Self::new(Failure::MethodNotAllowed, format!("this address answers {allow}"))
            .allowing(allow.split(", ").collect::<Vec<_>>().as_slice())
            .with_header("Allow", allow)
    }

    /// 409: the same idempotency key is being worked on.
    pub fn idempotency_conflict() -> Self {
        Self::new(Failure::IdempotencyConflict, "a request with this Idempotency-Key is still in flight")
            .retry_after(1)
    }

    /// 415: a body that is not JSON.
    pub fn unsupported_media_type() -> Self {
        let message = "the body must be sent as application/json (UTF-8)";
        Self::about(Failure::UnsupportedMediaType, "Content-Type", message).allowing("application/json")
    }

    /// 422: the same idempotency key, another body.
    pub fn idempotency_mismatch() -> Self {
        let message = "this Idempotency-Key was used for another request body";
        Self::about(Failure::IdempotencyMismatch, "Idempotency-Key", message)
    }

    /// 429: one policy is used up.
    pub fn rate_limited(standing: &Standing) -> Self {
        let policy = standing.policy.as_str();
        let facts = Facts { policy: Some(policy), limit: Some(standing.limit.into()), ..Facts::default() };
        let message = format!("more than {} {policy} requests in a minute", standing.limit);
        Self::with_facts(Failure::RateLimited, message, facts).retry_after(standing.reset_secs)
    }

    /// 503: the store is down.
    pub fn unavailable() -> Self {
        Self::new(Failure::Unavailable, "the service cannot reach its database").retry_after(2)
    }

    /// 503: a premium search where no browser answers.
    pub fn premium_unavailable() -> Self {
        let message = "premium searches are not available here now; nothing was charged";
        Self::new(Failure::PremiumUnavailable, message).retry_after(60)
    }

    /// 503: capacity is used up.
    pub fn overloaded(retry_after_secs: u64) -> Self {
        let message = "the service is at its limit; nothing was charged";
        Self::new(Failure::Overloaded, message).retry_after(retry_after_secs.max(1))
    }

    /// 500: a defect of ours.
    pub fn internal() -> Self {
        let message = "the service broke; the request_id leads to the reason in its log";
        Self::new(Failure::Internal, message)
    }

    /// An error of that kind, for the documentation: each can be made.
    pub fn example(failure: Failure) -> Self {
        let period_end = Timestamp::from_second(1_780_272_000).unwrap_or_default();
        match failure {
            Failure::InvalidRequest => Self::invalid_request("query", "query is missing", "a string"),
            Failure::InvalidApiKey => AccountError::InvalidKey.into(),
            Failure::InsufficientCredits => Self::insufficient_credits(100, 100, 1, period_end),
            Failure::PlanRequired => {
                Self::plan_required("API access is not part of this account's plan", &["pro", "unlimited"])
            }
            Failure::Suppressed => Self::suppressed(),
            Failure::NotFound => Self::no_such_run(),
            Failure::MethodNotAllowed => Self::method_not_allowed("GET, HEAD, OPTIONS"),
            Failure::BodyTimeout => Refusal::BodyTimeout.into(),
            Failure::IdempotencyConflict => Self::idempotency_conflict(),
            Failure::PayloadTooLarge => Refusal::BodyTooLarge.into(),
            Failure::TargetTooLong => Refusal::TargetTooLong.into(),
            Failure::UnsupportedMediaType => Self::unsupported_media_type(),
            Failure::IdempotencyMismatch => Self::idempotency_mismatch(),
            Failure::RateLimited => {
                let policy = Policy::Search;
                Self::rate_limited(&Standing { policy, limit: 30, remaining: 0, reset_secs: 41 })
            }
            Failure::HeadTooLarge => Refusal::HeadTooLarge.into(),
            Failure::Internal => Self::internal(),
            Failure::Unavailable => Self::unavailable(),
            Failure::PremiumUnavailable => Self::premium_unavailable(),
            Failure::Overloaded => Self::overloaded(5),
        }
    }

    /// Its body, in one of the two forms.
    pub fn body(&self, request_id: &str, as_problem: bool) -> Vec<u8> {
        let Parts { failure, message, facts, .. } = &*self.0;
        let row = failure.row();
        let Row { status, code: error, .. } = row;
        let body = if as_problem {
            let (kind, title, detail) = ("about:blank", reason(row.status), message);
            serde_json::to_vec(&Problem { kind, title, status, detail, error, request_id, facts })
        } else {
            let detail = ErrorDetail { error, message, request_id, facts };
            serde_json::to_vec(&ErrorBody { error, message, detail })
        };
        // Our types have string keys and finite numbers alone: writing them to memory cannot fail.
        body.unwrap_or_default()
    }

    /// The answer. A failure of ours is logged here, once, with the id that leads from the answer to it.
    pub fn into_response(self, request_id: &RequestId, as_problem: bool) -> Response {
        let body = self.body(request_id.as_str(), as_problem);
        let parts = *self.0;
        let Row { status, code, .. } = parts.failure.row();
        if status >= 500 {
            let level = if status == 500 { Level::Error } else { Level::Warn };
            let cause = parts.cause.as_deref().unwrap_or(&parts.message);
            let id = request_id.as_str();
            log!(level, request_id = id; "answers {status} {}: {cause}", code.as_str());
        }
        let content_type = if as_problem { "application/problem+json" } else { "application/json" };
        let mut response = Response::new(status, content_type, body);
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
        let mut refusal = Self::invalid_request(error.part.field(), error.message, error.allowed);
        refusal.0.facts.names = Some(error.names).filter(|names| !names.is_empty());
        refusal
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Malformed(what) => Self::malformed(what),
            Refusal::BodyTimeout => {
                Self::about(Failure::BodyTimeout, "body", "the body did not come in time")
            }
            Refusal::BodyTooLarge => {
                Self::about(Failure::PayloadTooLarge, "body", "the body is larger than 64 KiB")
                    .allowing("at most 65536 bytes")
            }
            Refusal::TargetTooLong => {
                Self::about(Failure::TargetTooLong, "target", "the address is too long")
            }
            Refusal::HeadTooLarge => {
                Self::about(Failure::HeadTooLarge, "headers", "the request's head is too large")
            }
            Refusal::Overloaded { retry_after } => Self::overloaded(retry_after.as_secs()),
            Refusal::ShuttingDown => {
                Self::new(Failure::Unavailable, "the service is shutting down").retry_after(1)
            }
            Refusal::Internal => Self::internal().because("the handler panicked"),
        }
    }
}
