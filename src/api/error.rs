//! Errors of the API: their codes, and the one body that all of them have.

use std::fmt::Display;

use jiff::Timestamp;
use log::{Level, log};
use serde::Serialize;
use utoipa::ToSchema;

use crate::account::plan::PlanTable;
use crate::account::rate_limit::RateLimitState;
use crate::account::service::AccountError;
use crate::base::clock::millis;
use crate::base::ids::{RequestId, RunId};
use crate::base::storage::StorageError;
use crate::base::words::words;
use crate::http::{Refusal, Response, RouteError};
use crate::model::watch::{ChangeKind, WatchError};
use crate::modules::catalog::ChoiceError;
use crate::runs::batches::draft::InvalidRow;
use crate::runs::batches::table::TableError;
use crate::runs::diff::NotComparable;
use crate::service;
use crate::webhooks::registry::{WebhookError, event_names};

words! {
    /// Code of an error. Further codes may be added.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = ErrorCode)]
    #[expect(missing_docs, reason = "FAILURES explains each")]
    pub enum Code {
        InvalidRequest = "invalid_request",
        InvalidApiKey = "invalid_api_key",
        InsufficientCredits = "insufficient_credits",
        PlanRequired = "plan_required",
        Suppressed = "suppressed",
        NotFound = "not_found",
        MethodNotAllowed = "method_not_allowed",
        IdempotencyConflict = "idempotency_conflict",
        RunNotEnded = "run_not_ended",
        Conflict = "conflict",
        PayloadTooLarge = "payload_too_large",
        UnsupportedMediaType = "unsupported_media_type",
        IdempotencyMismatch = "idempotency_mismatch",
        RunsDiffer = "runs_differ",
        RateLimited = "rate_limited",
        InternalError = "internal_error",
        Unavailable = "unavailable",
        PremiumUnavailable = "premium_unavailable",
        WebhooksUnavailable = "webhooks_unavailable",
        Overloaded = "overloaded",
    }
}

/// All ways in which a request can fail, for the OpenAPI document: the status, the code, and when it happens.
pub const FAILURES: [(u16, Code, &str); 24] = [
    (
        400,
        Code::InvalidRequest,
        "The request is malformed, or a value in it is not allowed: `field` names it, `allowed` says what is allowed.",
    ),
    (
        401,
        Code::InvalidApiKey,
        "The API key is missing, malformed, unknown or revoked, or two different ones were sent.",
    ),
    (
        402,
        Code::InsufficientCredits,
        "The credits of this billing period are not enough: see `limit`, `cost`, `remaining` and `period_end`. Nothing was charged.",
    ),
    (
        403,
        Code::PlanRequired,
        "The account's plan does not include the API or premium searches: `plans` lists those that do. Nothing was charged.",
    ),
    (
        403,
        Code::Suppressed,
        "The query is on the operator's list of identifiers that are never searched. Nothing was charged.",
    ),
    (
        404,
        Code::NotFound,
        "The address is unknown, or the caller has no such run, batch, watch, webhook or delivery: unknown, foreign, deleted and malformed ids get the same answer.",
    ),
    (
        405,
        Code::MethodNotAllowed,
        "The address does not support this method; `Allow` lists those that it supports.",
    ),
    (408, Code::InvalidRequest, "The body did not arrive in time."),
    (409, Code::IdempotencyConflict, "A request with the same `Idempotency-Key` is still in progress."),
    (409, Code::RunNotEnded, "A run is in progress, and only runs that have ended can be compared."),
    (
        409,
        Code::Conflict,
        "The account has the maximum number of webhooks or watches, the webhook is disabled, or the lead cannot be followed.",
    ),
    (411, Code::InvalidRequest, "The body comes in chunks."),
    (413, Code::PayloadTooLarge, "The body is larger than 64 KiB, or than 2 MiB for a batch."),
    (414, Code::InvalidRequest, "The address is longer than 8 KiB."),
    (
        415,
        Code::UnsupportedMediaType,
        "The body is not sent as `application/json`, or for a batch as `text/csv`.",
    ),
    (
        422,
        Code::IdempotencyMismatch,
        "The `Idempotency-Key` was used for another body within the last 24 hours.",
    ),
    (
        422,
        Code::RunsDiffer,
        "The runs have different types or queries, or one is simulated and the other is not.",
    ),
    (429, Code::RateLimited, "The account has made too many requests in a minute: see `policy` and `limit`."),
    (431, Code::InvalidRequest, "The request has more than 100 headers, or they are larger than 32 KiB."),
    (500, Code::InternalError, "The service failed; its log has the cause under `request_id`."),
    (503, Code::Unavailable, "The database is not reachable, or the service is shutting down."),
    (
        503,
        Code::PremiumUnavailable,
        "No browser is available at the moment, which premium searches and PDF reports need. Nothing was charged.",
    ),
    (503, Code::WebhooksUnavailable, "The operator of this server has not set up webhooks."),
    (503, Code::Overloaded, "All capacity for requests, streams or searches is in use. Nothing was charged."),
];

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

