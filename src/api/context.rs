//! The parts of the service ([`Api`]) and one request ([`Call`]), which handlers get.

use std::collections::HashSet;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;

use super::call_table::CallTable;
use super::error::ApiError;
use crate::account::service::Caller;
use crate::base::ids::{AccountId, RequestId};
use crate::http::{Reply, Request, Response, Segments, StaticFile};
use crate::model::audit::Origin;
use crate::model::batch::Batch;
use crate::model::watch::Watch;
use crate::runs::service::Found;
use crate::service::Services;

/// The settings of the API.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// The address that clients use, without a slash at its end.
    pub base_url: String,
    /// The longest wait of a request.
    pub sync_wait: Duration,
    /// The longest duration of a stream.
    pub stream_timeout: Duration,
    /// The time without an event after which a stream sends a comment.
    pub keep_alive: Duration,
    /// Whether the web is simulated. Every answer then has a header that says so.
    pub sandbox: bool,
    /// The origins of pages that may call the API; `*` allows all.
    pub cors_origins: Vec<String>,
}

/// A document that is built when it is first requested.
pub(super) type LazyFile = LazyLock<Arc<StaticFile>, Box<dyn FnOnce() -> Arc<StaticFile> + Send>>;

/// The JSON API.
pub struct Api {
    pub(super) config: ApiConfig,
    /// The path of the base URL, without a slash at its end. Addresses in answers begin with it.
    pub(super) root: String,
    pub(super) services: Services,
    pub(super) ping: PingCache,
    /// The document of `/openapi.json`.
    pub(super) openapi: LazyFile,
    /// The idempotency keys of requests in progress.
    pub(super) in_flight: Arc<Mutex<HashSet<(AccountId, String)>>>,
    /// The calls of MCP in progress, which their clients can cancel.
    pub(super) mcp_calls: Arc<CallTable>,
}

impl Deref for Api {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

/// A request that a handler answers.
pub struct Call<'a> {
    /// The request.
    pub request: &'a Request,
    /// The id of the request.
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
    pub fn caller(&self) -> Result<&Caller, ApiError> {
        self.caller.as_ref().ok_or_else(|| ApiError::internal("the route needs no key"))
    }

    /// Returns the id of a thing in the path, such as the id of a run in the segment `run_id`.
    ///
    /// # Errors
    /// Returns 404 for anything but the hyphenated form of a UUID.
    pub(super) fn id<T: FromStr>(&self, thing: &str) -> Result<T, ApiError> {
        self.id_in(&format!("{thing}_id"), thing)
    }

    fn id_in<T: FromStr>(&self, segment: &str, thing: &str) -> Result<T, ApiError> {
        let id = self.segments.get(segment).and_then(|text| text.parse().ok());
        id.ok_or_else(|| ApiError::no_such(thing))
    }

    /// Answers on a thread of its own, for work that takes long.
    pub(super) fn later(&self, answer: impl FnOnce() -> Result<Reply, ApiError> + Send + 'static) -> Reply {
        let id = self.request_id.clone();
        Reply::Later(Box::new(move || answer().unwrap_or_else(|error| Reply::Now(error.into_response(&id)))))
    }

    /// Returns the origin of the request, for the audit.
    ///
    /// # Errors
    /// Returns the same error as [`Call::caller`].
    pub(super) fn origin(&self) -> Result<Origin, ApiError> {
        Ok(Origin::request(self.caller()?.actor, self.request_id))
    }
}

impl Api {
    /// Returns whether the store answers, as `/v1/health` reports it.
    pub fn has_store(&self) -> bool {
        self.ping.is_ok(|| self.store.ping().is_ok())
    }

    /// Returns the run of the call's path if it belongs to the caller.
    ///
    /// # Errors
    /// Returns 404 with the same message for malformed, unknown, foreign and deleted ids, and 503 if the
    /// store is unavailable.
    pub(super) fn find(&self, call: &Call<'_>) -> Result<Found, ApiError> {
        self.find_in(call, "run_id")
    }

    /// Returns the batch of the call's path if it belongs to the caller.
    ///
    /// # Errors
    /// Returns 404 with the same message for malformed, unknown and foreign ids, and 503 if the store is unavailable.
    pub(super) fn find_batch(&self, call: &Call<'_>) -> Result<Batch, ApiError> {
        let account = call.caller()?.account.id;
        self.batches.find(account, call.id("batch")?)?.ok_or_else(|| ApiError::no_such("batch"))
    }

    /// Returns the watch of the call's path if it belongs to the caller.
    ///
    /// # Errors
    /// Returns 404 with the same message for malformed, unknown and foreign ids, and 503 if the store is unavailable.
    pub(super) fn find_watch(&self, call: &Call<'_>) -> Result<Watch, ApiError> {
        let account = call.caller()?.account.id;
        self.store.watch(account, call.id("watch")?)?.ok_or_else(|| ApiError::no_such("watch"))
    }

    /// Returns the run of a segment of the call's path if it belongs to the caller.
    ///
    /// # Errors
    /// Returns the same errors as [`Api::find`].
    pub(super) fn find_in(&self, call: &Call<'_>, segment: &str) -> Result<Found, ApiError> {
        let caller = call.caller()?;
        let id = call.id_in(segment, "run")?;
        self.runs.reader.find(id, caller.account.id)?.ok_or_else(|| ApiError::no_such("run"))
    }
}

/// The handler of an operation or a page.
pub type Handler = fn(&Arc<Api>, &Call<'_>) -> Result<Reply, ApiError>;

/// Answers 204 if a thing was deleted or stopped.
///
/// # Errors
/// Returns 404 if there is none.
pub(super) fn no_content(was_there: bool, thing: &str) -> Result<Reply, ApiError> {
    if was_there { Ok(Reply::Now(Response::empty(204))) } else { Err(ApiError::no_such(thing)) }
}

/// Returns 200 with a JSON body.
pub(super) fn ok_json(body: &impl Serialize) -> Reply {
    Reply::Now(json_response(200, body))
}

/// Returns a JSON response.
pub(super) fn json_response(status: u16, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => Response::new(status, "application/json", bytes),
        // Cannot happen: the types have only string keys and finite numbers.
        Err(_) => Response::empty(500),
    }
}

/// The time for which the answer to a ping is valid. Health may be requested thousands of times a second.
const PING_TTL: Duration = Duration::from_millis(500);
/// The last answer of the database to a ping.
#[derive(Default)]
pub(super) struct PingCache {
    last: Mutex<Option<(Instant, bool)>>,
    pinging: Mutex<()>,
}

impl PingCache {
    /// Returns whether the database answers. It is asked at most every [`PING_TTL`], by one caller at a time.
    /// Meanwhile the other callers get the last answer, so that none waits for a database that hangs.
    pub(super) fn is_ok(&self, ping: impl FnOnce() -> bool) -> bool {
        let last = *self.last.lock();
        if let Some((_, ok)) = last.filter(|(at, _)| at.elapsed() < PING_TTL) {
            return ok;
        }
        let _turn = match (self.pinging.try_lock(), last) {
            (Some(turn), _) => turn,
            (None, Some((_, ok))) => return ok,
            (None, None) => self.pinging.lock(),
        };
        // A caller that waited for its turn takes the answer of the caller before it.
        if let Some((_, ok)) = self.last.lock().filter(|(at, _)| at.elapsed() < PING_TTL) {
            return ok;
        }
        let ok = ping();
        *self.last.lock() = Some((Instant::now(), ok));
        ok
    }
}
