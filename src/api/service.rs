//! [`Api`]: finds the route, authenticates, counts, calls the handler, dresses the answer.

use std::collections::HashSet;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use log::debug;
use parking_lot::Mutex;
use serde::Serialize;

use super::auth::authenticate;
use super::cache::Snapshots;
use super::decode::asks_for_stream;
use super::error::ApiError;
use super::health::PingCache;
use super::openapi::page::Page;
use super::routes::{self, Access, Counts, Match, Route};
use crate::account::rate_limit::{Policy, RateLimiter, Standing, Uncounted};
use crate::account::service::{AccountError, Accounts, Caller};
use crate::base::clock::Clock;
use crate::base::ids::{AccountId, RequestId, RunId};
use crate::http::{Gauge, Handler, Refusal, Reply, Request, Response, StreamBody, Traffic, Visit};
use crate::runs::service::Runs;

/// What the operator decides.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// `{base_url}` of the contract, without a slash at its end.
    pub base_url: String,
    /// Longest inline wait.
    pub sync_wait: Duration,
    /// Stream ceiling.
    pub stream_timeout: Duration,
    /// Silence after which a stream gets a comment.
    pub keep_alive: Duration,
    /// Answers come from the simulated web: every one says so.
    pub sandbox: bool,
    /// Origins that browsers may call from; `*` is any.
    pub cors_origins: Vec<String>,
}

/// The whole `/v1`.
pub struct Api {
    pub(super) config: ApiConfig,
    pub(super) accounts: Arc<Accounts>,
    pub(super) limiter: Arc<RateLimiter>,
    pub(super) runs: Arc<Runs>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) snapshots: Snapshots,
    pub(super) ping: PingCache,
    traffic: Arc<Traffic>,
    /// The server's own numbers.
    pub(super) gauge: OnceLock<Gauge>,
    pub(super) openapi: OnceLock<Page>,
    /// Idempotency keys of requests that are being worked on.
    pub(super) in_flight: Arc<Mutex<HashSet<(AccountId, String)>>>,
}

/// One request on its way through a handler.
pub struct Call<'a> {
    /// The request.
    pub request: &'a Request,
    /// Its id.
    pub request_id: &'a RequestId,
    /// Whether errors are to be sent as `application/problem+json`.
    pub as_problem: bool,
    /// What stands for the route's `{run_id}` (or `{file}`), as it was sent.
    pub segment: Option<&'a str>,
    caller: Option<Caller>,
}

impl Call<'_> {
    /// Who calls. The route table lets none but callers with a key reach a handler that asks for them.
    ///
    /// # Errors
    /// 500, for a route that forgot to ask for a key.
    pub fn caller(&self) -> Result<&Caller, ApiError> {
        self.caller.as_ref().ok_or_else(ApiError::internal)
    }
}

