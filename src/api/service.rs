//! The API as a [`Service`]: authentication, rate limits, and the headers that every answer has.

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use super::context::{Api, ApiConfig, Call, InFlight};
use super::decode::asks_for_stream;
use super::mcp;
use super::openapi::document;
use super::routes::{Access, Endpoint, ROUTES, Route};
use crate::account::rate_limit::RateLimitState;
use crate::account::service::{Accounts, Caller};
use crate::base::cache::{Bounds, Cache};
use crate::http::{Reply, Request, Response, ResponseContext, Router, Segments, Service, StaticFile};
use crate::model::quota::Policy;
use crate::model::refusal::Refusal;
use crate::service::Services;

impl Api {
    /// Creates the API over these parts.
    pub fn new(config: ApiConfig, services: Services) -> Self {
        Self {
            config,
            services,
            ping: Cache::new(Bounds { entries: 1, weight: 1 }),
            bodies: Cache::new(Bounds { entries: 1000, weight: 16 * 1024 * 1024 }),
            openapi: OnceLock::new(),
            in_flight: InFlight::default(),
        }
    }

    /// Returns the document of `/openapi.json`, which is made for its first request.
    pub(super) fn openapi(&self) -> &Arc<StaticFile> {
        self.openapi.get_or_init(|| {
            let text = document(&self.base_url).to_string();
            Arc::new(StaticFile::plain("application/json", text.into_bytes()))
        })
    }

    /// Returns the handler that serves the API.
    pub fn router(self: Arc<Self>) -> Router<Self> {
        Router::new(self, &ROUTES, "none")
    }
}

/// Returns the rate limits that a request counts under.
fn policies<'a>(access: &'a Access, request: &Request) -> &'a [Policy] {
    match access {
        Access::Public => &[],
        Access::Key(policy) => std::slice::from_ref(policy),
        Access::SearchOrStream if asks_for_stream(request) => &[Policy::Search, Policy::Stream],
        Access::Message if !mcp::starts_search(request) => &[Policy::Read],
        Access::SearchOrStream | Access::Message => &[Policy::Search],
    }
}

/// State of a request that the headers of its answer depend on.
pub struct RequestState {
    /// The rate limits that the request was counted under.
    counted: Vec<RateLimitState>,
    /// The origin of a browser's request, if scripts from there may call the API.
    cors_origin: Option<String>,
}

impl Service for Api {
    type Endpoint = Endpoint;
    type State = RequestState;
    type Error = Refusal;

    fn state(&self, request: Option<&Request>) -> RequestState {
        let origin = request.and_then(|request| request.header("origin"));
        let known = &self.config.cors_origins;
        RequestState {
            counted: Vec::new(),
            cors_origin: origin
                .filter(|origin| known.iter().any(|known| known == "*" || known == origin))
                .map(str::to_owned),
        }
    }

    fn call(
        self: &Arc<Self>,
        route: &'static Route,
        segments: Segments,
        request: Request,
        context: &mut ResponseContext<RequestState>,
    ) -> Result<Reply, Refusal> {
        let Endpoint { access, handler, .. } = route.endpoint;
        let caller = match access {
            Access::Public => None,
            access => {
                let caller = authenticate(&self.accounts, &request)?;
                context.account = Some(caller.account.id);
                let policies = policies(&access, &request);
                self.limiter.count(caller.account.id, policies, &mut context.state.counted)?;
                Some(caller)
            }
        };
        let call = Call { request: &request, request_id: &context.request_id, segments, caller };
        handler(self, &call)
    }

    fn error_response(&self, error: Refusal, context: &ResponseContext<RequestState>) -> Response {
        error.into_response(&context.request_id)
    }

    fn with_headers(&self, response: Response, context: &ResponseContext<RequestState>) -> Response {
        let mut response = with_rate_limits(response, &context.state.counted);
        if self.sandbox {
            response = response.with_header("X-Sightline-Sandbox", "true");
        }
        // A cache must not reuse an answer for another origin, or for none.
        if !self.config.cors_origins.is_empty() {
            response = response.with_header("Vary", "Origin");
        }
        match &context.state.cors_origin {
            Some(origin) => with_cors(response, origin),
            None => response,
        }
    }
}

fn with_rate_limits(response: Response, counted: &[RateLimitState]) -> Response {
    // The older headers show one limit: the one with the fewest requests left.
    let Some(tightest) = counted.iter().min_by_key(|state| state.remaining) else { return response };
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
    const ALLOWED: &str = "Authorization, X-API-Key, Content-Type, Idempotency-Key, Prefer, X-Request-Id, If-None-Match, If-Modified-Since, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name";
    // Of a preflight request.
    let methods = response.header("Allow").filter(|_| response.status == 204).map(str::to_owned);
    let response = response
        .with_header("Access-Control-Allow-Origin", origin.to_owned())
        .with_header("Access-Control-Expose-Headers", "*");
    let Some(methods) = methods else { return response };
    response
        .with_header("Access-Control-Allow-Methods", methods)
        .with_header("Access-Control-Allow-Headers", ALLOWED)
        .with_header("Access-Control-Max-Age", "600")
}

/// Returns the caller of a request, who needs a key and a plan with API access.
///
/// # Errors
/// Returns 401 for a missing or invalid key or two different ones, 403 for a plan without API access, 503 if
/// the store is unavailable.
fn authenticate(accounts: &Accounts, request: &Request) -> Result<Caller, Refusal> {
    let key = key_of_request(request)?;
    let caller = accounts.authenticate(key)?;
    if caller.plan.api {
        return Ok(caller);
    }
    Err(Refusal::plan_required("API access", accounts.plans().names_where(|plan| plan.api)))
}

/// Returns the key of `Authorization: Bearer …` or `X-API-Key: …`. Both may be sent if they are equal.
fn key_of_request(request: &Request) -> Result<&str, Refusal> {
    let mut keys: Vec<&str> = request.header_values("x-api-key").map(str::trim).collect();
    for value in request.header_values("authorization") {
        let (scheme, key) = value.trim().split_once(' ').unwrap_or((value, ""));
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Refusal::invalid_api_key(
                "invalid Authorization header: expected \"Bearer <API_KEY>\"",
            ));
        }
        keys.push(key.trim());
    }
    let Some(&first) = keys.first() else {
        return Err(Refusal::invalid_api_key("missing API key: send it as Authorization: Bearer <API_KEY>"));
    };
    if keys.iter().any(|key| *key != first) {
        return Err(Refusal::invalid_api_key("the request contains two different API keys"));
    }
    Ok(first)
}
