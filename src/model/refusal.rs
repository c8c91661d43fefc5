//! [`Refusal`]: why something is refused or fails, for API, web app, MCP and commands; its codes.

use std::fmt::{self, Display};

use log::Level;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::credits::Charge;
use crate::base::clock::rfc3339_millis;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::modules::catalog::ChoiceError;
use crate::modules::query::QueryError;

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
            pub fn when(self) -> &'static str {
                match self { $(Self::$name => concat!($($when),+),)+ }
            }

            /// Returns its usual status.
            pub fn status(self) -> u16 {
                match self { $(Self::$name => $first,)+ }
            }
        }

        /// All ways in which a request can fail: the status and the code.
        pub const FAILURES: &[(u16, Code)] =
            &[$(($first, Code::$name), $(($other, Code::$name),)*)+];
    };
}

codes! {
    /// The request is malformed, or a value in it is wrong: `field` names it, `allowed` says what was expected. The same
    /// code also covers a body that does not arrive in time (408) or comes in chunks (411), an address longer than 8 KiB
    /// (414), and more than 100 headers or 32 KiB of them (431).
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
    /// The account has the maximum number of webhooks or watches, the webhook is disabled, the lead cannot be followed, or
    /// this version no longer accepts the query of the search.
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

/// Returns the words of a member sorted, each once. `known` are all that it may have.
///
/// # Errors
/// Returns the refusal of a member without one.
pub fn in_order<T: Ord>(member: &str, mut words: Vec<T>, known: &[&str]) -> Result<Vec<T>, Refusal> {
    words.sort_unstable();
    words.dedup();
    if words.is_empty() {
        let message = format!("choose at least one of {}", known.join(", "));
        return Err(Refusal::invalid_request(member, message, known));
    }
    Ok(words)
}

/// Why something is refused, or fails: the API makes JSON of it, the web app a page, MCP a result, a command a line. Nothing was
/// charged, unless the store failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status of an answer over HTTP.
    pub status: u16,
    /// The code for programs.
    pub code: Code,
    /// The message for people.
    pub message: String,
    /// Facts about the error for programs, which `openapi/template.json` describes.
    // In a box, because most results are no refusals.
    pub facts: Box<Map<String, Value>>,
    /// The cause of a failure, which only the log and commands show.
    pub cause: Option<String>,
}

impl std::error::Error for Refusal {}

impl Display for Refusal {
    /// Writes the line of a command: the cause of a failure, or the mistake and what was expected.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.cause, self.allowed()) {
            (Some(cause), _) => f.write_str(cause),
            (None, allowed) if self.message.contains(&allowed) => f.write_str(&self.message),
            (None, allowed) => write!(f, "{}: expected {allowed}", self.message),
        }
    }
}

