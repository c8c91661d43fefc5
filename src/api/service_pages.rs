//! What the service says of itself: health, capabilities, the catalogue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::error::ApiError;
use super::searches::{PREMIUM_COST, STANDARD_COST};
use super::service::{Api, Call, ok_json};
use super::wire::service::{
    Auth, Capabilities, DatabaseStatus, Health, HealthLoad, HealthStatus, Limits, Modes, Module, ModuleList,
    Premium,
};
use crate::http::Reply;
use crate::modules::query::SearchType;

/// How long a ping's answer is believed: health may be asked thousands of times a second.
const PING_TTL: Duration = Duration::from_millis(500);
/// The last answer of the database to a ping.
#[derive(Default)]
pub struct PingCache {
    last: Mutex<Option<(Instant, bool)>>,
    pinging: Mutex<()>,
}

impl PingCache {
    /// Whether the database answers; asks it at most every [`PING_TTL`], one caller at a time. While one
    /// asks, the others take the last answer rather than queue up behind a database that hangs.
    fn is_ok(&self, ping: impl FnOnce() -> bool) -> bool {
        let last = *self.last.lock();
        if let Some((_, ok)) = last.filter(|(at, _)| at.elapsed() < PING_TTL) {
            return ok;
        }
        let _turn = match (self.pinging.try_lock(), last) {
            (Some(turn), _) => turn,
            (None, Some((_, ok))) => return ok,
            (None, None) => self.pinging.lock(),
        };
        // Whoever waited for its turn takes what the one before it learnt.
        if let Some((_, ok)) = self.last.lock().filter(|(at, _)| at.elapsed() < PING_TTL) {
            return ok;
        }
        let ok = ping();
        *self.last.lock() = Some((Instant::now(), ok));
        ok
    }
}

/// The version of the contract.
const API_VERSION: &str = "v1";

/// `GET /v1/health`.
///
/// # Errors
/// Never: a database that does not answer is `degraded`.
pub fn health(api: &Arc<Api>, _: &Call<'_>) -> Result<Reply, ApiError> {
    let ok = api.ping.is_ok(|| api.accounts.ping().is_ok());
    let (runs_driven, runs_waiting) = api.runs.counts();
    let (check_workers_busy, check_workers) = api.runs.workers();
    let server = api.load.get().map(|probe| probe().into());
    Ok(ok_json(&Health {
        status: if ok { HealthStatus::Ok } else { HealthStatus::Degraded },
        service: "sightline",
        version: API_VERSION,
        database: if ok { DatabaseStatus::Ok } else { DatabaseStatus::Unavailable },
        streaming: true,
        time: api.clock.now(),
        release: env!("CARGO_PKG_VERSION"),
        load: HealthLoad { runs_driven, runs_waiting, check_workers_busy, check_workers, server },
        sandbox: api.config.sandbox,
    }))
}

/// `GET /v1/capabilities`.
///
/// # Errors
/// Never.
pub fn capabilities(api: &Arc<Api>, _: &Call<'_>) -> Result<Reply, ApiError> {
    let plans = api.accounts.plans();
    let base_url = &api.config.base_url;
    let counts = api.runs.module_counts();
    Ok(ok_json(&Capabilities {
        version: API_VERSION,
        search_types: SearchType::ALL,
        modes: MODES,
        result_fields: BTreeMap::from(RESULT_FIELDS),
        limits: limits(api),
        auth: Auth {
            scheme: "bearer",
            header: "Authorization: Bearer <API_KEY>",
            plan_required: plans.names_where(|plan| plan.api),
        },
        premium: Premium {
            applies_to: SearchType::Username,
            credits: PREMIUM_COST,
            module_count: counts.premium,
            available: api.config.premium_available,
            plan_required: plans.names_where(|plan| plan.premium),
        },
        modules: counts.standard,
        docs_url: format!("{base_url}/docs"),
        openapi_url: format!("{base_url}/openapi.json"),
    }))
}

fn limits(api: &Api) -> Limits {
    let limits = api.limiter.limits();
    Limits {
        rate_limit_per_minute: limits.search,
        read_rate_limit_per_minute: limits.read,
        stream_rate_limit_per_minute: limits.stream,
        credits_per_search: STANDARD_COST,
        premium_credits_per_search: PREMIUM_COST,
        sync_wait_seconds: api.config.sync_wait.as_secs(),
        stream_timeout_seconds: api.config.stream_timeout.as_secs(),
    }
}

const MODES: Modes = Modes {
    polling: "POST /v1/searches answers with a run_id; poll GET /v1/searches/{run_id} every 2 to 5 seconds until status is completed or failed",
    waiting: "POST /v1/searches with wait=true answers with the results if the run ends in time, else with status running; then poll",
    stream: "POST /v1/searches with stream=true, or GET /v1/searches/{run_id}/stream, answers with text/event-stream: run, result and progress, done",
};

const RESULT_FIELDS: [(&str, &str); 9] = [
    ("id", "integer, sequential per run"),
    ("type", "string, entity type"),
    ("entity_type", "string, same value as type"),
    ("platform", "string or null"),
    ("value", "string or null"),
    ("confidence", "number, 0.0 to 1.0"),
    ("source", "string, id of the module that found it first"),
    ("metadata", "object; sources: the modules that found it, each with module, platform and confidence"),
    ("created_at", "string, ISO 8601 timestamp"),
];

/// `GET /v1/modules`.
///
/// # Errors
/// Never.
pub fn modules(api: &Arc<Api>, _: &Call<'_>) -> Result<Reply, ApiError> {
    let (health, now) = (api.runs.module_health(), api.clock.now());
    let modules: Vec<Module<'_>> = api
        .runs
        .catalog()
        .modules()
        .iter()
        .map(|module| {
            let entry = module.entry();
            Module {
                id: module.id(),
                platform: module.platform(),
                search_type: module.search_type(),
                category: &entry.category,
                tags: &entry.tags,
                contact: entry.contact,
                needs: &entry.needs,
                premium: module.is_premium(),
                nsfw: entry.nsfw,
                discovery: entry.discovery,
                enabled: entry.enabled,
                health: health.of(module.id(), now),
            }
        })
        .collect();
    Ok(ok_json(&ModuleList { count: modules.len(), modules }))
}
