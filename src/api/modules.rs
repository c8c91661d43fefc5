//! `/v1/modules`, and `/v1/variants`: the usernames that a person may have chosen.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::context::{Api, Call, ok_json};
use super::request;
use crate::base::clock::millis;
use crate::http::Reply;
use crate::model::refusal::Refusal;
use crate::modules::catalog::Catalog;
use crate::modules::definition::{Contact, Off, Verified};
use crate::modules::query::{Query, SearchType};
use crate::modules::variants::person::Person;
use crate::modules::variants::{Variant, of_username};
use crate::runs::health::verdict::ModuleHealth;

/// The modules of the catalogue.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModuleList<'a> {
    /// Number of modules.
    pub count: usize,
    /// The catalogue feed in use. Present only if one is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub feed: Option<CatalogFeed>,
    /// The modules.
    pub modules: Vec<Module<'a>>,
}

/// A signed catalogue that the operator's server fetches.
#[derive(Debug, Serialize, ToSchema)]
pub struct CatalogFeed {
    /// Time at which it was signed: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub created_at: Timestamp,
    /// Seconds since then.
    pub age_seconds: i64,
}

/// A module of the catalogue: one site or service, for one type of query.
#[derive(Debug, Serialize, ToSchema)]
pub struct Module<'a> {
    /// Identifies the module.
    #[schema(pattern = "^[a-z0-9_.-]{1,64}$")]
    pub id: &'a str,
    /// Name of the platform.
    pub platform: &'a str,
    /// Type of query that the module accepts.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Subject of the platform.
    #[schema(pattern = "^[a-z0-9_ -]{1,64}$")]
    pub category: &'a str,
    /// Further labels.
    pub tags: &'a [String],
    /// Party that receives the requests of the module.
    pub contact: Contact,
    /// Names of the operator's keys that the module needs; it is skipped without them.
    pub needs: &'a [String],
    /// Whether only premium searches use the module.
    pub premium: bool,
    /// Whether the module has adult content. Only searches with `nsfw` use such modules.
    pub nsfw: bool,
    /// Software of the site, if only searches with `engines` use the module; null for other modules.
    #[schema(required)]
    pub engine: Option<&'a str>,
    /// Whether the module touches a sign-in page (never with a password). Such modules are used only if the operator
    /// enables them.
    pub discovery: bool,
    /// Whether the module is enabled.
    pub enabled: bool,
    /// Why the module is disabled; null for an enabled module, and where no reason is given.
    #[schema(required)]
    pub off: Option<&'a Off>,
    /// Newest evidence that the module fits the answers of its site; null without any.
    #[schema(required)]
    pub verified: Option<&'a Verified>,
    /// Recent health of the module.
    pub health: ModuleHealth,
}

/// Lists the catalogue's modules.
///
/// Contains all modules with their health, including disabled ones. Costs no credits.
#[utoipa::path(get, path = "/v1/modules", responses((status = 200, body = ModuleList<'_>)))]
pub fn list_modules(api: &Arc<Api>, _: &Call<'_>) -> Result<Reply, Refusal> {
    let catalog = api.runs.catalog();
    let modules = described(api, &catalog);
    let (now, in_use) = (api.clock.now(), catalog.feed().in_use);
    let feed = in_use.map(|feed| CatalogFeed { created_at: feed.created_at, age_seconds: feed.age(now) });
    Ok(ok_json(&ModuleList { count: modules.len(), feed, modules }))
}

/// Returns all modules of the catalogue with their health.
pub(super) fn described<'a>(api: &Api, catalog: &'a Catalog) -> Vec<Module<'a>> {
    let all = api.runs.health.of_all(catalog.modules(), api.clock.now());
    all.into_iter()
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
                engine: entry.engine.as_deref().filter(|_| entry.needs_engines()),
                discovery: entry.discovery,
                enabled: entry.enabled,
                off: entry.off.as_ref(),
                verified: entry.verified.as_ref(),
                health,
            }
        })
        .collect()
}

