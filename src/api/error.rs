//! Errors of the API: their codes, and the one body that all of them have.

use std::fmt::Display;

use jiff::Timestamp;
use log::{Level, log};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::account::plan::PlanTable;
use crate::account::rate_limit::RateLimitState;
use crate::account::service::AccountError;
use crate::base::clock::millis;
use crate::base::ids::{RequestId, RunId};
use crate::base::storage::StorageError;
use crate::http::{Refusal, Response, RouteError};
use crate::model::watch::{ChangeKind, WatchError};
use crate::model::webhook::WebhookError;
use crate::modules::catalog::ChoiceError;
use crate::modules::query::QueryError;
use crate::runs::batches::draft::InvalidRow;
use crate::runs::batches::table::TableError;
use crate::runs::diff::NotComparable;
use crate::service;
use crate::webhooks::registry::event_names;

/// Declares the codes of errors: the documentation of each says when it happens, and its statuses follow, the usual one first.
macro_rules! codes {
    ($($(#[doc = $when:literal])+ $name:ident = $code:literal: $first:literal $($other:literal)*;)+) => {
        /// Code of an error. Further codes may be added.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        #[schema(as = ErrorCode)]
        pub enum Code {
            $($(#[doc = $when])+ $name,)+
        }

        impl Code {
            /// Returns the code as text.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// Returns when it happens, for the OpenAPI document.
            pub(super) fn when(self) -> &'static str {
                match self { $(Self::$name => concat!($($when),+),)+ }
            }

            fn status(self) -> u16 {
                match self { $(Self::$name => $first,)+ }
            }
        }

        /// All ways in which a request can fail: the status and the code.
        pub const FAILURES: &[(u16, Code)] =
            &[$(($first, Code::$name), $(($other, Code::$name),)*)+];
    };
}

codes! {
    /// The request is malformed, or a value in it is not allowed: `field` names it, `allowed` says what is allowed. The same
    /// code stands for a body that does not arrive in time (408) or comes in chunks (411), for an address longer than 8 KiB
    /// (414), and for more than 100 headers or 32 KiB of them (431).
    InvalidRequest = "invalid_request": 400 408 411 414 431;
    /// The API key is missing, malformed, unknown or revoked, or two different ones were sent.
    InvalidApiKey = "invalid_api_key": 401;
    /// The credits of this billing period are not enough: see `limit`, `cost`, `remaining` and `period_end`. Nothing was
    /// charged.
    InsufficientCredits = "insufficient_credits": 402;
    /// The account's plan does not include the API or premium searches: `plans` lists those that do. Nothing was charged.
    PlanRequired = "plan_required": 403;
    /// The query is on the operator's list of identifiers that are never searched. Nothing was charged.
    Suppressed = "suppressed": 403;
    /// The address is unknown, or the caller has no such run, batch, watch, webhook or delivery: unknown, foreign, deleted and
    /// malformed ids get the same answer.
    NotFound = "not_found": 404;
    /// The address does not support this method; `Allow` lists those that it supports.
    MethodNotAllowed = "method_not_allowed": 405;
    /// A request with the same `Idempotency-Key` is still in progress.
    IdempotencyConflict = "idempotency_conflict": 409;
    /// A run is in progress, and only runs that have ended can be compared.
    RunNotEnded = "run_not_ended": 409;
    /// The account has the maximum number of webhooks or watches, the webhook is disabled, or the lead cannot be followed.
    Conflict = "conflict": 409;
    /// The body is larger than 64 KiB, or than 2 MiB for a batch.
    PayloadTooLarge = "payload_too_large": 413;
    /// The body is not sent as `application/json`, or for a batch as `text/csv`.
    UnsupportedMediaType = "unsupported_media_type": 415;
    /// The `Idempotency-Key` was used for another body within the last 24 hours.
    IdempotencyMismatch = "idempotency_mismatch": 422;
    /// The runs have different types or queries, or one is simulated and the other is not.
    RunsDiffer = "runs_differ": 422;
    /// The account has made too many requests in a minute: see `policy` and `limit`.
    RateLimited = "rate_limited": 429;
    /// The service failed; its log has the cause under `request_id`.
    InternalError = "internal_error": 500;
    /// The database is not reachable, or the service is shutting down.
    Unavailable = "unavailable": 503;
    /// No browser is available at the moment, which premium searches and PDF reports need. Nothing was charged.
    PremiumUnavailable = "premium_unavailable": 503;
    /// The operator of this server has not set up webhooks.
    WebhooksUnavailable = "webhooks_unavailable": 503;
    /// All capacity for requests, streams or searches is in use. Nothing was charged.
    Overloaded = "overloaded": 503;
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
    #[schema(value_type = ErrorDetail<'a>)]
    pub detail: Value,
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
    #[schema(examples("query"))]
    pub field: Option<String>,
    /// The allowed values: a description, or all of them.
    pub allowed: Option<Allowed>,
    /// Refused names, at most twenty, each cut at 64 characters.
    #[schema(examples(json!(["githup"])))]
    pub names: Option<Vec<String>>,
    /// Searches of a batch that are not valid; the first 100 of them.
    #[schema(max_items = 100)]
    pub rows: Option<Vec<InvalidRow>>,
    /// The limit that was reached: credits of the billing period, or requests per minute.
    pub limit: Option<u64>,
    /// Cost of the search in credits.
    pub cost: Option<u64>,
    /// Credits that are left.
    pub remaining: Option<u64>,
    /// Time at which the credits are renewed: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis::option")]
    pub period_end: Option<Timestamp>,
    /// Plans that include the feature.
    #[schema(examples(json!(["pro", "unlimited"])))]
    pub plans: Option<Vec<String>>,
    /// The rate limit that was reached: `search`, `stream` or `read`.
    #[schema(examples("search"))]
    pub policy: Option<&'static str>,
    /// Whole seconds to wait before a retry, as in `Retry-After`.
    #[schema(minimum = 1)]
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

/// Returns all values that are allowed.
pub(super) fn values(values: &[&str]) -> Allowed {
    Allowed::Values(values.iter().map(|value| (*value).to_owned()).collect())
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
    /// Only the log shows it.
    cause: Option<String>,
}

impl ApiError {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self::with_facts(code, message, Facts::default())
    }

    fn with_facts(code: Code, message: impl Into<String>, facts: Facts) -> Self {
        Self(Box::new(Parts { status: code.status(), code, message: message.into(), facts, cause: None }))
    }

    /// Names the part of the request that the error is about.
    fn about(mut self, field: &str) -> Self {
        self.0.facts.field = Some(field.to_owned());
        self
    }

    fn allowing(mut self, allowed: impl Into<Allowed>) -> Self {
        self.0.facts.allowed = Some(allowed.into());
        self
    }

    fn retry_after(mut self, secs: u64) -> Self {
        self.0.facts.retry_after = Some(secs);
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

    /// Returns 400: a field is missing or invalid. Names the field, the mistake and what is allowed.
    pub fn invalid_request(field: &str, message: impl Into<String>, allowed: impl Into<Allowed>) -> Self {
        Self::new(Code::InvalidRequest, message).about(field).allowing(allowed)
    }

    /// Returns 400: a query is not valid.
    pub(super) fn invalid_query(field: &str, error: QueryError) -> Self {
        Self::invalid_request(field, error.message, error.allowed)
    }

    /// Returns 400: searches of a batch are not valid. `rows` holds the first of them.
    pub fn invalid_searches(number: usize, rows: Vec<InvalidRow>) -> Self {
        let are = if number == 1 { "search is" } else { "searches are" };
        let message = format!("{number} {are} not valid; nothing was accepted");
        let mut error = Self::invalid_request("searches", message, "searches that are all valid");
        error.0.facts.rows = Some(rows);
        error
    }

    /// Returns 401: the key is missing, malformed, unknown or revoked, or there are two different ones.
    pub fn invalid_api_key(message: &str) -> Self {
        Self::new(Code::InvalidApiKey, message)
    }

    /// Returns 403: another plan is needed, one of `plans`.
    pub fn plan_required(feature: &str, plans: &[impl AsRef<str>]) -> Self {
        let plans = plans.iter().map(|plan| plan.as_ref().to_owned()).collect();
        let facts = Facts { plans: Some(plans), ..Facts::default() };
        Self::with_facts(
            Code::PlanRequired,
            format!("the plan of this account does not include {feature}"),
            facts,
        )
    }

    /// Returns 403: the plan does not include premium searches.
    pub(super) fn premium_required(plans: &PlanTable) -> Self {
        Self::plan_required("premium searches", &plans.names_where(|plan| plan.premium))
    }

    /// Returns 404: the thing that a path names is unknown, foreign or deleted, or its id is malformed. The message is
    /// the same in each case.
    pub fn no_such(thing: &str) -> Self {
        Self::new(Code::NotFound, format!("unknown {thing}"))
    }

    /// Returns 409: a request with the same idempotency key is in progress.
    pub fn idempotency_conflict() -> Self {
        Self::new(Code::IdempotencyConflict, "a request with this Idempotency-Key is still in progress")
            .retry_after(1)
    }

    /// Returns 415: the body has none of these types.
    pub fn unsupported_media_type(types: &[&str]) -> Self {
        let types = types.join(" or ");
        let message = format!("unsupported content type: the body must be {types} (UTF-8)");
        Self::new(Code::UnsupportedMediaType, message).about("Content-Type").allowing(types)
    }

    /// Returns 422: the idempotency key was used for another body, or for a run that was deleted.
    pub fn idempotency_mismatch() -> Self {
        let message =
            "this Idempotency-Key was used for another request body, or for a search that was deleted";
        Self::new(Code::IdempotencyMismatch, message).about("Idempotency-Key")
    }

    /// Returns 429: a rate limit is reached.
    pub fn rate_limited(state: &RateLimitState) -> Self {
        let policy = state.policy.as_str();
        let facts = Facts { policy: Some(policy), limit: Some(state.limit.into()), ..Facts::default() };
        let message = format!("more than {} {policy} requests in a minute", state.limit);
        Self::with_facts(Code::RateLimited, message, facts).retry_after(state.reset_secs)
    }

    /// Returns 503: no browser answers, for a premium search or a PDF.
    pub fn premium_unavailable() -> Self {
        let message = "no browser is available, which premium searches and PDFs need; nothing was charged";
        Self::new(Code::PremiumUnavailable, message).retry_after(60)
    }

    fn shutting_down() -> Self {
        Self::new(Code::Unavailable, "the service is shutting down; nothing was charged").retry_after(1)
    }

    fn overloaded(secs: u64) -> Self {
        Self::new(Code::Overloaded, "the service is overloaded; nothing was charged").retry_after(secs.max(1))
    }

    /// Returns 500: a defect of the service. Only the log shows the cause.
    pub fn internal(cause: impl Display) -> Self {
        let message = "internal error; the service's log has the cause under the request_id";
        Self::new(Code::InternalError, message).with_cause(cause)
    }

    /// Returns the response. Logs an internal failure once, with the request id that the response contains.
    pub fn into_response(self, request_id: &RequestId) -> Response {
        let Parts { status, code, message, facts, cause } = *self.0;
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
        // Cannot fail: the types have only string keys and finite numbers, and the target is memory.
        let detail = serde_json::to_value(ErrorDetail { error, message, request_id: id, facts: &facts });
        let mut detail = detail.unwrap_or_default();
        if let Value::Object(members) = &mut detail {
            members.retain(|_, fact| !fact.is_null());
        }
        let body = serde_json::to_vec(&ErrorBody { error, message, detail }).unwrap_or_default();
        let mut response = Response::new(status, "application/json", body);
        if let Some(secs) = facts.retry_after {
            response = response.with_header("Retry-After", secs.to_string());
        }
        match (code, facts.allowed) {
            (Code::InvalidApiKey, _) => response.with_header("WWW-Authenticate", "Bearer"),
            (Code::MethodNotAllowed, Some(Allowed::Values(methods))) => {
                response.with_header("Allow", methods.join(", "))
            }
            _ => response,
        }
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
            Refusal::Query(error) => Self::invalid_query("query", error),
            Refusal::Choice(error) => error.into(),
            Refusal::Suppressed => {
                Self::new(Code::Suppressed, "this identifier is never searched here; nothing was charged")
            }
            Refusal::Premium { plans, .. } => Self::plan_required("premium searches", &plans),
            Refusal::Credits { charge, used } => {
                let limit = charge.allowed.unwrap_or_default();
                let facts = Facts {
                    limit: Some(limit),
                    cost: Some(charge.credits),
                    remaining: Some(limit.saturating_sub(used)),
                    period_end: Some(charge.cycle.end),
                    ..Facts::default()
                };
                let message = "not enough credits in this billing cycle for this search";
                Self::with_facts(Code::InsufficientCredits, message, facts)
            }
            Refusal::KeyUsed => Self::idempotency_mismatch(),
            Refusal::UnknownAccount => AccountError::InvalidKey.into(),
            Refusal::NoSuch(thing) => Self::no_such(thing),
            Refusal::Conflict(message) => Self::new(Code::Conflict, message),
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
            WebhookError::NoKey => Self::new(Code::WebhooksUnavailable, message).retry_after(3600),
            WebhookError::InvalidUrl(invalid) => {
                Self::invalid_request("url", "url is not allowed", invalid.to_string())
            }
            WebhookError::InvalidEvents => {
                Self::invalid_request("events", "events are unknown or empty", values(&event_names()))
            }
            WebhookError::TooMany | WebhookError::Disabled => Self::new(Code::Conflict, message),
            WebhookError::UnknownAccount => AccountError::InvalidKey.into(),
            WebhookError::UnknownWebhook => Self::no_such("webhook"),
            WebhookError::UnknownDelivery => Self::no_such("delivery"),
            WebhookError::Storage(error) => error.into(),
        }
    }
}

impl From<WatchError> for ApiError {
    fn from(error: WatchError) -> Self {
        let message = error.to_string();
        match error {
            WatchError::InvalidKinds => {
                let allowed = values(&ChangeKind::ALL.map(ChangeKind::as_str));
                Self::invalid_request("notify_on", "notify_on is unknown or empty", allowed)
            }
            WatchError::UnknownWebhook => {
                Self::invalid_request("webhook_id", message, "the id of a webhook of this account")
            }
            WatchError::Mismatch => Self::idempotency_mismatch(),
            WatchError::TooMany | WatchError::InvalidQuery => Self::new(Code::Conflict, message),
            WatchError::UnknownAccount => AccountError::InvalidKey.into(),
            WatchError::UnknownWatch => Self::no_such("watch"),
            WatchError::Storage(error) => error.into(),
        }
    }
}

impl From<NotComparable> for ApiError {
    fn from(why: NotComparable) -> Self {
        let code = match why {
            NotComparable::Running => Code::RunNotEnded,
            NotComparable::OtherQuery | NotComparable::OtherWeb => Code::RunsDiffer,
        };
        Self::new(code, why.to_string())
    }
}

impl From<StorageError> for ApiError {
    fn from(error: StorageError) -> Self {
        if !error.is_unavailable() {
            return Self::internal(error);
        }
        Self::new(Code::Unavailable, "the service cannot reach its database").retry_after(2).with_cause(error)
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
        let RouteError::MethodNotAllowed(allow) = error else { return Self::no_such("address") };
        let message = format!("method not allowed: this address supports {allow}");
        let methods = values(&allow.split(", ").collect::<Vec<_>>());
        Self::new(Code::MethodNotAllowed, message).allowing(methods)
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let refused = |status: u16, field: &str, message: &str| {
            let mut error = Self::new(Code::InvalidRequest, message).about(field);
            error.0.status = status;
            error
        };
        match refusal {
            Refusal::Malformed(what) => Self::new(Code::InvalidRequest, what),
            Refusal::BodyTimeout => refused(408, "body", "the body did not arrive in time"),
            Refusal::LengthRequired => {
                let message =
                    "send a Content-Length: a body in chunks is only read behind a proxy that collects it";
                refused(411, "body", message)
            }
            Refusal::BodyTooLarge => Self::new(Code::PayloadTooLarge, "the body is larger than allowed")
                .about("body")
                .allowing("at most 65536 bytes, and 2097152 bytes for a batch"),
            Refusal::TargetTooLong => refused(414, "target", "the request target is too long"),
            Refusal::HeadTooLarge => refused(431, "headers", "the request headers are too large"),
            Refusal::Overloaded { retry_after } => Self::overloaded(retry_after.as_secs()),
            Refusal::ShuttingDown => Self::shutting_down(),
            Refusal::Internal => Self::internal("the handler panicked"),
        }
    }
}
