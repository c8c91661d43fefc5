//! What the service says of itself: capabilities, the catalogue.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::ApiError;
use super::service::{Api, Call, ok_json};
use super::wire::service::{Auth, Capabilities, Limits, Modes, Module, ModuleList, Premium};
use crate::account::credits::{PREMIUM_COST, STANDARD_COST};
use crate::http::Reply;
use crate::modules::query::SearchType;

/// The version of the contract.
pub(super) const API_VERSION: &str = "v1";

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
            available: api.runs.can_browse(),
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
    let all = api.runs.module_health().of_all(api.runs.catalog().modules(), api.clock.now());
    let modules: Vec<Module<'_>> = all
        .into_iter()
        .map(|(module, health)| {
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
                health,
            }
        })
        .collect();
    Ok(ok_json(&ModuleList { count: modules.len(), modules }))
}