impl Refusal {
    /// Creates a refusal without facts.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { status: code.status(), code, message: message.into(), facts: Box::default(), cause: None }
    }

    /// Adds a fact.
    #[must_use]
    pub fn with(mut self, name: &str, fact: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), fact.into());
        self
    }

    /// Says after how many seconds the same may succeed.
    #[must_use]
    pub fn retry_after(self, secs: u64) -> Self {
        self.with("retry_after", secs)
    }

    /// Changes the status from the usual one of the code.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Returns a fact that is a text, or is empty.
    pub fn fact(&self, name: &str) -> &str {
        self.facts.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns what was expected as text, or an empty one.
    pub fn allowed(&self) -> String {
        match self.facts.get("allowed") {
            Some(Value::Array(values)) => {
                values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            _ => self.fact("allowed").to_owned(),
        }
    }

    /// Returns whether it is a failure of the service, or of its store.
    pub fn is_failure(&self) -> bool {
        matches!(self.code, Code::Unavailable | Code::InternalError)
    }

    /// Returns the level at which a task that is repeated logs the failure. The store itself logs once that it is
    /// unavailable.
    pub fn log_level(&self) -> Level {
        if matches!(self.code, Code::Unavailable | Code::Overloaded) { Level::Debug } else { Level::Warn }
    }

    /// Adds a cause, which only the log shows.
    pub fn with_cause(mut self, cause: impl Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    /// Adds the id of the run that the request has started, found or read.
    pub fn of_run(mut self, run: RunId) -> Self {
        self.message.push_str(&format!("; the search is {run}: `get_run` reads it, and costs nothing"));
        self
    }

    /// Returns 400: a field is missing or invalid. Names the field, the mistake and what was expected.
    pub fn invalid_request(field: &str, message: impl Into<String>, allowed: impl Into<Value>) -> Self {
        Self::new(Code::InvalidRequest, message).with("field", field).with("allowed", allowed)
    }

    /// Returns 400: a field is none of the words that it can be.
    pub fn not_one_of(field: &str, words: &[&str]) -> Self {
        Self::invalid_request(field, format!("{field} must be one of {}", words.join(", ")), words)
    }

    /// Returns 400: a query is not valid.
    pub fn invalid_query(field: &str, error: QueryError) -> Self {
        Self::invalid_request(field, error.message, error.allowed)
    }

    /// Returns 401: the key is missing, malformed, unknown or revoked, or there are two different ones.
    pub fn invalid_api_key(message: &str) -> Self {
        Self::new(Code::InvalidApiKey, message)
    }

    /// Returns 401: the key or the account is not known any more.
    pub fn unknown_key() -> Self {
        Self::invalid_api_key("the API key is malformed, unknown or revoked")
    }

    /// Returns 403: another plan is needed, one of `plans`.
    pub fn plan_required(feature: &str, plans: Vec<&str>) -> Self {
        let message = format!("the plan of this account does not include {feature}");
        Self::new(Code::PlanRequired, message).with("plans", plans)
    }

    /// Returns 402: the credits are not enough.
    pub fn insufficient_credits(charge: Charge, used: u64) -> Self {
        let limit = charge.allowed.unwrap_or_default();
        Self::new(Code::InsufficientCredits, "not enough credits in this billing cycle for this search")
            .with("limit", limit)
            .with("cost", charge.credits)
            .with("remaining", limit.saturating_sub(used))
            .with("period_end", rfc3339_millis(charge.cycle.end))
    }

    /// Returns 403: the identifier is never searched.
    pub fn suppressed() -> Self {
        Self::new(Code::Suppressed, "this identifier is never searched here; nothing was charged")
    }

    /// Returns 404: the thing that a path names is unknown, foreign or deleted, or its id is malformed. The message is
    /// the same in each case.
    pub fn no_such(thing: &str) -> Self {
        Self::new(Code::NotFound, format!("unknown {thing}"))
    }

    /// Returns 409: an earlier version has stored the query of the search, and this one refuses it.
    pub fn outdated_query() -> Self {
        Self::new(Code::Conflict, "the query of the search is no longer valid: start another search")
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
        Self::new(Code::UnsupportedMediaType, message).with("field", "Content-Type").with("allowed", types)
    }

    /// Returns 422: the idempotency key was used for another body, or for a run that was deleted.
    pub fn idempotency_mismatch() -> Self {
        let message =
            "this Idempotency-Key was used for another request body, or for a search that was deleted";
        Self::new(Code::IdempotencyMismatch, message).with("field", "Idempotency-Key")
    }

    /// Returns 503: no browser answers, for a premium search or a PDF.
    pub fn premium_unavailable() -> Self {
        let message = "no browser is available, which premium searches and PDFs need; nothing was charged";
        Self::new(Code::PremiumUnavailable, message).retry_after(60)
    }

    /// Returns 503: the service is shutting down.
    pub fn shutting_down() -> Self {
        Self::new(Code::Unavailable, "the service is shutting down; nothing was charged").retry_after(1)
    }

    /// Returns 503: all capacity is in use.
    pub fn overloaded(secs: u64) -> Self {
        Self::new(Code::Overloaded, "the service is overloaded; nothing was charged").retry_after(secs.max(1))
    }

    /// Returns 500: a defect of the service. Only the log shows the cause.
    pub fn internal(cause: impl Display) -> Self {
        let message = "internal error; the service's log has the cause under the request_id";
        Self::new(Code::InternalError, message).with_cause(cause)
    }
}

impl From<QueryError> for Refusal {
    fn from(error: QueryError) -> Self {
        Self::invalid_query("query", error)
    }
}

impl From<StorageError> for Refusal {
    fn from(error: StorageError) -> Self {
        if !error.is_unavailable() {
            return Self::internal(error);
        }
        Self::new(Code::Unavailable, "the service cannot reach its database").retry_after(2).with_cause(error)
    }
}

impl From<ChoiceError> for Refusal {
    fn from(error: ChoiceError) -> Self {
        let refusal = Self::invalid_request(error.field, error.message, error.allowed);
        if error.names.is_empty() { refusal } else { refusal.with("names", error.names) }
    }
}
