//! `/v1/capabilities`, `/v1/health`, `/v1/me` and `/v1/credits`.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::context::{Api, Call, ok_json};
use crate::base::clock::millis;
use crate::base::ids::AccountId;
use crate::http::Reply;
use crate::model::credits::{Balance, PREMIUM_COST, STANDARD_COST};
use crate::model::quota::Policy;
use crate::model::refusal::Refusal;
use crate::modules::query::SearchType;

/// The abilities and limits of the service.
#[derive(Debug, Serialize, ToSchema)]
pub struct Capabilities<'a> {
    /// Version of the API.
    #[schema(pattern = "^v[0-9]+$")]
    pub version: &'static str,
    /// Types of identifiers that can be searched.
    #[schema(value_type = Vec<SearchType>)]
    pub search_types: [SearchType; 3],
    /// The ways to get results, with the calls of each.
    pub modes: BTreeMap<&'static str, &'static str>,
    /// The fields of a result, each with a short description of its type.
    pub result_fields: BTreeMap<&'static str, &'static str>,
    /// The limits of the caller's plan, or of the service.
    pub limits: Limits,
    /// Authentication of requests.
    pub auth: Auth<'a>,
    /// Premium searches.
    pub premium: Premium<'a>,
    /// Number of modules that a standard search asks, by type.
    #[schema(value_type = BTreeMap<String, usize>)]
    pub modules: BTreeMap<SearchType, usize>,
    /// Number of further modules that a search for a username with `engines` asks.
    pub engine_modules: usize,
    /// Address of the documentation for people.
    #[schema(format = "uri")]
    pub docs_url: String,
    /// Address of the OpenAPI document.
    #[schema(format = "uri")]
    pub openapi_url: String,
}

/// The limits in force.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CapabilitiesLimits)]
pub struct Limits {
    /// Searches that an account may start per minute.
    pub rate_limit_per_minute: u32,
    /// Reads per minute.
    pub read_rate_limit_per_minute: u32,
    /// Streams, started or attached to, per minute.
    pub stream_rate_limit_per_minute: u32,
    /// Cost of a standard search in credits.
    pub credits_per_search: u64,
    /// Cost of a premium search in credits.
    pub premium_credits_per_search: u64,
    /// Longest wait of a request, in whole seconds.
    pub sync_wait_seconds: u64,
    /// Longest duration of one stream, in whole seconds.
    pub stream_timeout_seconds: u64,
}

/// Authentication of requests.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CapabilitiesAuth)]
pub struct Auth<'a> {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Form of the header.
    pub header: &'static str,
    /// Plans whose keys work on the API.
    #[schema(value_type = Vec<String>)]
    pub plan_required: Vec<&'a str>,
}

/// Premium searches, which also ask modules that need a browser.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CapabilitiesPremium)]
pub struct Premium<'a> {
    /// Query type for which `premium` has an effect; it is ignored for the others.
    pub applies_to: SearchType,
    /// Cost of a premium search in credits.
    pub credits: u64,
    /// Number of modules that need a browser.
    pub module_count: usize,
    /// Whether premium searches are possible now.
    pub available: bool,
    /// Plans that include premium searches.
    #[schema(value_type = Vec<String>)]
    pub plan_required: Vec<&'a str>,
}

/// The version of the API.
const API_VERSION: &str = "v1";

/// Reports the abilities and limits of the service.
///
/// Needs no key and is not counted.
#[utoipa::path(get, path = "/v1/capabilities", responses((status = 200, body = Capabilities<'_>)))]
pub fn get_capabilities(api: &Arc<Api>, _: &Call<'_>) -> Result<Reply, Refusal> {
    let plans = api.accounts.plans();
    let base_url = &api.base_url;
    let (counts, limit) = (api.runs.module_counts(), |policy| api.limiter.limit(policy));
    Ok(ok_json(&Capabilities {
        version: API_VERSION,
        search_types: SearchType::ALL,
        modes: BTreeMap::from(MODES),
        result_fields: BTreeMap::from(RESULT_FIELDS),
        limits: Limits {
            rate_limit_per_minute: limit(Policy::Search),
            read_rate_limit_per_minute: limit(Policy::Read),
            stream_rate_limit_per_minute: limit(Policy::Stream),
            credits_per_search: STANDARD_COST,
            premium_credits_per_search: PREMIUM_COST,
            sync_wait_seconds: api.config.sync_wait.as_secs(),
            stream_timeout_seconds: api.config.stream_timeout.as_secs(),
        },
        auth: Auth {
            scheme: "bearer",
            header: "Authorization: Bearer <API_KEY>",
            plan_required: plans.names_where(|plan| plan.api),
        },
        premium: Premium {
            applies_to: SearchType::Username,
            credits: PREMIUM_COST,
            module_count: counts.premium,
            available: api.runs.browsers.was_available(),
            plan_required: plans.names_where(|plan| plan.premium),
        },
        modules: counts.standard,
        engine_modules: counts.engines,
        docs_url: format!("{base_url}/docs"),
        openapi_url: format!("{base_url}/openapi.json"),
    }))
}

/// State of the service. Contains nothing about any user, and no load figures.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// `ok`, or `degraded` if the database does not answer, or refused a write in the last five seconds.
    pub status: &'static str,
    /// Name of the service.
    pub service: &'static str,
    /// Version of the API.
    #[schema(pattern = "^v[0-9]+$")]
    pub version: &'static str,
    /// `ok`, or `unavailable` if the database does not answer or refuses writes.
    pub database: &'static str,
    /// Whether streams are available.
    pub streaming: bool,
    /// Time by the server's clock: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub time: Timestamp,
    /// Version of the program.
    pub release: &'static str,
    /// Present only if true: the web is simulated, and no result is real.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sandbox: bool,
}

