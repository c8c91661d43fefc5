//! The parts of the service ([`Api`]) and one request ([`Call`]), which handlers get.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use log::{Level, log};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};

use crate::account::service::Caller;
use crate::base::cache::{Cache, Computed};
use crate::base::ids::{AccountId, RequestId};
use crate::http::{Reply, Request, Response, Segments, StaticFile};
use crate::model::audit::Origin;
use crate::model::refusal::{Code, Refusal};
use crate::model::run::RunSummary;
use crate::service::Services;

/// The time for which the answer to a ping is valid. Health may be requested thousands of times a second.
const PING_TTL: Duration = Duration::from_millis(500);
/// The time for which a caller waits for the ping of another one. A database that answers needs less.
const PING_WAIT: Duration = Duration::from_millis(100);

/// The settings of the API.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// The longest wait of a request.
    pub sync_wait: Duration,
    /// The longest duration of a stream.
    pub stream_timeout: Duration,
    /// The time without an event after which a stream sends a comment.
    pub keep_alive: Duration,
    /// The origins of pages that may call the API; `*` allows all.
    pub cors_origins: Vec<String>,
}

/// The JSON API.
pub struct Api {
    pub(super) config: ApiConfig,
    pub(super) services: Services,
    /// Whether the database answers.
    pub(super) ping: Cache<(), bool>,
    /// The bodies of answers with ended runs, by their `ETag`. Clients often read a run several times after its end.
    pub(super) bodies: Cache<String, Arc<[u8]>>,
    /// The document of `/openapi.json`, made for its first request.
    pub(super) openapi: OnceLock<Arc<StaticFile>>,
    /// The idempotency keys of requests in progress.
    pub(super) in_flight: InFlight,
}

impl Deref for Api {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

/// A request that a handler answers.
pub struct Call<'a> {
    /// The request with its whole body.
    pub request: &'a Request,
    /// The id that the client has sent, or a new one.
    pub request_id: &'a RequestId,
    /// The segments of the path for the route's `{…}`.
    pub segments: Segments,
    pub(super) caller: Option<Caller>,
}

impl Call<'_> {
    /// Returns the caller. The route table lets only requests with a valid key reach a handler that calls
    /// this.
    ///
    /// # Errors
    /// Returns 500 for a route whose access rule needs no key.
    pub fn caller(&self) -> Result<&Caller, Refusal> {
        self.caller.as_ref().ok_or_else(|| Refusal::internal("the route needs no key"))
    }

    /// Returns the id of a thing in the path, such as the id of a run in the segment `run_id`.
    ///
    /// # Errors
    /// Returns 404 for anything but the hyphenated form of a UUID.
    pub(super) fn id<T: FromStr>(&self, thing: &str) -> Result<T, Refusal> {
        self.id_in(&format!("{thing}_id"), thing)
    }

    /// Returns the id of a thing in this segment of the path.
    pub(super) fn id_in<T: FromStr>(&self, segment: &str, thing: &str) -> Result<T, Refusal> {
        let id = self.segments.get(segment).and_then(|text| text.parse().ok());
        id.ok_or_else(|| Refusal::no_such(thing))
    }

    /// Answers on its own thread if that may take long, as the start of a premium search, which may wait for a browser.
    pub(super) fn later_if(
        &self,
        is_long: bool,
        answer: impl FnOnce() -> Result<Reply, Refusal> + Send + 'static,
    ) -> Result<Reply, Refusal> {
        if !is_long {
            return answer();
        }
        let id = self.request_id.clone();
        let later = move || answer().unwrap_or_else(|error| Reply::Now(error.into_response(&id)));
        Ok(Reply::Later(Box::new(later)))
    }

    /// Returns the origin of the request, for the audit.
    ///
    /// # Errors
    /// Returns the same error as [`Call::caller`].
    pub(super) fn origin(&self) -> Result<Origin, Refusal> {
        Ok(Origin::request(self.caller()?.actor, self.request_id))
    }
}

