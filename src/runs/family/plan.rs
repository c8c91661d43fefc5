//! Which leads are followed next, and what became of each: pure functions of what results point to.
//!
//! The **level** of a result is the number of leads between the root's query and the result: the depth of its run, or
//! one more than the level of the result that a look-up came from. The level of a lead is one more than the lowest level
//! of the results that name it. Leads are followed level by level, and within a level in the order of
//! [`leads`]: verified ones first, then by confidence.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::base::ids::RunId;
use crate::model::family::StoredFamily;
use crate::model::follow::{Class, FollowOrder, Lookup, MAX_LOOKUPS, Membership, StopReason};
use crate::modules::catalog::{Catalog, Selection};
use crate::modules::definition::{Contact, ResultType};
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::modules::query::{Query, SearchType};
use crate::runs::context::RunContext;
use crate::runs::leads::lead::{Lead, LeadReason, LeadStatus};
use crate::runs::leads::{Leads, RunLinks, leads};
use crate::runs::record::Findings;
use crate::runs::suppression::Suppressed;

/// What decides whether a lead of a family is followed.
pub(in crate::runs) struct Rules<'a> {
    context: &'a RunContext,
    /// How the family's leads are followed.
    pub(super) order: &'a FollowOrder,
    /// The type of the root's query.
    root_type: SearchType,
    /// The catalogue, whose modules look accounts up.
    pub(super) catalog: Arc<Catalog>,
    /// The identifiers that are never searched.
    suppressed: Arc<Suppressed>,
}

/// How a lead is followed.
pub(super) enum Verdict {
    /// Its module is asked for the account.
    LookUp(Arc<Module>, Query),
    /// A run is started for it.
    Search(Query, Vec<Arc<Module>>),
    /// It is not followed.
    No(LeadReason),
}

impl<'a> Rules<'a> {
    pub(in crate::runs) fn of(
        context: &'a RunContext,
        order: &'a FollowOrder,
        root_type: SearchType,
    ) -> Self {
        let (catalog, suppressed) = (context.catalog.get(), context.suppression.get());
        Self { context, order, root_type, catalog, suppressed }
    }

    /// Tells how a lead at this level is followed if no limit is reached. It must not be [`LeadStatus::Found`].
    pub(super) fn judge(&self, lead: &Lead, level: u8) -> Verdict {
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
                && (self.context.discovery || !entry.discovery)
                && module.why_skipped(&query, self.context.checker.keys()).is_none()
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
            Selection { search_type, premium: false, discovery: self.context.discovery, nsfw: choice.nsfw };
        match self.catalog.choose(&switches, &choice) {
            Ok(modules) => Verdict::Search(query, modules),
            Err(_) => Verdict::No(LeadReason::Unsupported),
        }
    }
}

