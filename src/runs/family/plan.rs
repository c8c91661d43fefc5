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
use crate::model::follow::{Class, FollowOrder, LeadReason, Lookup, MAX_LOOKUPS, Membership, NewMember};
use crate::modules::catalog::{Catalog, Selection};
use crate::modules::definition::{Contact, ResultType};
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::modules::query::{Query, SearchType};
use crate::runs::context::RunContext;
use crate::runs::leads::lead::{Lead, LeadStatus};
use crate::runs::leads::links::{RunLinks, Subjects};
use crate::runs::leads::{Leads, leads};
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

/// How a lead is followed: the query and the modules that are asked. That of an account is asked within the run that has
/// named it; for any other lead, a run is started.
pub(super) type Way = (Query, Vec<Arc<Module>>);

impl<'a> Rules<'a> {
    pub(in crate::runs) fn of(
        context: &'a RunContext,
        order: &'a FollowOrder,
        root_type: SearchType,
    ) -> Self {
        let (catalog, suppressed) = (context.catalog.get(), context.suppression.get());
        Self { context, order, root_type, catalog, suppressed }
    }

    /// Returns how a lead at this level is followed if no limit is reached, or why not. It must not be
    /// [`LeadStatus::Found`].
    pub(super) fn judge(&self, lead: &Lead, level: u8) -> Result<Way, LeadReason> {
        if let Some(reason) = lead.reason.filter(|reason| *reason != LeadReason::NotRequested) {
            return Err(reason);
        }
        if self.order.links == Class::Verified && lead.class != Class::Verified {
            return Err(LeadReason::NotVerified);
        }
        let search_type = match lead.kind {
            ResultType::Account | ResultType::Username => SearchType::Username,
            ResultType::Email => SearchType::Email,
            ResultType::Domain => SearchType::Domain,
            _ => return Err(LeadReason::Unsupported),
        };
        let query = Query::parse(search_type, &lead.value).map_err(|_| LeadReason::Unsupported)?;
        if self.suppressed.holds(&query) {
            return Err(LeadReason::Suppressed);
        }
        if level > self.order.depth {
            return Err(LeadReason::Depth);
        }
        let choice = self.order.choice_for(search_type, self.root_type);
        let modules = if lead.kind == ResultType::Account {
            self.module_of(lead, &query).map(|module| vec![Arc::clone(module)])
        } else {
            let (discovery, nsfw) = (self.context.discovery, choice.nsfw);
            let switches = Selection { search_type, premium: false, discovery, nsfw };
            self.catalog.choose(&switches, &choice).ok()
        };
        Ok((query, modules.ok_or(LeadReason::Unsupported)?))
    }

    /// Returns the module that looks an account up. It is never asked for what the choice of modules leaves out.
    fn module_of(&self, lead: &Lead, query: &Query) -> Option<&Arc<Module>> {
        let module = self.catalog.get(lead.module.as_deref()?)?;
        let (entry, choice) = (module.entry(), &self.order.choice);
        let is_left_out = choice.exclude_modules.iter().any(|id| **id == **module.id())
            || entry.nsfw && !choice.nsfw
            || choice.passive && entry.contact != Contact::ThirdParty
            || entry.discovery && !self.context.discovery
            || module.is_premium();
        let is_asked = !is_left_out && module.why_skipped(query, self.context.checker.keys()).is_none();
        is_asked.then_some(module)
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

/// Returns the accounts, or the other leads, that are followed next, each with how. `known` are those that were followed.
fn open<'l>(
    rules: &Rules<'_>,
    leads: &'l Leads,
    are_accounts: bool,
    known: &HashSet<Uuid>,
) -> impl Iterator<Item = (&'l Lead, Way)> {
    let is_open = move |lead: &&Lead| {
        lead.status != LeadStatus::Found
            && (lead.kind == ResultType::Account) == are_accounts
            && !known.contains(&lead.lead_id)
    };
    let open = leads.all.iter().filter(is_open);
    open.filter_map(|lead| Some((lead, rules.judge(lead, lead.level()).ok()?)))
}

/// Returns the accounts that a run looks up next. `known` are those that were planned before. The order and the number
/// do not depend on the order in which results were found.
pub(in crate::runs) fn next_lookups(
    rules: &Rules<'_>,
    member: &Findings<'_>,
    known: &[Lookup],
) -> Vec<(Lookup, Arc<Module>, Query)> {
    let subjects = Subjects::of(member, rules.catalog.profiles());
    let found = leads(vec![RunLinks::of(&subjects)]);
    let planned: HashSet<Uuid> = known.iter().map(|lookup| lookup.lead_id).collect();
    let next = open(rules, &found, true, &planned).filter_map(|(lead, (query, mut modules))| {
        let module = modules.pop().filter(|_| !is_asked(lead, std::slice::from_ref(member)))?;
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
    /// The lead, and the place of the run in the family.
    pub member: NewMember,
    /// The query.
    pub query: Query,
    /// The modules.
    pub modules: Vec<Arc<Module>>,
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
    let open = open(rules, leads, false, known).filter(|(lead, _)| lead.level() <= level);
    let mut next: Vec<NextSearch> = open
        .map(|(lead, (query, modules))| {
            let place = Membership { root, parent: lead.nearest.1.run_id, depth: lead.level() };
            let (class, max_searches) = (lead.class, rules.order.max_searches);
            let member = NewMember { place, lead: lead.lead_id, class, max_searches, is_on_request: false };
            NextSearch { member, query, modules }
        })
        .collect();
    // The runs of this level may name the leads of further levels as well, which are then nearer to the root.
    let nearest = next.iter().map(|search| search.member.place.depth).min();
    next.retain(|search| Some(search.member.place.depth) == nearest);
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
        let search = searches.get(&lead.lead_id);
        if let Some((run, outcome)) = lookups.get(&lead.lead_id) {
            lead.status = if outcome.is_some() { LeadStatus::LookedUp } else { LeadStatus::Pending };
            (lead.reason, lead.outcome) = (None, *outcome);
            lead.run_id.get_or_insert(*run);
        } else if let Some(run) = search.filter(|run| exists(run)) {
            (lead.status, lead.reason) = (LeadStatus::Followed, None);
            (lead.run_id, lead.result_id) = (Some(*run), None);
        } else if lead.status != LeadStatus::Found && (search.is_some() || rules.is_some()) {
            let judged = rules.filter(|_| search.is_none()).map(|rules| rules.judge(lead, lead.level()));
            lead.reason = match (judged, lead.kind) {
                (None, _) => Some(LeadReason::Deleted),
                (Some(Err(reason)), _) => Some(reason),
                (Some(Ok(_)), ResultType::Account) if is_asked(lead) => Some(LeadReason::AlreadyAsked),
                (Some(Ok(_)), ResultType::Account) => (!is_pending(lead)).then_some(LeadReason::Limit),
                (Some(Ok(_)), _) if family.is_following => None,
                (Some(Ok(_)), _) => Some(family.end.and_then(|end| end.stopped).unwrap_or(LeadReason::Limit)),
            };
            let is_followed = lead.reason.is_none();
            lead.status = if is_followed { LeadStatus::Pending } else { LeadStatus::NotFollowed };
        }
    }
}