/// The longest name in characters.
const MAX_NAME: usize = 100;
/// The two forms of the body.
const FORMS: &str = "either first and last, or username";

/// The usernames that a person may have chosen.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = VariantList)]
pub struct Variants {
    /// Number of variants.
    pub count: usize,
    /// The variants, the most frequent form first.
    pub variants: Vec<Variant>,
}

/// Either the names of a person (`first` and `last`, in any script), or one of their usernames.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = VariantsRequest)]
pub struct VariantsBody {
    /// First name.
    #[schema(min_length = 1, max_length = 100, examples("Ada"))]
    first: Option<String>,
    /// Last name.
    #[schema(min_length = 1, max_length = 100, examples("Lovelace"))]
    last: Option<String>,
    /// Middle name.
    #[schema(min_length = 1, max_length = 100, examples("King"))]
    middle: Option<String>,
    /// Nickname, which may replace the first name.
    #[schema(min_length = 1, max_length = 100, examples("countess"))]
    nick: Option<String>,
    /// Year that may follow a name, such as the year of birth.
    #[serde(default, deserialize_with = "request::whole::<_, _, 1900, 2099>")]
    #[schema(minimum = 1900, maximum = 2099)]
    year: Option<u16>,
    /// A username whose variants are listed, instead of those of names.
    #[schema(min_length = 1, max_length = 1024, examples("ada.lovelace"))]
    username: Option<String>,
}

impl VariantsBody {
    fn variants(self, catalog: &Catalog) -> Result<Vec<Variant>, Refusal> {
        let Self { first, last, middle, nick, year, username } = self;
        let Some(username) = username else {
            if first.is_none() && last.is_none() {
                return Err(Refusal::invalid_request("body", "first, last and username are missing", FORMS));
            }
            let (first, last) = (name("first", first)?, name("last", last)?);
            let missing =
                |field: &str| Refusal::invalid_request(field, format!("{field} is missing"), "a string");
            let person = Person {
                first: first.ok_or_else(|| missing("first"))?,
                last: last.ok_or_else(|| missing("last"))?,
                middle: name("middle", middle)?,
                nick: name("nick", nick)?,
                year,
            };
            return Ok(person.variants(catalog));
        };
        for (field, given) in [("first", first), ("last", last)] {
            if given.is_some() {
                let message = format!("{field} is given together with username");
                return Err(Refusal::invalid_request(field, message, FORMS));
            }
        }
        let query = Query::parse(SearchType::Username, &username)
            .map_err(|error| Refusal::invalid_query("username", error))?;
        let name = query.raw().trim();
        Ok(of_username(name.strip_prefix('@').unwrap_or(name), catalog))
    }
}

fn name(field: &str, name: Option<String>) -> Result<Option<String>, Refusal> {
    if name.as_ref().is_none_or(|name| (1..=MAX_NAME).contains(&name.chars().count())) {
        return Ok(name);
    }
    let allowed = format!("1 to {MAX_NAME} characters");
    Err(Refusal::invalid_request(field, format!("{field} must have {allowed}"), allowed))
}

/// Lists usernames that a person may have chosen.
///
/// The most frequent forms come first, at most 100. Names are written in Latin letters: `ü` becomes both `ue` and `u`,
/// and other scripts are transliterated. Names that no enabled module accepts are omitted. Nothing is searched. Costs
/// no credits.
#[utoipa::path(post, path = "/v1/variants",
    request_body(content = VariantsBody, examples(
        ("names" = (summary = "Names", value = json!({"first": "Jürgen", "last": "Weiß", "year": 1985}))),
        ("username" = (summary = "Username", value = json!({"username": "ada.lovelace"}))))),
    responses((status = 200, body = Variants)))]
pub fn list_variants(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let body: VariantsBody = request::json(call.request)?;
    let variants = body.variants(&api.runs.catalog())?;
    Ok(ok_json(&Variants { count: variants.len(), variants }))
}
