//! Errors of the API: their status, code and body.

use std::fmt::Display;

use jiff::Timestamp;
use log::{Level, log};

use super::error_body::{Allowed, ErrorBody, ErrorDetail, ErrorFormat, Facts, Problem};
use super::failure::{Failure, Row};
use crate::account::plan::PlanTable;
use crate::account::rate_limit::RateLimitState;
use crate::account::service::AccountError;
use crate::base::ids::{RequestId, RunId};
use crate::base::storage::StorageError;
use crate::http::{Refusal, Response, RouteError};
use crate::model::quota::Policy;
use crate::model::watch::{ChangeKind, WatchError};
use crate::modules::catalog::ChoiceError;
use crate::runs::batches::draft::InvalidRow;
use crate::runs::batches::table::TableError;
use crate::runs::diff::NotComparable;
use crate::webhooks::registry::{WebhookError, event_names};

/// An error that becomes a response.
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

    /// Creates an error about one part of the request.
    fn about(failure: Failure, field: &str, message: impl Into<String>) -> Self {
        Self::with_facts(failure, message, Facts { field: Some(field.to_owned()), ..Facts::default() })
    }

    /// Returns the message for people.
    pub(super) fn message(&self) -> &str {
        &self.0.message
    }

    /// Adds a cause, which only the log shows.
    pub(super) fn with_cause(mut self, cause: impl Display) -> Self {
        self.0.cause = Some(cause.to_string());
        self
    }

    /// Adds the id of the run that the request has started, found or read.
    pub(super) fn of_run(mut self, run: RunId) -> Self {
        self.0.message.push_str(&format!("; the search is {run}: `get_run` reads it, and costs nothing"));
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

    /// Returns 400: a field is missing or invalid. Names the field, the mistake and what is allowed.
    pub fn invalid_request(field: &str, message: impl Into<String>, allowed: impl Into<Allowed>) -> Self {
        Self::about(Failure::InvalidRequest, field, message).allowing(allowed)
    }

    /// Returns 400: the request as a whole is invalid.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(Failure::InvalidRequest, message)
    }

    /// Returns 401: the key is missing, malformed, unknown or revoked, or there are two different ones.
    pub fn invalid_api_key(message: &str) -> Self {
        Self::new(Failure::InvalidApiKey, message).with_header("WWW-Authenticate", "Bearer")
    }

    /// Returns 402: the credits are not enough for the search.
    pub fn insufficient_credits(limit: u64, used: u64, cost: u64, period_end: Timestamp) -> Self {
        let facts = Facts {
            limit: Some(limit),
            cost: Some(cost),
            remaining: Some(limit.saturating_sub(used)),
            period_end: Some(period_end),
            ..Facts::default()
        };
        let message = "not enough credits in this billing cycle for this search";
        Self::with_facts(Failure::InsufficientCredits, message, facts)
    }

    /// Returns 403: another plan is needed, one of `plans`.
    pub fn plan_required(message: &str, plans: &[&str]) -> Self {
        let plans = plans.iter().map(|plan| (*plan).to_owned()).collect();
        Self::with_facts(Failure::PlanRequired, message, Facts { plans: Some(plans), ..Facts::default() })
    }

    /// Returns 403: the plan does not include premium searches.
    pub(super) fn premium_required(plans: &PlanTable) -> Self {
        let plans = plans.names_where(|plan| plan.premium);
        Self::plan_required("the plan of this account does not include premium searches", &plans)
    }

    /// Returns 403: the query is on the operator's list of identifiers that are never searched.
    pub fn suppressed() -> Self {
        Self::new(Failure::Suppressed, "this identifier is never searched here; nothing was charged")
    }

    /// Returns 404: the thing that a path names is unknown, foreign or deleted, or its id is malformed. The message is
    /// the same in each case.
    pub fn no_such(thing: &str) -> Self {
        Self::not_found(&format!("unknown {thing}"))
    }

    /// Returns 404: what a path names is unknown. The message says what.
    pub fn not_found(message: &str) -> Self {
        Self::new(Failure::NotFound, message)
    }

    /// Returns 400: searches of a batch are not valid. `rows` holds the first of them.
    pub fn invalid_searches(number: usize, rows: Vec<InvalidRow>) -> Self {
        let message = match number {
            1 => "1 search is not valid; nothing was accepted".to_owned(),
            more => format!("{more} searches are not valid; nothing was accepted"),
        };
        let mut error = Self::invalid_request("searches", message, "searches that are all valid");
        error.0.facts.rows = Some(rows);
        error
    }

    /// Returns the field, the mistake and what is allowed, for an answer about several mistakes.
    pub(super) fn told(self) -> (String, String, String) {
        let Parts { message, facts, .. } = *self.0;
        let allowed = match facts.allowed {
            Some(Allowed::Words(words)) => words,
            Some(Allowed::Values(values)) => values.join(", "),
            None => String::new(),
        };
        (facts.field.unwrap_or_default(), message, allowed)
    }

    /// Returns 409: the state of the account or of the webhook does not allow the request.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(Failure::Conflict, message)
    }

    /// Returns 405: the path does not support the method.
    pub fn method_not_allowed(allow: &str) -> Self {
        Self::new(Failure::MethodNotAllowed, format!("method not allowed: this address supports {allow}"))
            .allowing(allow.split(", ").collect::<Vec<_>>().as_slice())
            .with_header("Allow", allow)
    }

    /// Returns 409: a request with the same idempotency key is in progress.
    pub fn idempotency_conflict() -> Self {
        Self::new(Failure::IdempotencyConflict, "a request with this Idempotency-Key is still in progress")
            .retry_after(1)
    }

    /// Returns 409 or 422: the two runs cannot be compared.
    pub fn not_comparable(why: NotComparable) -> Self {
        let failure = match why {
            NotComparable::Running => Failure::RunNotEnded,
            NotComparable::OtherQuery | NotComparable::OtherWeb => Failure::RunsDiffer,
        };
        Self::new(failure, why.to_string())
    }

    /// Returns 415: the body is not JSON.
    pub fn unsupported_media_type() -> Self {
        let message = "unsupported content type: the body must be application/json (UTF-8)";
        Self::about(Failure::UnsupportedMediaType, "Content-Type", message).allowing("application/json")
    }

    /// Returns 415: the body of a batch is neither JSON nor CSV.
    pub fn unsupported_batch_type() -> Self {
        let message = "unsupported content type: the body must be application/json or text/csv (UTF-8)";
        let allowed = ["application/json", "text/csv"];
        Self::about(Failure::UnsupportedMediaType, "Content-Type", message).allowing(&allowed[..])
    }

    /// Returns 422: the idempotency key was used for another body, or for a run that was deleted.
    pub fn idempotency_mismatch() -> Self {
        let message =
            "this Idempotency-Key was used for another request body, or for a search that was deleted";
        Self::about(Failure::IdempotencyMismatch, "Idempotency-Key", message)
    }

    /// Returns 429: a rate limit is reached.
    pub fn rate_limited(state: &RateLimitState) -> Self {
        let policy = state.policy.as_str();
        let facts = Facts { policy: Some(policy), limit: Some(state.limit.into()), ..Facts::default() };
        let message = format!("more than {} {policy} requests in a minute", state.limit);
        Self::with_facts(Failure::RateLimited, message, facts).retry_after(state.reset_secs)
    }

    /// Returns 503: the store is unavailable.
    pub fn unavailable() -> Self {
        Self::new(Failure::Unavailable, "the service cannot reach its database").retry_after(2)
    }

    /// Returns 503: the process is shutting down. The next process or another instance can take the request.
    pub fn shutting_down() -> Self {
        Self::new(Failure::Unavailable, "the service is shutting down; nothing was charged").retry_after(1)
    }

    /// Returns 503: no browser answers, for a premium search or a PDF.
    pub fn premium_unavailable() -> Self {
        let message = "no browser is available, which premium searches and PDFs need; nothing was charged";
        Self::new(Failure::PremiumUnavailable, message).retry_after(60)
    }

    /// Returns 503: the server has no key for the secrets of webhooks.
    pub fn webhooks_unavailable() -> Self {
        Self::new(Failure::WebhooksUnavailable, WebhookError::NoKey.to_string()).retry_after(3600)
    }

    /// Returns 503: all threads or queues are full.
    pub fn overloaded(retry_after_secs: u64) -> Self {
        let message = "the service is overloaded; nothing was charged";
        Self::new(Failure::Overloaded, message).retry_after(retry_after_secs.max(1))
    }

    /// Returns 500: a defect of the service. Only the log shows the cause.
    pub fn internal(cause: impl Display) -> Self {
        let message = "internal error; the service's log has the cause under the request_id";
        Self::new(Failure::Internal, message).with_cause(cause)
    }

    /// Returns an example of this failure for the documentation.
    pub fn example(failure: Failure) -> Self {
        let period_end = Timestamp::from_second(1_780_272_000).unwrap_or_default();
        match failure {
            Failure::InvalidRequest => Self::invalid_request("query", "query is missing", "a string"),
            Failure::InvalidApiKey => AccountError::InvalidKey.into(),
            Failure::InsufficientCredits => Self::insufficient_credits(100, 100, 1, period_end),
            Failure::PlanRequired => Self::plan_required(
                "the plan of this account does not include API access",
                &["pro", "unlimited"],
            ),
            Failure::Suppressed => Self::suppressed(),
            Failure::NotFound => Self::no_such("run"),
            Failure::MethodNotAllowed => Self::method_not_allowed("GET, HEAD, OPTIONS"),
            Failure::BodyTimeout => Refusal::BodyTimeout.into(),
            Failure::IdempotencyConflict => Self::idempotency_conflict(),
            Failure::RunNotEnded => Self::not_comparable(NotComparable::Running),
            Failure::Conflict => WebhookError::TooMany.into(),
            Failure::LengthRequired => Refusal::LengthRequired.into(),
            Failure::PayloadTooLarge => Refusal::BodyTooLarge.into(),
            Failure::TargetTooLong => Refusal::TargetTooLong.into(),
            Failure::UnsupportedMediaType => Self::unsupported_media_type(),
            Failure::IdempotencyMismatch => Self::idempotency_mismatch(),
            Failure::RunsDiffer => Self::not_comparable(NotComparable::OtherQuery),
            Failure::RateLimited => {
                let policy = Policy::Search;
                Self::rate_limited(&RateLimitState { policy, limit: 30, remaining: 0, reset_secs: 2 })
            }
            Failure::HeadTooLarge => Refusal::HeadTooLarge.into(),
            Failure::Internal => Self::internal("an example"),
            Failure::Unavailable => Self::unavailable(),
            Failure::PremiumUnavailable => Self::premium_unavailable(),
            Failure::WebhooksUnavailable => Self::webhooks_unavailable(),
            Failure::Overloaded => Self::overloaded(5),
        }
    }

    /// Returns the body in one of its two formats.
    pub fn body(&self, request_id: &str, format: &ErrorFormat) -> Vec<u8> {
        let Parts { failure, message, facts, .. } = &*self.0;
        let Row { status, code: error, .. } = failure.row();
        let body = match format {
            ErrorFormat::Problem { base_url } => {
                let kind = &format!("{base_url}/manual/problems#{}", error.as_str());
                let (title, detail) = (error.title(), message);
                serde_json::to_vec(&Problem { kind, title, status, detail, error, request_id, facts })
            }
            ErrorFormat::Json => {
                let detail = ErrorDetail { error, message, request_id, facts };
                serde_json::to_vec(&ErrorBody { error, message, detail })
            }
        };
        // Cannot fail: the types have only string keys and finite numbers, and the target is memory.
        body.unwrap_or_default()
    }

    /// Returns the response. Logs an internal failure once, with the request id that the response contains.
    pub fn into_response(self, request_id: &RequestId, format: &ErrorFormat) -> Response {
        let body = self.body(request_id.as_str(), format);
        let parts = *self.0;
        let Row { status, code, .. } = parts.failure.row();
        if status >= 500 {
            let level = match parts.failure {
                Failure::Internal => Level::Error,
                // The store logs once for all requests that it is unavailable.
                Failure::Unavailable => Level::Debug,
                _ => Level::Warn,
            };
            let cause = parts.cause.as_deref().unwrap_or(&parts.message);
            let id = request_id.as_str();
            log!(level, request_id = id; "answers {status} {}: {cause}", code.as_str());
        }
        let mut response = Response::new(status, format.media_type(), body);
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
            error => Self::internal(error),
        }
    }
}