impl Api {
    /// The contract over these parts.
    pub fn new(
        config: ApiConfig,
        accounts: Arc<Accounts>,
        limiter: Arc<RateLimiter>,
        runs: Arc<Runs>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            config,
            accounts,
            limiter,
            runs,
            clock,
            snapshots: Snapshots::default(),
            ping: PingCache::default(),
            traffic: Arc::new(Traffic::new(routes::all(), "none")),
            gauge: OnceLock::new(),
            openapi: OnceLock::new(),
            in_flight: Arc::default(),
        }
    }

    /// Forgets a run that was deleted, here or through another instance.
    pub fn forget_run(&self, run: RunId) {
        self.snapshots.forget(run);
    }

    /// Drops what it keeps of runs and may not show any more; the housekeeper calls it.
    pub fn keep_house(&self) {
        self.snapshots.sweep(Instant::now());
    }

    /// Requests and answers, counted.
    pub fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    /// Whether the store answers, as health sees it.
    pub fn has_store(&self) -> bool {
        self.ping.is_ok(|| self.accounts.ping().is_ok())
    }

    /// Where health's `load` gets the server's own numbers from.
    pub fn set_gauge(&self, gauge: Gauge) {
        // Set once, before the server starts.
        let _ = self.gauge.set(gauge);
    }

    fn route(
        self: &Arc<Self>,
        found: Match<'_>,
        request: &Request,
        request_id: &RequestId,
        counted: &mut Vec<Standing>,
    ) -> Result<Reply, ApiError> {
        match found {
            Match::Route(route, segment) => self.call(route, segment, request, request_id, counted),
            Match::Page(page, segment) => {
                let as_problem = wants_problem(request);
                (page.handler)(self, &Call { request, request_id, as_problem, segment, caller: None })
            }
            Match::OtherMethods(allow) if request.method == "OPTIONS" => {
                Ok(Reply::Now(Response::empty(204).with_header("Allow", allow)))
            }
            Match::OtherMethods(allow) => Err(ApiError::method_not_allowed(&allow)),
            Match::Nothing => Err(ApiError::no_such_path()),
        }
    }

    fn call(
        self: &Arc<Self>,
        route: &'static Route,
        segment: Option<&str>,
        request: &Request,
        request_id: &RequestId,
        counted: &mut Vec<Standing>,
    ) -> Result<Reply, ApiError> {
        let caller = match route.access {
            Access::Public => None,
            Access::Key(counts) => {
                let caller = authenticate(&self.accounts, request)?;
                self.count(&caller, counts, request, counted)?;
                Some(caller)
            }
        };
        let as_problem = wants_problem(request);
        (route.handler)(self, &Call { request, request_id, as_problem, segment, caller })
    }

    fn count(
        &self,
        caller: &Caller,
        counts: Counts,
        request: &Request,
        counted: &mut Vec<Standing>,
    ) -> Result<(), ApiError> {
        let policies: &[Policy] = match counts {
            Counts::As(Policy::Search) => &[Policy::Search],
            Counts::As(Policy::Stream) => &[Policy::Stream],
            Counts::As(Policy::Read) => &[Policy::Read],
            Counts::SearchOrStream if asks_for_stream(request) => &[Policy::Search, Policy::Stream],
            Counts::SearchOrStream => &[Policy::Search],
        };
        match self.limiter.count(caller.account.id, policies, self.clock.now()) {
            Ok(standings) => {
                counted.extend(standings);
                Ok(())
            }
            Err(Uncounted::UsedUp(refused)) => {
                counted.push(refused);
                Err(ApiError::rate_limited(&refused))
            }
            Err(Uncounted::UnknownAccount) => Err(AccountError::InvalidKey.into()),
            Err(Uncounted::Storage(error)) => Err(error.into()),
        }
    }

    /// Every answer comes through here, once.
    fn dress(&self, response: Response, dress: &Dress) -> Response {
        self.traffic.answered(&dress.visit, response.status);
        self.clothed(response, dress)
    }

    fn clothed(&self, response: Response, dress: &Dress) -> Response {
        let mut response = response.with_header("X-Request-Id", dress.request_id.as_str().to_owned());
        response = with_rate_limits(response, &dress.counted);
        if self.config.sandbox {
            response = response.with_header("X-Sightline-Sandbox", "true");
        }
        // A kept answer must not pass from one origin to another, nor from none to one.
        if !self.config.cors_origins.is_empty() {
            response = response.with_header("Vary", "Origin");
        }
        if let Some(origin) = &dress.cors_origin {
            response = with_cors(response, origin);
        }
        if response.header("Cache-Control").is_none() {
            response = response.with_header("Cache-Control", "no-store");
        }
        response.with_header("X-Content-Type-Options", "nosniff")
    }

    fn dress_for(&self, request: Option<&Request>, found: Option<&Match<'_>>) -> Dress {
        let offered = request.and_then(|request| request.header("x-request-id"));
        let origin = request.and_then(|request| request.header("origin"));
        Dress {
            visit: self.traffic.begin(request, found.and_then(routes::place_of)),
            request_id: RequestId::accept(offered),
            counted: Vec::new(),
            cors_origin: origin
                .filter(|origin| self.config.cors_origins.iter().any(|known| known == "*" || known == origin))
                .map(str::to_owned),
        }
    }
}

/// What every answer to a request wears.
#[derive(Clone)]
struct Dress {
    visit: Visit,
    request_id: RequestId,
    counted: Vec<Standing>,
    cors_origin: Option<String>,
}

/// The handler that the server calls: an [`Api`] that replies from other threads can share.
#[derive(Clone)]
pub struct ApiHandler(pub Arc<Api>);

impl Handler for ApiHandler {
    fn handle(&self, request: Request) -> Reply {
        let api = &self.0;
        let found = routes::find(&request.method, &request.path);
        let mut dress = api.dress_for(Some(&request), Some(&found));
        let route = route_name(&found);
        let as_problem = wants_problem(&request);
        let mut counted = Vec::new();
        let routed = api.route(found, &request, &dress.request_id, &mut counted);
        dress.counted = counted;
        debug!(request_id = dress.request_id.as_str(); "{} {route}", request.method);
        match routed {
            Ok(reply) => dress_reply(api, reply, dress),
            Err(error) => Reply::Now(api.dress(error.into_response(&dress.request_id, as_problem), &dress)),
        }
    }