/// Reports the state of the service.
///
/// Needs no key and is not counted. The status is 200 even if the database does not answer: see `status`.
#[utoipa::path(get, path = "/v1/health", responses((status = 200, body = Health)))]
pub fn get_health(api: &Arc<Api>, _: &Call<'_>) -> Result<Reply, Refusal> {
    let ok = api.has_store();
    Ok(ok_json(&Health {
        status: if ok { "ok" } else { "degraded" },
        service: "sightline",
        version: API_VERSION,
        database: if ok { "ok" } else { "unavailable" },
        streaming: true,
        time: api.clock.now(),
        release: env!("CARGO_PKG_VERSION"),
        sandbox: api.sandbox,
    }))
}

const MODES: [(&str, &str); 3] = [
    (
        "async",
        "POST /v1/searches, then GET /v1/searches/{run_id} every 2 to 5 seconds until the run has ended",
    ),
    ("sync", "POST /v1/searches with wait=true: the results if the run ends in time; otherwise poll"),
    ("stream", "POST /v1/searches with stream=true, or GET /v1/searches/{run_id}/stream: text/event-stream"),
];

const RESULT_FIELDS: [(&str, &str); 9] = [
    ("id", "integer, sequential per run"),
    ("type", "string, entity type"),
    ("entity_type", "string, same value as type"),
    ("platform", "string or null"),
    ("value", "string or null"),
    ("confidence", "number, 0.0 to 1.0"),
    ("source", "string, id of the module that found it first"),
    (
        "metadata",
        "object; sources: the modules that found it, each with module, platform, confidence and, if it is kept, evidence",
    ),
    ("created_at", "string, ISO 8601 timestamp"),
];

/// A number of credits, or the word `unlimited` on a plan without a cap.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Amount {
    /// A number of credits.
    Count(u64),
    /// The word `unlimited`.
    Word(&'static str),
}

impl From<Option<u64>> for Amount {
    fn from(amount: Option<u64>) -> Self {
        amount.map_or(Self::Word("unlimited"), Self::Count)
    }
}

/// The credit balance of the account, shared by all of its keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct Credits {
    /// Name of the plan.
    #[schema(pattern = "^[a-z0-9_-]{1,32}$")]
    pub tier: String,
    /// Credits that are left in this billing period.
    pub credits_remaining: Amount,
    /// Credits used in this billing period.
    pub credits_used: u64,
    /// All credits of a billing period.
    pub credits_allowed: Amount,
    /// Start of the billing period: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub period_start: Timestamp,
    /// Start of the next billing period: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub period_end: Timestamp,
}

impl Credits {
    /// Returns the balance of an account on the plan `tier`.
    pub fn new(tier: &str, balance: &Balance) -> Self {
        Self {
            tier: tier.to_owned(),
            credits_remaining: balance.remaining().into(),
            credits_used: balance.used,
            credits_allowed: balance.allowed.into(),
            period_start: balance.cycle.start,
            period_end: balance.cycle.end,
        }
    }
}

/// The owner of the key, and their plan.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Account)]
pub struct Me<'a> {
    /// Identifies the account.
    pub user_id: AccountId,
    /// Name of the plan.
    #[schema(pattern = "^[a-z0-9_-]{1,32}$")]
    pub tier: &'a str,
    /// Whether the plan includes the API: always true here, because a key of another plan gets 403.
    pub api_access: bool,
    /// Searches that may be started per minute, over all keys of the account.
    pub rate_limit_per_minute: u32,
    /// Whether streams are available.
    pub supports_streaming: bool,
    /// Types of identifiers that can be searched.
    #[schema(value_type = Vec<SearchType>)]
    pub search_types: [SearchType; 3],
    /// The credits of this billing period.
    pub credits: MeCredits,
}

/// The credits of the billing period.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AccountCredits)]
pub struct MeCredits {
    /// Credits that are left.
    pub remaining: Amount,
    /// Credits used.
    pub used: u64,
    /// All credits of the billing period.
    pub allowed: Amount,
    /// Start of the next billing period: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub period_end: Timestamp,
}

/// Checks the key.
///
/// Confirms that the key works, and returns its owner and the limits of the plan. Costs no credits.
#[utoipa::path(get, path = "/v1/me", responses((status = 200, body = Me<'_>)))]
pub fn get_account(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let caller = call.caller()?;
    let balance = api.accounts.balance(caller)?;
    Ok(ok_json(&Me {
        user_id: caller.account.id,
        tier: &caller.plan.name,
        api_access: caller.plan.api,
        rate_limit_per_minute: api.limiter.limit(Policy::Search),
        supports_streaming: true,
        search_types: SearchType::ALL,
        credits: MeCredits {
            remaining: balance.remaining().into(),
            used: balance.used,
            allowed: balance.allowed.into(),
            period_end: balance.cycle.end,
        },
    }))
}

/// Reads the credit balance.
///
/// Costs no credits.
#[utoipa::path(get, path = "/v1/credits", responses((status = 200, body = Credits)))]
pub fn get_credits(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let caller = call.caller()?;
    let balance = api.accounts.balance(caller)?;
    Ok(ok_json(&Credits::new(&caller.plan.name, &balance)))
}