impl From<WebhookError> for ApiError {
    fn from(error: WebhookError) -> Self {
        let message = error.to_string();
        match error {
            WebhookError::NoKey => Self::webhooks_unavailable(),
            WebhookError::InvalidUrl(invalid) => {
                Self::invalid_request("url", "url is not allowed", invalid.to_string())
            }
            WebhookError::InvalidEvents => {
                Self::invalid_request("events", "events are unknown or empty", &event_names()[..])
            }
            WebhookError::TooMany | WebhookError::Disabled => Self::conflict(message),
            WebhookError::UnknownAccount => AccountError::InvalidKey.into(),
            WebhookError::UnknownWebhook => Self::no_such("webhook"),
            WebhookError::UnknownDelivery => Self::no_such("delivery"),
            WebhookError::Random(_) => Self::internal(message),
            WebhookError::Storage(error) => error.into(),
        }
    }
}

impl From<WatchError> for ApiError {
    fn from(error: WatchError) -> Self {
        let message = error.to_string();
        match error {
            WatchError::InvalidKinds => {
                let allowed = ChangeKind::ALL.map(ChangeKind::as_str);
                Self::invalid_request("notify_on", "notify_on is unknown or empty", &allowed[..])
            }
            WatchError::UnknownWebhook => {
                Self::invalid_request("webhook_id", message, "the id of a webhook of this account")
            }
            WatchError::Mismatch => Self::idempotency_mismatch(),
            WatchError::TooMany | WatchError::InvalidQuery => Self::conflict(message),
            WatchError::UnknownAccount => AccountError::InvalidKey.into(),
            WatchError::UnknownWatch => Self::no_such("watch"),
            WatchError::Storage(error) => error.into(),
        }
    }
}

