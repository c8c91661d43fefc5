//! The body of a search, and the headers and parameters that several operations read.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::request;
use crate::http::Request;
use crate::model::follow::{Class, FollowOrder};
use crate::model::refusal::Refusal;
use crate::model::run::RunOptions;
use crate::model::search::{Search, purpose};
use crate::modules::catalog::{Choice, MAX_NAMES};
use crate::modules::query::{Query, SearchType};

/// The longest `Idempotency-Key` in characters.
const MAX_IDEMPOTENCY_KEY: usize = 255;

/// A search.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct SearchRequest {
    /// Type of the query.
    #[serde(rename = "type")]
    search_type: SearchType,
    /// The query: an email address, a username, or a domain or its address. White space around it is ignored. One leading
    /// `@` of a username is dropped; it has 1 to 64 letters of any script, digits and `._+~-`. A domain must have a
    /// registrable part in the public suffix list: IP addresses, single labels and special-use names (`localhost`, `.local`,
    /// `.onion`, …) are refused, also in an email address. At most 1,024 bytes.
    #[schema(min_length = 1, max_length = 1024, examples("octocat", "name+tag@example.com", "example.com"))]
    query: String,
    /// Answer with the results if the run ends within the longest wait (30 seconds, as configured: see capabilities), else
    /// with status `running`.
    wait: Option<bool>,
    /// Answer with a stream of events; takes precedence over `wait`.
    stream: Option<bool>,
    /// Also ask modules that need a browser: 2 credits instead of 1. Ignored for other types than `username`.
    premium: Option<bool>,
    /// Ask only these modules, by id, such as `github`: see `GET /v1/modules`. All must be of this type and enabled; an adult one that is named
    /// is asked without `nsfw`.
    #[serde(default, deserialize_with = "request::list::<_, _, 1, MAX_NAMES>")]
    #[schema(min_items = 1, max_items = 1000)]
    modules: Option<Vec<String>>,
    /// Do not ask these modules, by id; they may be of any type.
    #[serde(default, deserialize_with = "request::list::<_, _, 0, MAX_NAMES>")]
    #[schema(max_items = 1000)]
    exclude_modules: Option<Vec<String>>,
    /// Ask only modules of these categories, such as `coding`. All must be known, and at least one module must remain.
    #[serde(default, deserialize_with = "request::list::<_, _, 1, MAX_NAMES>")]
    #[schema(min_items = 1, max_items = 1000)]
    categories: Option<Vec<String>>,
    /// Also ask adult sites.
    nsfw: Option<bool>,
    /// Also ask more than 2,000 sites that run the software of a known engine, such as Discourse or MediaWiki.
    engines: Option<bool>,
    /// Ask only third parties, so that no request reaches the searched domain or its name servers.
    passive: Option<bool>,
    /// Give every check the configured deadline (10 seconds, as configured), even if a shorter one was learned from the
    /// module's earlier answers.
    patient: Option<bool>,
    /// Seconds after which the search ends with the answers that it has, from its start and without its time in the queue.
    /// Modules without an answer then end as `timeout` with the reason `time_budget`.
    #[serde(default, deserialize_with = "request::whole::<_, _, 1, 120>")]
    #[schema(minimum = 1, maximum = 120, examples(20))]
    time_budget: Option<u8>,
    /// Fetch the profile pictures of the accounts that are found, at most 100. Results then get `metadata.avatar`: see
    /// `GET /v1/searches/{run_id}/thumbnails/{result_id}`. Ignored with `passive`.
    avatars: Option<bool>,
    /// Keep the answer that each hit was judged by: at most 1 MiB of each and 32 MiB of the search, compressed. See
    /// `GET /v1/searches/{run_id}/results/{result_id}/evidence`.
    evidence: Option<bool>,
    /// Follow the leads of the results: accounts are looked up without a charge, at most 100 in each search, and other leads
    /// start separate searches, charged 1 credit each.
    follow: Option<FollowRequest>,
    /// Why you search, for the audit log of the operator: a text without control characters. It is in no answer, report or
    /// export, and it stays in the log after the search is deleted. White space around it is ignored.
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000][^\x00-\x1f\x7f-\x9f]*$",
        examples("ticket 4711: takeover of a customer account")
    )]
    purpose: Option<String>,
}

