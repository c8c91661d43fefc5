//! Leads: what the results of a run point to, and what could be searched next.
//!
//! Leads are read from stored results, by the rules in [`links`](mod@links). A link to a profile is an account if the
//! catalogue knows the form of its address; a link to a site of one's own is its domain. The same username on another
//! site, which is what a search finds, is no lead.

pub mod links;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::base::ids::RunId;
use crate::model::entity::identified::Entity;
use crate::model::follow::{Class, LeadReason};
use crate::modules::definition::ResultType;
use crate::modules::outcome::Outcome;
use crate::runs::record::ResultRef;
pub use links::{FOUND_BY, FoundBy};
use links::{Link, RunLinks, links};

/// The place where a lead was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
pub struct LeadSource {
    /// The run of the result.
    pub run_id: RunId,
    /// The number of the result in its run.
    #[schema(minimum = 1)]
    pub result_id: u32,
    /// The member of `metadata` that names the lead, or `value` if the result itself is the lead.
    #[schema(examples("website"))]
    pub field: String,
    /// The class of this mention.
    pub class: Class,
}

/// What became of a lead: `found` (the search has found it by itself), `looked_up` (its module was asked), `followed` (a
/// search was started for it), `pending` (it will be followed) or `not_followed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeadStatus {
    /// The search has a result about it.
    Found,
    /// The module of the account was asked, with the given outcome.
    LookedUp,
    /// A search was started for it.
    Followed,
    /// It will be followed as soon as its turn comes, unless a limit is reached before.
    Pending,
    /// It was not searched, for the given reason.
    NotFollowed,
}

/// Something that a result points to.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Lead {
    /// Identifies the lead in its search: the id of the entity.
    pub lead_id: Uuid,
    /// Kind of the lead: `account`, `username`, `email`, `domain` or `url`.
    #[serde(rename = "type")]
    #[schema(value_type = String, pattern = "^[a-z_]+$", examples("account"))]
    pub kind: ResultType,
    /// The username, address, domain or URL.
    #[schema(examples("octocat"))]
    pub value: String,
    /// Name of the platform of an account; null for other leads.
    #[schema(examples("GitHub"))]
    pub platform: Option<String>,
    /// Id of the module that can look up the account; null if there is none.
    #[schema(examples("github"))]
    pub module: Option<String>,
    /// The strongest class of its sources.
    pub class: Class,
    /// The highest confidence of the results that name it, from 0.0 to 1.0.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// The places where it is named, in the order of results.
    pub sources: BTreeSet<LeadSource>,
    /// What became of it.
    pub status: LeadStatus,
    /// Why it was not followed; null for another status.
    pub reason: Option<LeadReason>,
    /// The outcome of the module that was asked; null if none was.
    pub outcome: Option<Outcome>,
    /// The run that has the result about it, or that searches for it; null if there is none.
    pub run_id: Option<RunId>,
    /// The number of the result about it in `run_id`; null if there is none.
    pub result_id: Option<u32>,
    /// The nearest result that names it, by the number of leads between the query of the family's root and the result.
    #[serde(skip)]
    pub nearest: (u8, ResultRef),
    /// Whether a search for it is started if its owner asks for one.
    #[serde(skip)]
    pub can_be_followed: bool,
}

impl Lead {
    /// Returns the number of leads between the query of the family's root and what this one leads to.
    pub fn level(&self) -> u8 {
        self.nearest.0.saturating_add(1)
    }

    fn add(&mut self, link: &Link) {
        self.class = self.class.min(link.class);
        self.confidence = self.confidence.max(link.confidence);
        self.nearest = self.nearest.min((link.level, link.source));
        let ResultRef { run_id, result_id } = link.source;
        self.sources.insert(LeadSource { run_id, result_id, field: link.field.clone(), class: link.class });
    }
}

/// The leads of runs.
#[derive(Debug, Clone, Default)]
pub struct Leads {
    /// The leads: verified ones first, then by confidence, kind and value. The order does not depend on the order in
    /// which results were found.
    pub all: Vec<Lead>,
    /// The number of further links, which were not read because one result or the run had too many.
    pub omitted: usize,
}

/// Returns the leads in the results of runs. The query of the first run is no lead.
pub fn leads(runs: Vec<RunLinks>) -> Leads {
    let asked = runs.first().map(|run| run.asked);
    let mut found: HashMap<Uuid, ResultRef> = HashMap::new();
    for (entity, at) in runs.iter().flat_map(|run| &run.found) {
        found.entry(*entity).or_insert(*at);
    }
    let (links, omitted) = links(runs);
    let conflicting = conflicting(&links);
    let mut by_entity: BTreeMap<Uuid, Lead> = BTreeMap::new();
    for link in &links {
        // An account also leads to its username on all platforms.
        let username = link.chosen_name().map(|name| (Entity::of(ResultType::Username, name), None));
        for (entity, module) in [(link.to.clone(), link.module.clone())].into_iter().chain(username) {
            if Some(entity.id) != asked {
                by_entity.entry(entity.id).or_insert_with(|| new_lead(entity, module, link)).add(link);
            }
        }
    }
    let mut all: Vec<Lead> = by_entity.into_values().collect();
    for lead in &mut all {
        if let Some(at) = found.get(&lead.lead_id) {
            (lead.status, lead.reason) = (LeadStatus::Found, None);
            (lead.run_id, lead.result_id) = (Some(at.run_id), Some(at.result_id));
        } else if conflicting.contains(&lead.lead_id) {
            lead.reason = Some(LeadReason::Conflict);
        }
    }
    let for_people = |it: &Lead| (it.kind.as_str(), it.platform.clone(), it.value.to_lowercase(), it.lead_id);
    all.sort_by_cached_key(for_people);
    // The order of leads that are equal in both is kept.
    all.sort_by(|one, other| one.class.cmp(&other.class).then(other.confidence.total_cmp(&one.confidence)));
    Leads { all, omitted }
}

/// Returns a lead without sources.
fn new_lead(entity: Entity, module: Option<String>, link: &Link) -> Lead {
    Lead {
        lead_id: entity.id,
        kind: entity.kind,
        value: entity.value,
        platform: entity.platform,
        module,
        class: Class::Stated,
        confidence: 0.0,
        sources: BTreeSet::new(),
        status: LeadStatus::NotFollowed,
        reason: Some(link.barred.unwrap_or(LeadReason::NotRequested)),
        outcome: None,
        run_id: None,
        result_id: None,
        nearest: (link.level, link.source),
        can_be_followed: false,
    }
}

/// Returns the accounts about which verified links of different sources contradict each other: two names on one
/// platform.
fn conflicting(links: &[Link]) -> BTreeSet<Uuid> {
    let is_verified = |link: &&Link| link.class == Class::Verified && link.to.kind == ResultType::Account;
    let mut by_platform: BTreeMap<_, Vec<&Link>> = BTreeMap::new();
    for link in links.iter().filter(is_verified) {
        by_platform.entry(link.to.platform.as_deref()).or_default().push(link);
    }
    let contradict = |one: &Link, other: &Link| one.to.id != other.to.id && one.from.id != other.from.id;
    let contradicted = by_platform
        .values()
        .flat_map(|links| links.iter().filter(|link| links.iter().any(|other| contradict(link, other))));
    contradicted.map(|link| link.to.id).collect()
}