/// Seconds after which a refused search can be tried again.
const OVERLOADED_RETRY_SECS: u64 = 5;

/// An error that becomes a response.
#[derive(Debug, Clone)]
pub struct ApiError(Box<Parts>);

#[derive(Debug, Clone)]
struct Parts {
    status: u16,
    code: Code,
    message: String,
    facts: Facts,
    cause: Option<String>,
    headers: Vec<(&'static str, String)>,
}

impl ApiError {
    fn new(status: u16, code: Code, message: impl Into<String>) -> Self {
        let (message, facts) = (message.into(), Facts::default());
        Self(Box::new(Parts { status, code, message, facts, cause: None, headers: Vec::new() }))
    }

    fn with_facts(mut self, facts: Facts) -> Self {
        self.0.facts = facts;
        self
    }

    /// Names the part of the request that the error is about.
    fn about(mut self, field: &str) -> Self {
        self.0.facts.field = Some(field.to_owned());
        self
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
        Self::new(400, Code::InvalidRequest, message).about(field).allowing(allowed)
    }

    /// Returns 400: the request as a whole is invalid.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(400, Code::InvalidRequest, message)
    }

    /// Returns 401: the key is missing, malformed, unknown or revoked, or there are two different ones.
    pub fn invalid_api_key(message: &str) -> Self {
        Self::new(401, Code::InvalidApiKey, message).with_header("WWW-Authenticate", "Bearer")
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
        Self::new(402, Code::InsufficientCredits, message).with_facts(facts)
    }

    /// Returns 403: another plan is needed, one of `plans`.
    pub fn plan_required(message: &str, plans: &[&str]) -> Self {
        let plans = plans.iter().map(|plan| (*plan).to_owned()).collect();
        let facts = Facts { plans: Some(plans), ..Facts::default() };
        Self::new(403, Code::PlanRequired, message).with_facts(facts)
    }

    /// Returns 403: the plan does not include premium searches.
    pub(super) fn premium_required(plans: &PlanTable) -> Self {
        let plans = plans.names_where(|plan| plan.premium);
        Self::plan_required("the plan of this account does not include premium searches", &plans)
    }

    /// Returns 403: the query is on the operator's list of identifiers that are never searched.
    pub fn suppressed() -> Self {
        Self::new(403, Code::Suppressed, "this identifier is never searched here; nothing was charged")
    }

    /// Returns 404: the thing that a path names is unknown, foreign or deleted, or its id is malformed. The message is
    /// the same in each case.
    pub fn no_such(thing: &str) -> Self {
        Self::not_found(&format!("unknown {thing}"))
    }

    /// Returns 404: what a path names is unknown. The message says what.
    pub fn not_found(message: &str) -> Self {
        Self::new(404, Code::NotFound, message)
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
        Self::new(409, Code::Conflict, message)
    }

    /// Returns 405: the path does not support the method.
    pub fn method_not_allowed(allow: &str) -> Self {
        Self::new(405, Code::MethodNotAllowed, format!("method not allowed: this address supports {allow}"))
            .allowing(allow.split(", ").collect::<Vec<_>>().as_slice())
            .with_header("Allow", allow)
    }

    /// Returns 409: a request with the same idempotency key is in progress.
    pub fn idempotency_conflict() -> Self {
        Self::new(409, Code::IdempotencyConflict, "a request with this Idempotency-Key is still in progress")
            .retry_after(1)
    }

    /// Returns 409 or 422: the two runs cannot be compared.
    pub fn not_comparable(why: NotComparable) -> Self {
        let (status, code) = match why {
            NotComparable::Running => (409, Code::RunNotEnded),
            NotComparable::OtherQuery | NotComparable::OtherWeb => (422, Code::RunsDiffer),
        };
        Self::new(status, code, why.to_string())
    }

    /// Returns 415: the body is not JSON.
    pub fn unsupported_media_type() -> Self {
        let message = "unsupported content type: the body must be application/json (UTF-8)";
        Self::new(415, Code::UnsupportedMediaType, message).about("Content-Type").allowing("application/json")
    }

    /// Returns 415: the body of a batch is neither JSON nor CSV.
    pub fn unsupported_batch_type() -> Self {
        let message = "unsupported content type: the body must be application/json or text/csv (UTF-8)";
        let allowed = ["application/json", "text/csv"];
        Self::new(415, Code::UnsupportedMediaType, message).about("Content-Type").allowing(&allowed[..])
    }

    /// Returns 422: the idempotency key was used for another body, or for a run that was deleted.
    pub fn idempotency_mismatch() -> Self {
        let message =
            "this Idempotency-Key was used for another request body, or for a search that was deleted";
        Self::new(422, Code::IdempotencyMismatch, message).about("Idempotency-Key")
    }

    /// Returns 429: a rate limit is reached.
    pub fn rate_limited(state: &RateLimitState) -> Self {
        let policy = state.policy.as_str();
        let facts = Facts { policy: Some(policy), limit: Some(state.limit.into()), ..Facts::default() };
        let message = format!("more than {} {policy} requests in a minute", state.limit);
        Self::new(429, Code::RateLimited, message).with_facts(facts).retry_after(state.reset_secs)
    }

