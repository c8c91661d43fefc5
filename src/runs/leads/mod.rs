//! Leads: what the results of a run point to, and what could be searched next.
//!
//! Leads are read from stored results, by the rules in [`links`](mod@links). A link to a profile is an account if the
//! catalogue knows the form of its address; a link to a site of one's own is its domain. The same username on another
//! site, which is what a search finds, is no lead.
//!
//! | file | holds |
//! |---|---|
//! | [`lead`] | a lead, its class, its sources, and what became of it |
//! | [`links`](mod@links) | what the texts in results name |

pub mod lead;
pub mod links;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use uuid::Uuid;

use crate::model::entity::identified::Entity;
use crate::model::follow::{Class, LeadReason};
use crate::modules::definition::ResultType;
use crate::runs::record::ResultRef;
use lead::{Lead, LeadSource, LeadStatus};
use links::{Link, RunLinks, links};

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
        sources: Vec::new(),
        status: LeadStatus::NotFollowed,
        reason: Some(link.barred.unwrap_or(LeadReason::NotRequested)),
        outcome: None,
        run_id: None,
        result_id: None,
        nearest: (link.level, link.source),
        can_be_followed: false,
    }
}

impl Lead {
    fn add(&mut self, link: &Link) {
        self.class = self.class.min(link.class);
        self.confidence = self.confidence.max(link.confidence);
        self.nearest = self.nearest.min((link.level, link.source));
        let ResultRef { run_id, result_id } = link.source;
        let source = LeadSource { run_id, result_id, field: link.field.clone(), class: link.class };
        if let Err(at) = self.sources.binary_search(&source) {
            self.sources.insert(at, source);
        }
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
