//! What the service says of itself.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::base::clock::millis;
use crate::http::Load;
use crate::modules::definition::Contact;
use crate::modules::query::SearchType;
use crate::runs::health::verdict::ModuleHealth;

// Section 2.6 of the contract.
/// How the service does. It holds nothing of any user.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// `ok`, or `degraded` where the database does not answer, or refused a write in the last five seconds.
    pub status: HealthStatus,
    /// Name of the service.
    #[schema(examples("sightline"))]
    pub service: &'static str,
    /// Version of the API.
    #[schema(pattern = "^v[0-9]+$", examples("v1"))]
    pub version: &'static str,
    /// Whether the database answers and takes what is written.
    pub database: DatabaseStatus,
    /// Whether streams are served.
    #[schema(examples(true))]
    pub streaming: bool,
    /// The server's clock: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    #[schema(examples("2026-05-06T07:08:09.010Z"))]
    pub time: Timestamp,
    /// Version of the program.
    #[schema(examples("0.1.0"))]
    pub release: &'static str,
    /// How busy it is. Members may be added.
    pub load: HealthLoad,
    /// Only where it is true: the web is simulated, nothing that is found is real.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(examples(true))]
    pub sandbox: bool,
}

/// How the service does.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// The database answers and takes what is written.
    Ok,
    /// The database does not.
    Degraded,
}

/// How the database does.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseStatus {
    /// It answers and takes what is written.
    Ok,
    /// It does not.
    Unavailable,
}

/// How busy the service is, in counts.
#[derive(Debug, Serialize, ToSchema)]
pub struct HealthLoad {
    /// Runs that are under way here.
    #[schema(examples(3))]
    pub runs_driven: usize,
    /// Runs that wait for their turn.
    #[schema(examples(0))]
    pub runs_waiting: usize,
    /// Checks that are under way.
    #[schema(examples(96))]
    pub check_workers_busy: usize,
    /// Checks that can be under way at once.
    #[schema(examples(512))]
    pub check_workers: usize,
    /// Pages that are open in browsers, for premium searches.
    #[schema(examples(2))]
    pub browser_sessions_busy: usize,
    /// Pages that can be open at once; 0: no browser is configured.
    #[schema(examples(2))]
    pub browser_sessions: usize,
    /// The server's own figures.
    #[serde(flatten)]
    #[schema(value_type = ServerLoad)]
    pub server: Option<ServerLoad>,
}

/// How busy the HTTP server is, in counts.
#[derive(Debug, Serialize, ToSchema)]
pub struct ServerLoad {
    /// Threads that answer requests now.
    #[schema(examples(1))]
    pub request_workers_busy: usize,
    /// Threads that can.
    #[schema(examples(16))]
    pub request_workers: usize,
    /// Requests that wait for such a thread.
    #[schema(examples(0))]
    pub requests_queued: usize,
    /// Requests that can wait at once.
    #[schema(examples(1024))]
    pub requests_queued_max: usize,
    /// Streams and waiting requests.
    #[schema(examples(7))]
    pub streams_open: usize,
    /// Streams and waiting requests that there can be at once.
    #[schema(examples(2000))]
    pub streams_max: usize,
    /// Open connections.
    #[schema(examples(23))]
    pub connections: usize,
    /// Connections that there can be at once.
    #[schema(examples(15000))]
    pub connections_max: usize,
    /// Requests refused for want of capacity since the start.
    #[schema(examples(0))]
    pub refused_total: u64,
    /// How often the accept loop had to be built anew since the start.
    #[schema(examples(0))]
    pub accept_loop_rebuilds_total: u64,
}

impl From<Load> for ServerLoad {
    fn from(load: Load) -> Self {
        Self {
            request_workers_busy: load.workers_busy,
            request_workers: load.workers_max,
            requests_queued: load.requests_queued,
            requests_queued_max: load.requests_queued_max,
            streams_open: load.streams_open,
            streams_max: load.streams_max,
            connections: load.connections,
            connections_max: load.connections_max,
            refused_total: load.refused_total,
            accept_loop_rebuilds_total: load.rebuilds_total,
        }
    }
}

// Section 2.7 of the contract.
/// What the service can do, and within which limits.
#[derive(Debug, Serialize, ToSchema)]
pub struct Capabilities<'a> {
    /// Version of the API.
    #[schema(pattern = "^v[0-9]+$", examples("v1"))]
    pub version: &'static str,
    /// What can be looked up.
    #[schema(value_type = Vec<SearchType>, examples(json!(["domain", "email", "username"])))]
    pub search_types: [SearchType; 3],
    /// The ways to get results: the calls that each takes, in words.
    pub modes: Modes,
    /// The fields of a result: name to a short description of its type.
    #[schema(examples(json!({"id": "integer, sequential per run"})))]
    pub result_fields: BTreeMap<&'static str, &'static str>,
    /// The limits in force.
    pub limits: Limits,
    /// How a request says whose it is.
    pub auth: Auth<'a>,
    /// Premium searches.
    pub premium: Premium<'a>,
    /// Modules that a standard search asks, by type.
    #[schema(value_type = BTreeMap<String, usize>, examples(json!({"domain": 116, "email": 84, "username": 495})))]
    pub modules: BTreeMap<SearchType, usize>,
    /// Address of the documentation for people.
    #[schema(format = "uri", examples("https://search.example.org/docs"))]
    pub docs_url: String,
    /// Address of this description.
    #[schema(format = "uri", examples("https://search.example.org/openapi.json"))]
    pub openapi_url: String,
}