    fn refuse(&self, refusal: Refusal, request: Option<&Request>) -> Response {
        let found = request.map(|request| routes::find(&request.method, &request.path));
        let dress = self.0.dress_for(request, found.as_ref());
        let as_problem = request.is_some_and(wants_problem);
        let error = ApiError::from(refusal);
        self.0.dress(error.into_response(&dress.request_id, as_problem), &dress)
    }
}

fn dress_reply(api: &Arc<Api>, reply: Reply, dress: Dress) -> Reply {
    match reply {
        Reply::Now(response) => Reply::Now(api.dress(response, &dress)),
        Reply::Stream(head, body) => {
            // Counted where it begins: one for which there is no place is answered by a refusal, which counts.
            let (status, visit, shared) = (head.status, dress.visit, Arc::clone(api));
            let counted: StreamBody = Box::new(move |sink| {
                shared.traffic.answered(&visit, status);
                body(sink)
            });
            Reply::Stream(api.clothed(head, &dress), api.traffic.streaming(counted))
        }
        Reply::Later(work) => {
            let shared = Arc::clone(api);
            Reply::Later(api.traffic.waiting(move || dress_reply(&shared, work(), dress)))
        }
    }
}

/// 200 with a JSON body.
pub(super) fn ok_json(body: &impl Serialize) -> Reply {
    Reply::Now(json_response(200, body))
}

/// A JSON answer.
pub(super) fn json_response(status: u16, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => Response::new(status, "application/json", bytes),
        // Our types have string keys and finite numbers alone: this cannot be.
        Err(_) => Response::empty(500),
    }
}

/// The route's pattern, for logs: a path may hold a run id, and a wrong one may hold anything.
fn route_name(found: &Match<'_>) -> &'static str {
    match found {
        Match::Route(route, _) => route.path,
        Match::Page(page, _) => page.path,
        _ => "(no route)",
    }
}

fn wants_problem(request: &Request) -> bool {
    request
        .header_values("accept")
        .any(|value| value.to_ascii_lowercase().contains("application/problem+json"))
}

fn with_rate_limits(response: Response, counted: &[Standing]) -> Response {
    // The older headers know one limit: the one that is nearest to its end.
    let Some(tightest) = counted.iter().min_by_key(|standing| standing.remaining) else { return response };
    let (mut policies, mut limits) = (String::with_capacity(64), String::with_capacity(64));
    for at in counted {
        let (comma, name) = (if policies.is_empty() { "" } else { ", " }, at.policy.as_str());
        // Writing to a String doesn't fail.
        let _ = write!(policies, "{comma}\"{name}\";q={};w=60", at.limit);
        let _ = write!(limits, "{comma}\"{name}\";r={};t={}", at.remaining, at.reset_secs);
    }
    response
        .with_header("RateLimit-Policy", policies)
        .with_header("RateLimit", limits)
        .with_header("X-RateLimit-Limit", tightest.limit.to_string())
        .with_header("X-RateLimit-Remaining", tightest.remaining.to_string())
        .with_header("X-RateLimit-Reset", tightest.reset_secs.to_string())
}

fn with_cors(response: Response, origin: &str) -> Response {
    const EXPOSED: &str = "X-Request-Id, X-Run-Id, Location, ETag, Retry-After, RateLimit, RateLimit-Policy, \
        X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Sightline-Sandbox, Preference-Applied, \
        Content-Disposition, X-Run-Status";
    const ALLOWED: &str = "Authorization, X-API-Key, Content-Type, Idempotency-Key, Prefer, X-Request-Id, If-None-Match, Last-Event-ID";
    let is_preflight = response.status == 204 && response.header("Allow").is_some();
    let methods = response.header("Allow").map(str::to_owned);
    let mut response = response
        .with_header("Access-Control-Allow-Origin", origin.to_owned())
        .with_header("Access-Control-Expose-Headers", EXPOSED);
    if let (true, Some(methods)) = (is_preflight, methods) {
        response = response
            .with_header("Access-Control-Allow-Methods", methods)
            .with_header("Access-Control-Allow-Headers", ALLOWED)
            .with_header("Access-Control-Max-Age", "600");
    }
    response
}