impl Api {
    /// Returns whether the store answers, as `/v1/health` reports it.
    pub fn has_store(&self) -> bool {
        let ping = || Computed { value: self.store.ping().is_ok(), ttl: PING_TTL, weight: 1 };
        self.ping.get_or_compute(&(), Instant::now() + PING_WAIT, ping).unwrap_or(false)
    }

    /// Removes kept answers that have expired. It must be called periodically.
    pub fn sweep(&self) {
        self.bodies.sweep(Instant::now());
    }

    /// Returns the run of the call's path if it belongs to the caller.
    ///
    /// # Errors
    /// Returns 404 with the same message for malformed, unknown, foreign and deleted ids.
    pub(super) fn find(&self, call: &Call<'_>) -> Result<RunSummary, Refusal> {
        self.find_run(call.caller()?, call.id("run")?)
    }
}

/// The handler of an operation or a page.
pub type Handler = fn(&Arc<Api>, &Call<'_>) -> Result<Reply, Refusal>;

/// Answers 204 if a thing was deleted or stopped.
///
/// # Errors
/// Returns 404 if there is none.
pub(super) fn no_content(was_there: bool, thing: &str) -> Result<Reply, Refusal> {
    if was_there { Ok(Reply::Now(Response::empty(204))) } else { Err(Refusal::no_such(thing)) }
}

/// Returns 200 with a JSON body.
pub(super) fn ok_json(body: &impl Serialize) -> Reply {
    Reply::Now(json_response(200, body))
}

pub(super) fn json_response(status: u16, body: &impl Serialize) -> Response {
    // Cannot fail: the types have only string keys and finite numbers.
    Response::new(status, "application/json", serde_json::to_vec(body).unwrap_or_default())
}

/// The idempotency keys of requests in progress, by account. A request ends when what [`InFlight::begin`] returns is dropped.
#[derive(Default)]
pub(super) struct InFlight(Mutex<HashMap<(AccountId, String), Weak<()>>>);

impl InFlight {
    /// Begins a request. Returns `None` if one with this key is in progress.
    pub(super) fn begin(&self, account: AccountId, key: &str) -> Option<Arc<()>> {
        let mut all = self.0.lock();
        all.retain(|_, request| request.strong_count() > 0);
        let Entry::Vacant(place) = all.entry((account, key.to_owned())) else { return None };
        let request = Arc::new(());
        place.insert(Arc::downgrade(&request));
        Some(request)
    }
}

impl Refusal {
    /// Returns the response. Logs an internal failure once, with the request id that the response contains.
    pub fn into_response(self, request_id: &RequestId) -> Response {
        let Self { status, code, message, facts, cause } = &self;
        let (status, code, id) = (*status, *code, request_id.as_str());
        if status >= 500 {
            let level = match code {
                Code::InternalError => Level::Error,
                // The store logs once for all requests that it is unavailable.
                Code::Unavailable => Level::Debug,
                _ => Level::Warn,
            };
            let cause = cause.as_ref().unwrap_or(message);
            log!(level, request_id = id; "answers {status} {}: {cause}", code.as_str());
        }
        let mut detail = json!({"error": code.as_str(), "message": message, "request_id": id});
        if let Value::Object(members) = &mut detail {
            members.extend((**facts).clone());
        }
        let body = json!({"error": code.as_str(), "message": message, "detail": detail});
        let mut response = Response::new(status, "application/json", body.to_string().into_bytes());
        if let Some(secs) = facts.get("retry_after") {
            response = response.with_header("Retry-After", secs.to_string());
        }
        match (code, facts.get("allowed").and_then(Value::as_array)) {
            (Code::InvalidApiKey, _) => response.with_header("WWW-Authenticate", "Bearer"),
            (Code::MethodNotAllowed, Some(methods)) => {
                let methods: Vec<&str> = methods.iter().filter_map(Value::as_str).collect();
                response.with_header("Allow", methods.join(", "))
            }
            _ => response,
        }
    }
}
