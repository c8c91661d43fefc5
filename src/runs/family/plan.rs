//! Which leads are followed next: a pure function of stored results.
//!
//! The **level** of a result is the number of leads between the root's query and the result: the depth of its run, or
//! one more than the level of the result that a look-up came from. The level of a lead is one more than the lowest level
//! of the results that name it. Leads are followed level by level, and within a level in the order of
//! [`leads`]: verified ones first, then by confidence.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::base::ids::RunId;
use crate::model::follow::{Class, FollowOrder, Lookup, MAX_LOOKUPS, Membership};
use crate::modules::catalog::{Catalog, Selection};
use crate::modules::definition::{Contact, ResultType};
use crate::modules::keys::OperatorKeys;
use crate::modules::module::Module;
use crate::modules::query::{Query, SearchType};
use crate::runs::leads::lead::{FoundBy, Lead, LeadReason, LeadStatus};
use crate::runs::leads::leads;
use crate::runs::record::Findings;
use crate::runs::suppression::Suppressed;

/// What decides whether a lead of a family is followed.
pub struct Rules<'a> {
    /// How the family's leads are followed.
    pub order: &'a FollowOrder,
    /// The type of the root's query.
    pub root_type: SearchType,
    /// The catalogue, whose modules look accounts up.
    pub catalog: &'a Catalog,
    /// The identifiers that are never searched.
    pub suppressed: &'a Suppressed,
    /// The keys of the operator for third-party services.
    pub keys: &'a OperatorKeys,
    /// Whether sign-in-page checks are used.
    pub discovery: bool,
}

/// How a lead is followed.
pub enum Verdict {
    /// Its module is asked for the account.
    LookUp(Arc<Module>, Query),
    /// A run is started for it.
    Search(Query, Vec<Arc<Module>>),
    /// It is not followed.
    No(LeadReason),
}

impl Rules<'_> {
    /// Tells how a lead at this level is followed if no limit is reached. It must not be [`LeadStatus::Found`].
    pub fn judge(&self, lead: &Lead, level: u8) -> Verdict {
        if let Some(reason) = lead.reason.filter(|reason| *reason != LeadReason::NotRequested) {
            return Verdict::No(reason);
        }
        if self.order.links == Class::Verified && lead.class != Class::Verified {
            return Verdict::No(LeadReason::NotVerified);
        }
        let search_type = match lead.kind {
            ResultType::Account | ResultType::Username => SearchType::Username,
            ResultType::Email => SearchType::Email,
            ResultType::Domain => SearchType::Domain,
            _ => return Verdict::No(LeadReason::Unsupported),
        };
        let Ok(query) = Query::parse(search_type, &lead.value) else {
            return Verdict::No(LeadReason::Unsupported);
        };
        if self.suppressed.holds(&query) {
            return Verdict::No(LeadReason::Suppressed);
        }
        if level > self.order.depth {
            return Verdict::No(LeadReason::Depth);
        }
        if lead.kind == ResultType::Account { self.look_up(lead, query) } else { self.search(query) }
    }

    /// A named module is never asked for what the choice of modules leaves out.
    fn look_up(&self, lead: &Lead, query: Query) -> Verdict {
        let module = lead.module.as_deref().and_then(|id| self.catalog.get(id)).filter(|module| {
            let entry = module.entry();
            let choice = &self.order.choice;
            let is_excluded = choice.exclude_modules.iter().any(|id| **id == **module.id());
            let is_adult = entry.nsfw && !choice.nsfw;
            let is_passive = !choice.passive || entry.contact == Contact::ThirdParty;
            let is_allowed = !is_excluded && !is_adult && is_passive && !module.is_premium();
            is_allowed
                && (self.discovery || !entry.discovery)
                && module.why_skipped(&query, self.keys).is_none()
        });
        match module {
            Some(module) => Verdict::LookUp(Arc::clone(module), query),
            None => Verdict::No(LeadReason::Unsupported),
        }
    }

    fn search(&self, query: Query) -> Verdict {
        let search_type = query.search_type();
        let choice = self.order.choice_for(search_type, self.root_type);
        let switches =
            Selection { search_type, premium: false, discovery: self.discovery, nsfw: choice.nsfw };
        match self.catalog.choose(&switches, &choice) {
            Ok(modules) => Verdict::Search(query, modules),
            Err(_) => Verdict::No(LeadReason::Unsupported),
        }
    }
}

/// The levels of the results of a family.
pub struct Levels(HashMap<(RunId, u32), u8>);

