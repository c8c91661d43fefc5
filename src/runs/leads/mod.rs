//! Leads: what the results of a run point to, and what could be searched next.
//!
//! Leads are read from stored results, by the rules in `pointer`. A link to a profile is an account if the catalogue
//! knows the form of its address; a link to a site of one's own is its domain. The same username on another site, which
//! is what a search finds, is no lead.
//!
//! | file | holds |
//! |---|---|
//! | [`lead`] | a lead, its class, its sources, and what became of it |
//! | `pointer` | the texts in a result that name something else |
//! | [`links`](mod@links) | what these texts name |

pub mod lead;
pub mod links;
mod pointer;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use uuid::Uuid;

use crate::model::entity::identified::Entity;
use crate::model::follow::Class;
use crate::modules::definition::ResultType;
use crate::modules::profile_index::{ProfileIndex, is_id};
use crate::runs::record::{Findings, ResultRef};
use lead::{Lead, LeadReason, LeadSource, LeadStatus};
use links::{Link, links};

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
pub fn leads(runs: &[Findings<'_>], profiles: &ProfileIndex) -> Leads {
    let links = links(runs, profiles);
    let asked = runs.first().map(|run| Entity::of_query(&run.query));
    let conflicting = conflicting(&links.all);
    let mut by_entity: BTreeMap<Uuid, Lead> = BTreeMap::new();
    for link in &links.all {
        for (entity, module) in targets(link) {
            if Some(&entity) == asked.as_ref() {
                continue;
            }
            let lead = by_entity.entry(entity.id).or_insert_with(|| new_lead(entity, module, link.barred));
            lead.add(link);
        }
    }
    let found = found(runs, profiles);
    let mut all: Vec<Lead> = by_entity.into_values().collect();
    for lead in &mut all {
        lead.settle(found.get(&lead.lead_id).copied(), &conflicting);
    }
    all.sort_by(|one, other| {
        let by_confidence = other.confidence.total_cmp(&one.confidence);
        one.class.cmp(&other.class).then(by_confidence).then_with(|| one.entity().cmp(&other.entity()))
    });
    Leads { all, omitted: links.omitted }
}

/// Returns the entities that a link leads to: its target and, for an account, the username on all platforms.
fn targets(link: &Link) -> impl Iterator<Item = (Entity, Option<String>)> {
    let account = link.account.as_ref();
    let module = account.map(|account| account.module.id().to_string());
    let name = account.map(|account| account.query.normal()).filter(|name| is_chosen_name(name));
    let username = name.map(|name| (Entity::username(name), None));
    [(link.to.clone(), module)].into_iter().chain(username)
}

/// Returns whether a person has chosen the name. Ids are given by platforms, and short names are taken by somebody else on
/// most of them.
fn is_chosen_name(name: &str) -> bool {
    name.chars().count() >= 4 && name.chars().any(char::is_alphabetic) && !is_id(name)
}

fn new_lead(entity: Entity, module: Option<String>, barred: Option<LeadReason>) -> Lead {
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
        reason: Some(barred.unwrap_or(LeadReason::NotRequested)),
        outcome: None,
        run_id: None,
        result_id: None,
    }
}

impl Lead {
    fn add(&mut self, link: &Link) {
        self.class = self.class.min(link.class);
        self.confidence = self.confidence.max(link.confidence);
        let source = LeadSource {
            run_id: link.run_id,
            result_id: link.result_id,
            field: link.field.clone(),
            class: link.class,
        };
        if let Err(at) = self.sources.binary_search(&source) {
            self.sources.insert(at, source);
        }
    }

    /// Says what became of the lead.
    fn settle(&mut self, found: Option<ResultRef>, conflicting: &BTreeSet<Uuid>) {
        if let Some(ResultRef { run_id, result_id }) = found {
            (self.status, self.reason) = (LeadStatus::Found, None);
            (self.run_id, self.result_id) = (Some(run_id), Some(result_id));
        } else if conflicting.contains(&self.lead_id) {
            self.reason = Some(LeadReason::Conflict);
        }
    }
}

/// Returns the entities that are results of the runs about an account, each with the first of these results. An entity
/// that is only listed on another page was not looked up.
fn found(runs: &[Findings<'_>], profiles: &ProfileIndex) -> HashMap<Uuid, ResultRef> {
    let mut found = HashMap::new();
    for run in runs {
        for record in run.results.iter().filter(|record| record.metadata.contains_key("profile_url")) {
            let result = ResultRef { run_id: run.run_id, result_id: record.id };
            found.entry(Entity::of_result(record, profiles).id).or_insert(result);
        }
    }
    found
}

/// Returns the accounts about which verified links of different sources contradict each other: two names on one
/// platform.
fn conflicting(links: &[Link]) -> BTreeSet<Uuid> {
    let verified =
        links.iter().filter(|link| link.class == Class::Verified && link.to.kind == ResultType::Account);
    let mut by_platform: BTreeMap<Option<&str>, Vec<&Link>> = BTreeMap::new();
    verified.for_each(|link| by_platform.entry(link.to.platform.as_deref()).or_default().push(link));
    let mut conflicting = BTreeSet::new();
    for links in by_platform.values() {
        let contradicts = |link: &Link, other: &Link| link.to != other.to && link.from != other.from;
        for link in links {
            let is_shared = |other: &Link| other.from == link.from || other.to == link.to;
            if links.iter().any(|other| contradicts(link, other) && !is_shared(other)) {
                conflicting.insert(link.to.id);
            }
        }
    }
    conflicting
}
