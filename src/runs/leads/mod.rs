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
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::base::ids::RunId;
use crate::model::entity::identified::Entity;
use crate::model::follow::Class;
use crate::modules::definition::ResultType;
use crate::modules::profile_index::ProfileIndex;
use crate::runs::record::{Findings, ResultRef};
use lead::{FoundBy, Lead, LeadReason, LeadSource, LeadStatus};
use links::{Link, Links, Subjects};

/// What the results of one run point to: all of which leads are made. As JSON, it is stored with a run of a family that
/// has ended, so that its results are not read again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunLinks {
    run_id: RunId,
    /// The entity that the run searched for.
    asked: Uuid,
    links: Links,
    /// The entities that are results about an account, or that look-ups have found, each with the first of these results.
    /// An entity that is only listed on another page was not looked up.
    found: Vec<(Uuid, u32)>,
}

impl RunLinks {
    /// Reads the results of a run.
    pub fn of(run: &Findings<'_>, profiles: &ProfileIndex) -> Self {
        let subjects = Subjects::of(run, profiles);
        let mut found: Vec<(Uuid, u32)> = Vec::new();
        for (record, entity) in subjects.results() {
            if record.metadata.contains_key("profile_url") {
                found.push((entity.id, record.id));
            }
            found.extend(FoundBy::of(&record.metadata).map(|by| (by.lead_id, record.id)));
        }
        Self { run_id: run.run_id, asked: subjects.asked.id, links: Links::of(&subjects), found }
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
    for RunLinks { run_id, found: of_run, .. } in &runs {
        for (entity, result_id) in of_run {
            found.entry(*entity).or_insert(ResultRef { run_id: *run_id, result_id: *result_id });
        }
    }
    let links = Links::together(runs.into_iter().map(|run| run.links));
    let conflicting = conflicting(&links.all);
    let mut by_entity: BTreeMap<Uuid, Lead> = BTreeMap::new();
    for link in &links.all {
        // An account also leads to its username on all platforms.
        let username = link.name.as_deref().map(|name| (Entity::username(name), None));
        for (entity, module) in [(link.to.clone(), link.module.clone())].into_iter().chain(username) {
            if Some(entity.id) != asked {
                let lead = by_entity.entry(entity.id).or_insert_with(|| new_lead(entity, module, link));
                lead.add(link);
            }
        }
    }
    let mut all: Vec<Lead> = by_entity.into_values().collect();
    for lead in &mut all {
        if let Some(ResultRef { run_id, result_id }) = found.get(&lead.lead_id) {
            (lead.status, lead.reason) = (LeadStatus::Found, None);
            (lead.run_id, lead.result_id) = (Some(*run_id), Some(*result_id));
        } else if conflicting.contains(&lead.lead_id) {
            lead.reason = Some(LeadReason::Conflict);
        }
    }
    all.sort_by(|one, other| {
        let by_confidence = other.confidence.total_cmp(&one.confidence);
        one.class.cmp(&other.class).then(by_confidence).then_with(|| one.entity().cmp(&other.entity()))
    });
    Leads { all, omitted: links.omitted }
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
        nearest: link.place(),
    }
}

impl Lead {
    fn add(&mut self, link: &Link) {
        self.class = self.class.min(link.class);
        self.confidence = self.confidence.max(link.confidence);
        self.nearest = self.nearest.min(link.place());
        let (run_id, result_id, field, class) = (link.run_id, link.result_id, link.field.clone(), link.class);
        let source = LeadSource { run_id, result_id, field, class };
        if let Err(at) = self.sources.binary_search(&source) {
            self.sources.insert(at, source);
        }
    }
}

/// Returns the accounts about which verified links of different sources contradict each other: two names on one
/// platform.
fn conflicting(links: &[Link]) -> BTreeSet<Uuid> {
    let verified =
        links.iter().filter(|link| link.class == Class::Verified && link.to.kind == ResultType::Account);
    let mut by_platform: BTreeMap<Option<&str>, Vec<&Link>> = BTreeMap::new();
    verified.for_each(|link| by_platform.entry(link.to.platform.as_deref()).or_default().push(link));
    let contradict = |one: &Link, other: &Link| one.to != other.to && one.from != other.from;
    let of_platform = by_platform
        .values()
        .flat_map(|links| links.iter().filter(|link| links.iter().any(|other| contradict(link, other))));
    of_platform.map(|link| link.to.id).collect()
}