    /// Returns 503: the store is unavailable.
    pub fn unavailable() -> Self {
        Self::new(503, Code::Unavailable, "the service cannot reach its database").retry_after(2)
    }

    /// Returns 503: the process is shutting down. The next process or another instance can take the request.
    pub fn shutting_down() -> Self {
        Self::new(503, Code::Unavailable, "the service is shutting down; nothing was charged").retry_after(1)
    }

    /// Returns 503: no browser answers, for a premium search or a PDF.
    pub fn premium_unavailable() -> Self {
        let message = "no browser is available, which premium searches and PDFs need; nothing was charged";
        Self::new(503, Code::PremiumUnavailable, message).retry_after(60)
    }

    /// Returns 503: the server has no key for the secrets of webhooks.
    pub fn webhooks_unavailable() -> Self {
        Self::new(503, Code::WebhooksUnavailable, WebhookError::NoKey.to_string()).retry_after(3600)
    }

    /// Returns 503: all threads or queues are full.
    pub fn overloaded(retry_after_secs: u64) -> Self {
        let message = "the service is overloaded; nothing was charged";
        Self::new(503, Code::Overloaded, message).retry_after(retry_after_secs.max(1))
    }

    /// Returns 500: a defect of the service. Only the log shows the cause.
    pub fn internal(cause: impl Display) -> Self {
        let message = "internal error; the service's log has the cause under the request_id";
        Self::new(500, Code::InternalError, message).with_cause(cause)
    }

    /// Returns the response. Logs an internal failure once, with the request id that the response contains.
    pub fn into_response(self, request_id: &RequestId) -> Response {
        let Parts { status, code, message, facts, cause, headers } = *self.0;
        let id = request_id.as_str();
        if status >= 500 {
            let level = match code {
                Code::InternalError => Level::Error,
                // The store logs once for all requests that it is unavailable.
                Code::Unavailable => Level::Debug,
                _ => Level::Warn,
            };
            let cause = cause.as_deref().unwrap_or(&message);
            log!(level, request_id = id; "answers {status} {}: {cause}", code.as_str());
        }
        let (error, message) = (code, &*message);
        let detail = ErrorDetail { error, message, request_id: id, facts: &facts };
        // Cannot fail: the types have only string keys and finite numbers, and the target is memory.
        let body = serde_json::to_vec(&ErrorBody { error, message, detail }).unwrap_or_default();
        let response = Response::new(status, "application/json", body);
        headers.into_iter().fold(response, |response, (name, value)| response.with_header(name, value))
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

impl From<service::Refusal> for ApiError {
    fn from(refusal: service::Refusal) -> Self {
        use service::Refusal;
        match refusal {
            Refusal::Query(error) => Self::invalid_request("query", error.message, error.allowed),
            Refusal::Choice(error) => error.into(),
            Refusal::Suppressed => Self::suppressed(),
            Refusal::Premium { plans, .. } => {
                let plans: Vec<&str> = plans.iter().map(String::as_str).collect();
                Self::plan_required("the plan of this account does not include premium searches", &plans)
            }
            Refusal::Credits { charge, used } => {
                let limit = charge.allowed.unwrap_or_default();
                Self::insufficient_credits(limit, used, charge.credits, charge.cycle.end)
            }
            Refusal::KeyUsed => Self::idempotency_mismatch(),
            Refusal::UnknownAccount => AccountError::InvalidKey.into(),
            Refusal::NoSuch(thing) => Self::no_such(thing),
            Refusal::Conflict(message) => Self::conflict(message),
            Refusal::NoBrowser => Self::premium_unavailable(),
            Refusal::Overloaded => Self::overloaded(OVERLOADED_RETRY_SECS),
            Refusal::ShuttingDown => Self::shutting_down(),
            Refusal::Storage(error) => error.into(),
            Refusal::Internal(cause) => Self::internal(cause),
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
                Self::new(408, Code::InvalidRequest, "the body did not arrive in time").about("body")
            }
            Refusal::LengthRequired => Self::new(
                411,
                Code::InvalidRequest,
                "send a Content-Length: a body in chunks is only read behind a proxy that collects it",
            )
            .about("body"),
            Refusal::BodyTooLarge => Self::new(413, Code::PayloadTooLarge, "the body is larger than allowed")
                .about("body")
                .allowing("at most 65536 bytes, and 2097152 bytes for a batch"),
            Refusal::TargetTooLong => {
                Self::new(414, Code::InvalidRequest, "the request target is too long").about("target")
            }
            Refusal::HeadTooLarge => {
                Self::new(431, Code::InvalidRequest, "the request headers are too large").about("headers")
            }
            Refusal::Overloaded { retry_after } => Self::overloaded(retry_after.as_secs()),
            Refusal::ShuttingDown => Self::shutting_down(),
            Refusal::Internal => Self::internal("the handler panicked"),
        }
    }
}