/// The ways to get results: the calls that each takes, in words.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CapabilitiesModes)]
pub struct Modes {
    /// Start, then poll.
    #[serde(rename = "async")]
    #[schema(examples("POST /v1/searches answers with a run_id; poll GET /v1/searches/{run_id}"))]
    pub polling: &'static str,
    /// Start and wait.
    #[serde(rename = "sync")]
    #[schema(examples("POST /v1/searches with wait=true answers with the results if the run ends in time"))]
    pub waiting: &'static str,
    /// Start and follow.
    #[schema(examples("POST /v1/searches with stream=true answers with text/event-stream"))]
    pub stream: &'static str,
}

/// The limits in force.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CapabilitiesLimits)]
pub struct Limits {
    /// Searches that an account may start in any 60 seconds.
    #[schema(minimum = 1, examples(30))]
    pub rate_limit_per_minute: u32,
    /// Reads in any 60 seconds.
    #[schema(minimum = 1, examples(120))]
    pub read_rate_limit_per_minute: u32,
    /// Streams, started or attached to, in any 60 seconds.
    #[schema(minimum = 1, examples(60))]
    pub stream_rate_limit_per_minute: u32,
    /// What a standard search costs.
    #[schema(examples(1))]
    pub credits_per_search: u64,
    /// What a premium search costs.
    #[schema(examples(2))]
    pub premium_credits_per_search: u64,
    /// The longest inline wait, in whole seconds.
    #[schema(examples(30))]
    pub sync_wait_seconds: u64,
    /// The longest duration of one stream, in whole seconds.
    #[schema(examples(180))]
    pub stream_timeout_seconds: u64,
}

/// How a request says whose it is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CapabilitiesAuth)]
pub struct Auth<'a> {
    /// Name of the scheme.
    #[schema(examples("bearer"))]
    pub scheme: &'static str,
    /// Form of the header.
    #[schema(examples("Authorization: Bearer <API_KEY>"))]
    pub header: &'static str,
    /// Plans whose keys work on the API.
    #[schema(value_type = Vec<String>, examples(json!(["pro", "unlimited"])))]
    pub plan_required: Vec<&'a str>,
}

/// Premium searches: those that ask solver-backed platforms too.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CapabilitiesPremium)]
pub struct Premium<'a> {
    /// The type that it applies to; ignored for the others.
    pub applies_to: SearchType,
    /// What such a search costs.
    #[schema(examples(2))]
    pub credits: u64,
    /// Solver-backed modules.
    #[schema(examples(27))]
    pub module_count: usize,
    /// Whether it can be had here now.
    #[schema(examples(true))]
    pub available: bool,
    /// Plans that include it.
    #[schema(value_type = Vec<String>, examples(json!(["basic", "pro", "unlimited"])))]
    pub plan_required: Vec<&'a str>,
}

/// The catalogue.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModuleList<'a> {
    /// How many modules there are.
    #[schema(examples(580))]
    pub count: usize,
    /// The modules.
    pub modules: Vec<Module<'a>>,
}

/// One module of the catalogue: one site or service, asked for one type of query.
#[derive(Debug, Serialize, ToSchema)]
pub struct Module<'a> {
    /// Identifies the module.
    #[schema(pattern = "^[a-z0-9_.-]{1,64}$", examples("github"))]
    pub id: &'a str,
    /// Name of the platform.
    #[schema(examples("GitHub"))]
    pub platform: &'a str,
    /// The type of query that it takes.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// What the platform is about.
    #[schema(pattern = "^[a-z0-9_ -]{1,64}$", examples("coding"))]
    pub category: &'a str,
    /// Further words.
    #[schema(examples(json!(["developer"])))]
    pub tags: &'a [String],
    /// Who sees its traffic.
    pub contact: Contact,
    /// Names of the operator's keys that it needs: without them it is skipped.
    #[schema(examples(json!([])))]
    pub needs: &'a [String],
    /// Whether only premium searches ask it.
    #[schema(examples(false))]
    pub premium: bool,
    /// Adult content: asked only where the search says `nsfw`.
    #[schema(examples(false))]
    pub nsfw: bool,
    /// It touches a sign-in page (never with a password): asked only where the operator switched it on.
    #[schema(examples(false))]
    pub discovery: bool,
    /// Whether it is switched on.
    #[schema(examples(true))]
    pub enabled: bool,
    /// How it has done lately.
    pub health: ModuleHealth,
}
