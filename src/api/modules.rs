//! `/v1/modules`.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::context::{Api, Call, ok_json};
use crate::base::clock::millis;
use crate::http::Reply;
use crate::modules::catalog::Catalog;
use crate::modules::definition::{Contact, VerifiedBy};
use crate::modules::query::SearchType;
use crate::runs::health::verdict::ModuleHealth;
use crate::service::refusal::Refusal;

/// The modules of the catalogue.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModuleList<'a> {
    /// Number of modules.
    pub count: usize,
    /// The catalogue feed in use. Present only if there is one.
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
    #[serde(with = "millis")]
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
    /// Whether the module touches a sign-in page (never with a password). Such modules are used only if the operator
    /// enables them.
    pub discovery: bool,
    /// Whether the module is enabled.
    pub enabled: bool,
    /// Why the module is disabled; null for an enabled module, and where no reason is given.
    #[schema(required)]
    pub off: Option<ModuleOff<'a>>,
    /// Newest evidence that the module fits the answers of its site; null without any.
    #[schema(required)]
    pub verified: Option<ModuleVerified<'a>>,
    /// Recent health of the module.
    pub health: ModuleHealth,
}

/// The reason why a module is disabled.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModuleOff<'a> {
    /// Date of the evidence for the reason: a day, or a month if the day is not known.
    #[schema(pattern = "^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$")]
    pub date: &'a str,
    /// The reason, for people.
    pub reason: &'a str,
}

/// The evidence that a module fits the answers of its site.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModuleVerified<'a> {
    /// Kind of the evidence.
    pub by: VerifiedBy,
    /// Date of the evidence: a day, or a month if the day is not known.
    #[schema(pattern = "^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$")]
    pub date: &'a str,
}

/// Lists the catalogue's modules.
///
/// Contains all modules with their health, including disabled ones. Costs no credits.
#[utoipa::path(get, path = "/v1/modules",
    responses((status = 200, description = "The catalogue.", body = ModuleList<'_>)))]
pub fn list_modules(api: &Arc<Api>, _: &Call<'_>) -> Result<Reply, Refusal> {
    let catalog = api.runs.catalog();
    let modules = described(api, &catalog);
    let feed = catalog
        .feed()
        .in_use
        .map(|feed| CatalogFeed { created_at: feed.created_at, age_seconds: feed.age(api.clock.now()) });
    Ok(ok_json(&ModuleList { count: modules.len(), feed, modules }))
}

/// Returns all modules of the catalogue with their health.
pub(super) fn described<'a>(api: &Api, catalog: &'a Catalog) -> Vec<Module<'a>> {
    let all = api.runs.module_health().of_all(catalog.modules(), api.clock.now());
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
                discovery: entry.discovery,
                enabled: entry.enabled,
                off: entry.off.as_ref().map(|off| ModuleOff { date: &off.date, reason: &off.reason }),
                verified: entry
                    .verified
                    .as_ref()
                    .map(|known| ModuleVerified { by: known.by, date: &known.date }),
                health,
            }
        })
        .collect()
}