impl From<StorageError> for ApiError {
    fn from(error: StorageError) -> Self {
        if error.is_unavailable() { Self::unavailable().with_cause(error) } else { Self::internal(error) }
    }
}

impl From<TableError> for ApiError {
    fn from(error: TableError) -> Self {
        Self::invalid_request("searches", error.message, error.allowed)
    }
}

impl From<ChoiceError> for ApiError {
    fn from(error: ChoiceError) -> Self {
        let mut refusal = Self::invalid_request(error.part.field(), error.message, error.allowed);
        refusal.0.facts.names = Some(error.names).filter(|names| !names.is_empty());
        refusal
    }
}

impl From<RouteError> for ApiError {
    fn from(error: RouteError) -> Self {
        match error {
            RouteError::NotFound => Self::no_such("address"),
            RouteError::MethodNotAllowed(allow) => Self::method_not_allowed(&allow),
        }
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Malformed(what) => Self::malformed(what),
            Refusal::BodyTimeout => {
                Self::about(Failure::BodyTimeout, "body", "the body did not arrive in time")
            }
            Refusal::LengthRequired => Self::about(
                Failure::LengthRequired,
                "body",
                "send a Content-Length: a body in chunks is only read behind a proxy that collects it",
            ),
            Refusal::BodyTooLarge => {
                Self::about(Failure::PayloadTooLarge, "body", "the body is larger than allowed")
                    .allowing("at most 65536 bytes, and 2097152 bytes for a batch")
            }
            Refusal::TargetTooLong => {
                Self::about(Failure::TargetTooLong, "target", "the request target is too long")
            }
            Refusal::HeadTooLarge => {
                Self::about(Failure::HeadTooLarge, "headers", "the request headers are too large")
            }
            Refusal::Overloaded { retry_after } => Self::overloaded(retry_after.as_secs()),
            Refusal::ShuttingDown => Self::shutting_down(),
            Refusal::Internal => Self::internal("the handler panicked"),
        }
    }
}