impl Levels {
    /// Returns the levels of all results of these runs.
    pub fn of(members: &[Findings<'_>]) -> Self {
        let mut levels = HashMap::new();
        for member in members {
            // A result that named an account was there before the account was looked up, so its id is lower.
            for record in member.results {
                let from = FoundBy::of(&record.metadata)
                    .and_then(|by| levels.get(&(by.run_id, by.result_id)).copied());
                let level = from.map_or(member.depth, |from: u8| from.saturating_add(1));
                levels.insert((member.run_id, record.id), level);
            }
        }
        Self(levels)
    }

    /// Returns the level of a lead.
    pub fn of_lead(&self, lead: &Lead) -> u8 {
        let levels = lead.sources.iter().map(|source| self.of_result(source.run_id, source.result_id));
        levels.min().unwrap_or_default().saturating_add(1)
    }

    fn of_result(&self, run: RunId, result: u32) -> u8 {
        self.0.get(&(run, result)).copied().unwrap_or(u8::MAX)
    }

    /// Returns the run and the result with the lowest level that names the lead.
    fn origin_of(&self, lead: &Lead) -> Option<(RunId, u32)> {
        let places = lead.sources.iter().map(|source| (source.run_id, source.result_id));
        places.min_by_key(|(run, result)| self.of_result(*run, *result))
    }
}

/// Returns whether one of the runs has asked the lead's module for the lead's name, without finding it.
pub fn is_asked(lead: &Lead, members: &[Findings<'_>]) -> bool {
    lead.kind == ResultType::Account
        && members.iter().any(|member| {
            member.query.search_type() == SearchType::Username
                && member.query.normal().eq_ignore_ascii_case(&lead.value)
                && member.modules.iter().any(|report| Some(&report.module) == lead.module.as_ref())
        })
}

/// Returns the accounts that a run looks up next. `known` are those that were planned before. The order and the number
/// do not depend on the order in which results were found.
pub fn next_lookups(
    rules: &Rules<'_>,
    member: Findings<'_>,
    known: &[Lookup],
) -> Vec<(Lookup, Arc<Module>, Query)> {
    let found = leads(std::slice::from_ref(&member), rules.catalog.profiles());
    let members = [member];
    let levels = Levels::of(&members);
    let planned: HashSet<Uuid> = known.iter().map(|lookup| lookup.lead_id).collect();
    let open = found.all.iter().filter(|lead| {
        lead.status != LeadStatus::Found && !planned.contains(&lead.lead_id) && !is_asked(lead, &members)
    });
    let next = open.filter_map(|lead| {
        let Verdict::LookUp(module, query) = rules.judge(lead, levels.of_lead(lead)) else { return None };
        let lookup = Lookup {
            lead_id: lead.lead_id,
            class: lead.class,
            module: module.id().to_string(),
            platform: module.platform().to_owned(),
            query: query.raw().to_owned(),
            result_id: levels.origin_of(lead)?.1,
            outcome: None,
            reason: None,
        };
        Some((lookup, module, query))
    });
    next.take(MAX_LOOKUPS.saturating_sub(known.len())).collect()
}

/// A run that a lead is to start.
#[derive(Debug)]
pub struct NextSearch {
    /// The lead.
    pub lead: Uuid,
    /// The class of the lead.
    pub class: Class,
    /// The query.
    pub query: Query,
    /// The modules.
    pub modules: Vec<Arc<Module>>,
    /// The place of the run in the family.
    pub place: Membership,
}

/// Returns the runs that the leads of a family start next, without the limit on their number. The first member is the
/// root, and `known` are the leads for which runs were started. All are of one level, which is at most `level`.
pub fn next_searches(
    rules: &Rules<'_>,
    members: &[Findings<'_>],
    root: RunId,
    known: &HashSet<Uuid>,
    level: u8,
) -> Vec<NextSearch> {
    let levels = Levels::of(members);
    let found = leads(members, rules.catalog.profiles());
    let open = found.all.iter().filter(|lead| {
        lead.status != LeadStatus::Found && lead.kind != ResultType::Account && !known.contains(&lead.lead_id)
    });
    let mut next: Vec<NextSearch> = open
        .filter_map(|lead| {
            let depth = levels.of_lead(lead);
            if depth > level {
                return None;
            }
            let Verdict::Search(query, modules) = rules.judge(lead, depth) else { return None };
            let parent = levels.origin_of(lead)?.0;
            let place = Membership { root, parent, depth };
            Some(NextSearch { lead: lead.lead_id, class: lead.class, query, modules, place })
        })
        .collect();
    // The runs of this level may name the leads of further levels as well, which are then nearer to the root.
    let nearest = next.iter().map(|search| search.place.depth).min();
    next.retain(|search| Some(search.place.depth) == nearest);
    next
}