/// How the leads of a search are followed.
#[derive(Debug, Clone, Deserialize, ToSchema)]
struct FollowRequest {
    /// Most leads between this search and another one; 1 if it is not given.
    #[serde(default, deserialize_with = "request::whole::<_, _, 1, 3>")]
    #[schema(minimum = 1, maximum = 3)]
    depth: Option<u8>,
    /// Most searches that leads start; 10 if it is not given.
    #[serde(default, deserialize_with = "request::whole::<_, _, 0, 50>")]
    #[schema(maximum = 50)]
    max_searches: Option<u8>,
    /// The weakest class of leads that are followed; `stated` if it is not given.
    links: Option<Class>,
}

/// A valid body of `POST /v1/searches`.
#[derive(Debug)]
pub struct SearchBody {
    /// The query.
    pub query: Query,
    /// What is searched for. The ids of its modules are not looked up yet.
    pub search: Search,
    /// Whether to answer with the results if the run ends in time.
    pub wait: bool,
    /// Whether to answer with a stream. Takes precedence over `wait`.
    pub stream: bool,
}

impl SearchBody {
    /// Reads the body.
    ///
    /// # Errors
    /// Returns 415 for another content type, 400 for any other mistake.
    pub fn from_request(request: &Request) -> Result<Self, Refusal> {
        Self::read(&request::json_value(request)?)
    }

    /// Reads an object that describes a search.
    ///
    /// # Errors
    /// Returns 400 for a mistake.
    pub(super) fn read(object: &Value) -> Result<Self, Refusal> {
        let request: SearchRequest = request::read(object)?;
        let query = Query::parse(request.search_type, &request.query)
            .map_err(|error| Refusal::invalid_query("query", error))?;
        let choice = Choice {
            modules: request.modules.unwrap_or_default(),
            exclude_modules: request.exclude_modules.unwrap_or_default(),
            categories: request.categories.unwrap_or_default(),
            nsfw: request.nsfw.unwrap_or_default(),
            engines: request.engines.unwrap_or_default(),
            passive: request.passive.unwrap_or_default(),
        };
        let follow = request.follow.map(|follow| {
            Arc::new(FollowOrder {
                depth: follow.depth.unwrap_or(1),
                max_searches: follow.max_searches.unwrap_or(FollowOrder::DEFAULT_SEARCHES),
                links: follow.links.unwrap_or(Class::Stated),
                choice: choice.clone(),
            })
        });
        let options = RunOptions {
            patient: request.patient.unwrap_or_default(),
            time_budget: request.time_budget,
            avatars: request.avatars.unwrap_or_default(),
            evidence: request.evidence.unwrap_or_default(),
            ..RunOptions::default()
        };
        // Only usernames have modules that need a browser.
        let premium = request.premium.unwrap_or_default() && request.search_type == SearchType::Username;
        let purpose = request.purpose.as_deref().map(purpose).transpose()?;
        let search = Search { premium, options, choice, follow, purpose, ..Search::plain(&query) };
        let (wait, stream) = (request.wait.unwrap_or_default(), request.stream.unwrap_or_default());
        Ok(Self { query, search, wait, stream })
    }
}

/// Returns whether a body that failed to parse asked for a stream, if it can be read. Decides what the
/// request counts as.
pub fn asks_for_stream(request: &Request) -> bool {
    request::object(&request.body).is_ok_and(|body| body["stream"] == true)
}

/// Returns the `Idempotency-Key`: 1 to 255 printable ASCII characters.
///
/// # Errors
/// Returns 400 for any other value, or if it is given twice.
pub fn idempotency_key(request: &Request) -> Result<Option<String>, Refusal> {
    let mut keys = request.header_values("idempotency-key");
    let Some(key) = keys.next() else { return Ok(None) };
    if is_idempotency_key(key) && keys.next().is_none() {
        return Ok(Some(key.to_owned()));
    }
    let allowed = "one header of 1 to 255 printable ASCII characters";
    Err(Refusal::invalid_request("Idempotency-Key", "invalid Idempotency-Key", allowed))
}

/// Returns whether a text can be an idempotency key.
pub(super) fn is_idempotency_key(key: &str) -> bool {
    (1..=MAX_IDEMPOTENCY_KEY).contains(&key.len()) && key.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// Returns the whole seconds of `Prefer: wait=N` (RFC 7240, section 4.3), of any size. Any other value is
/// ignored, as the RFC says.
pub fn preferred_wait_secs(request: &Request) -> Option<u64> {
    request
        .header_values("prefer")
        .flat_map(|value| value.split(','))
        .filter_map(|preference| preference.split(';').next()?.split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("wait"))
        .find_map(|(_, secs)| whole_secs(secs.trim().trim_matches('"')))
}

fn whole_secs(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Only a number that is too large fails to parse.
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}