/// Returns whether one of the runs has asked the lead's module for the lead's name, without finding it.
pub(super) fn is_asked(lead: &Lead, members: &[Findings<'_>]) -> bool {
    lead.kind == ResultType::Account
        && members.iter().any(|member| {
            member.query.search_type() == SearchType::Username
                && member.query.normal().eq_ignore_ascii_case(&lead.value)
                && member.modules.iter().any(|report| Some(&report.module) == lead.module.as_ref())
        })
}

/// Returns the accounts that a run looks up next. `known` are those that were planned before. The order and the number
/// do not depend on the order in which results were found.
pub(in crate::runs) fn next_lookups(
    rules: &Rules<'_>,
    member: &Findings<'_>,
    known: &[Lookup],
) -> Vec<(Lookup, Arc<Module>, Query)> {
    let found = leads(vec![RunLinks::of(member, rules.catalog.profiles())]);
    let planned: HashSet<Uuid> = known.iter().map(|lookup| lookup.lead_id).collect();
    let open = found.all.iter().filter(|lead| {
        lead.status != LeadStatus::Found
            && !planned.contains(&lead.lead_id)
            && !is_asked(lead, std::slice::from_ref(member))
    });
    let next = open.filter_map(|lead| {
        let Verdict::LookUp(module, query) = rules.judge(lead, lead.level()) else { return None };
        let lookup = Lookup {
            lead_id: lead.lead_id,
            class: lead.class,
            module: module.id().to_string(),
            platform: module.platform().to_owned(),
            query: query.raw().to_owned(),
            result_id: lead.nearest.1.result_id,
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

/// Returns the runs that the leads of a family start next, without the limit on their number. `known` are the leads for
/// which runs were started. All are of one level, which is at most `level`.
pub(super) fn next_searches(
    rules: &Rules<'_>,
    leads: &Leads,
    root: RunId,
    known: &HashSet<Uuid>,
    level: u8,
) -> Vec<NextSearch> {
    let open = leads.all.iter().filter(|lead| {
        lead.status != LeadStatus::Found
            && lead.kind != ResultType::Account
            && !known.contains(&lead.lead_id)
            && lead.level() <= level
    });
    let next = open.filter_map(|lead| {
        let Verdict::Search(query, modules) = rules.judge(lead, lead.level()) else { return None };
        let place = Membership { root, parent: lead.nearest.1.run_id, depth: lead.level() };
        Some(NextSearch { lead: lead.lead_id, class: lead.class, query, modules, place })
    });
    let mut next: Vec<NextSearch> = next.collect();
    // The runs of this level may name the leads of further levels as well, which are then nearer to the root.
    let nearest = next.iter().map(|search| search.place.depth).min();
    next.retain(|search| Some(search.place.depth) == nearest);
    next
}

/// The accounts that were looked up, by their leads: by which run, and the outcome if the look-up has ended.
pub(super) type Lookups = HashMap<Uuid, (RunId, Option<Outcome>)>;

/// Says what became of each of these leads of a family. `is_asked` tells whether a run has asked the module of an account
/// for it, without finding it.
pub(super) fn settle(
    rules: Option<&Rules<'_>>,
    family: &StoredFamily,
    lookups: &Lookups,
    is_asked: impl Fn(&Lead) -> bool,
    leads: &mut [Lead],
) {
    let searches: HashMap<Uuid, RunId> = family.followed.iter().map(|it| (it.lead, it.run)).collect();
    let exists = |run: &RunId| family.members.iter().any(|member| member.id == *run);
    // A run that names the lead may look it up before it ends.
    let is_pending = |lead: &Lead| {
        let names = |run: RunId| lead.sources.iter().any(|source| source.run_id == run);
        family.members.iter().any(|member| !member.status.is_terminal() && names(member.id))
    };
    for lead in leads {
        if let Some((run, outcome)) = lookups.get(&lead.lead_id) {
            lead.status = if outcome.is_some() { LeadStatus::LookedUp } else { LeadStatus::Pending };
            (lead.reason, lead.outcome) = (None, *outcome);
            lead.run_id.get_or_insert(*run);
            continue;
        }
        let search = searches.get(&lead.lead_id);
        if let Some(run) = search.filter(|run| exists(run)) {
            (lead.status, lead.reason) = (LeadStatus::Followed, None);
            (lead.run_id, lead.result_id) = (Some(*run), None);
            continue;
        }
        if lead.status == LeadStatus::Found {
            continue;
        }
        let reason = match (search, rules) {
            (Some(_), _) => Some(LeadReason::Deleted),
            (None, None) => continue,
            (None, Some(rules)) => match rules.judge(lead, lead.level()) {
                Verdict::No(reason) => Some(reason),
                Verdict::LookUp(..) if is_asked(lead) => Some(LeadReason::AlreadyAsked),
                Verdict::LookUp(..) => (!is_pending(lead)).then_some(LeadReason::Limit),
                Verdict::Search(..) if family.is_following => None,
                Verdict::Search(..) => Some(match family.end.and_then(|end| end.stopped) {
                    Some(StopReason::InsufficientCredits) => LeadReason::InsufficientCredits,
                    Some(StopReason::Stopped) => LeadReason::Stopped,
                    Some(StopReason::Limit) | None => LeadReason::Limit,
                }),
            },
        };
        lead.status = if reason.is_some() { LeadStatus::NotFollowed } else { LeadStatus::Pending };
        lead.reason = reason;
    }
}
