//! Which leads are followed next, and what became of each: pure functions of what results point to.
//!
//! The **level** of a result is the number of leads between the root's query and the result: the depth of its run, or
//! one more than the level of the result that a look-up came from. The level of a lead is one more than the lowest level
//! of the results that name it. Leads are followed level by level, and within a level in the order of
//! [`leads`]: verified ones first, then by confidence.

use std::collections::HashSet;
use std::sync::Arc;

use uuid::Uuid;

use crate::model::follow::{
    Class, FollowOrder, LeadReason, Lookup, MAX_LOOKUPS, MAX_SEARCHES, Membership, NewMember,
};
use crate::model::run::{RunOptions, RunSummary};
use crate::modules::catalog::{Catalog, Choice};
use crate::modules::definition::ResultType;
use crate::modules::module::Module;
use crate::modules::query::{Query, SearchType};
use crate::runs::leads::links::{RunLinks, Subjects};
use crate::runs::leads::{Lead, LeadStatus, Leads, leads};
use crate::runs::record::Findings;
use crate::runs::service::Runs;
use crate::runs::suppression::Suppressed;

/// What decides whether a lead of a family is followed.
pub(in crate::runs) struct Rules<'a> {
    runs: &'a Runs,
    /// How the family's leads are followed.
    pub(super) order: FollowOrder,
    /// Whether the owner asks for a single lead. Then only reasons that are final keep it from being followed.
    is_on_request: bool,
    /// The catalogue, whose modules look accounts up.
    pub(super) catalog: Arc<Catalog>,
    /// The types of queries for which a run would ask some module.
    supported: Vec<SearchType>,
    /// The modules that look accounts up. They are never asked for what the choice of modules leaves out.
    lookups: Vec<Arc<Module>>,
    /// The identifiers that are never searched.
    suppressed: Arc<Suppressed>,
}

impl<'a> Rules<'a> {
    pub(in crate::runs) fn of(runs: &'a Runs, order: &FollowOrder, root_type: SearchType) -> Self {
        let (catalog, suppressed) = (runs.catalog(), runs.suppressed());
        let mut supported = SearchType::ALL.to_vec();
        supported.retain(|search_type| {
            let choice = order.choice_for(*search_type, root_type);
            runs.modules_for(*search_type, false, &choice).is_ok()
        });
        let choice = Choice { modules: Vec::new(), categories: Vec::new(), ..order.choice.clone() };
        let lookups = runs.modules_for(SearchType::Username, false, &choice).unwrap_or_default();
        Self { runs, order: order.clone(), is_on_request: false, catalog, supported, lookups, suppressed }
    }

    /// Returns the rules by which leads of a run are followed on request: at any distance and of any class, with the
    /// modules that the run was allowed to ask.
    pub(super) fn on_request(runs: &'a Runs, run: &RunSummary) -> Self {
        let RunOptions { nsfw, engines, passive, .. } = run.options;
        let excluded = run.follow.as_deref().map(|order| order.choice.exclude_modules.clone());
        let exclude_modules = excluded.unwrap_or_default();
        let choice = Choice { nsfw, engines, passive, exclude_modules, ..Choice::default() };
        let (depth, max_searches, links) = (u8::MAX, MAX_SEARCHES, Class::Stated);
        let order = FollowOrder { depth, max_searches, links, choice };
        Self { is_on_request: true, ..Self::of(runs, &order, run.search_type) }
    }

    /// Returns how a lead is followed if no limit is reached, or why not: the query, and the module that is asked for an
    /// account, within the run that has named it. For any other lead, a run is started. The lead must not be
    /// [`LeadStatus::Found`].
    pub(super) fn judge(&self, lead: &Lead) -> Result<(Query, Option<&Arc<Module>>), LeadReason> {
        let is_obstacle = |reason: &LeadReason| {
            reason.is_final() || *reason != LeadReason::NotRequested && !self.is_on_request
        };
        if let Some(reason) = lead.reason.filter(is_obstacle) {
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
        if lead.level() > self.order.depth {
            return Err(LeadReason::Depth);
        }
        let is_own = |module: &&Arc<Module>| Some(&**module.id()) == lead.module.as_deref();
        let module = self.lookups.iter().find(is_own).filter(|module| {
            lead.kind == ResultType::Account && module.why_skipped(&query, &self.runs.checker.keys).is_none()
        });
        let is_supported =
            module.is_some() || lead.kind != ResultType::Account && self.supported.contains(&search_type);
        if is_supported { Ok((query, module)) } else { Err(LeadReason::Unsupported) }
    }

    /// Returns the accounts, or the other leads, that are followed next, each with how. `known` are those that were
    /// followed.
    fn open<'r>(
        &'r self,
        leads: &'r Leads,
        are_accounts: bool,
        known: &HashSet<Uuid>,
    ) -> impl Iterator<Item = (&'r Lead, Query, Option<&'r Arc<Module>>)> {
        let is_open = move |lead: &&Lead| {
            lead.status != LeadStatus::Found
                && (lead.kind == ResultType::Account) == are_accounts
                && !known.contains(&lead.lead_id)
        };
        let judged = |lead| self.judge(lead).ok().map(|(query, module)| (lead, query, module));
        leads.all.iter().filter(is_open).filter_map(judged)
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
) -> Vec<Lookup> {
    let subjects = Subjects::of(member, rules.catalog.profiles());
    let found = leads(vec![RunLinks::of(&subjects)]);
    let planned: HashSet<Uuid> = known.iter().map(|lookup| lookup.lead_id).collect();
    let next = rules.open(&found, true, &planned).filter_map(|(lead, query, module)| {
        let module = module.filter(|_| !is_asked(lead, std::slice::from_ref(member)))?;
        Some(Lookup {
            lead_id: lead.lead_id,
            class: lead.class,
            module: module.id().to_string(),
            platform: module.platform().to_owned(),
            query: query.raw().to_owned(),
            result_id: lead.nearest.1.result_id,
            outcome: None,
            reason: None,
        })
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
    /// The choice of its modules.
    pub choice: Choice,
}

/// Returns the runs that the leads of a family start next, without the limit on their number. `known` are the leads for
/// which runs were started. All are of one level, which is at most `level`.
pub(super) fn next_searches(
    rules: &Rules<'_>,
    leads: &Leads,
    root: &RunSummary,
    known: &HashSet<Uuid>,
    level: u8,
) -> Vec<NextSearch> {
    let open = rules.open(leads, false, known).filter(|(lead, ..)| lead.level() <= level);
    let mut next: Vec<NextSearch> = open
        .map(|(lead, query, _)| {
            let place = Membership { root: root.id, parent: lead.nearest.1.run_id, depth: lead.level() };
            let (class, max_searches) = (lead.class, rules.order.max_searches);
            let member = NewMember { place, lead: lead.lead_id, class, max_searches, is_on_request: false };
            let choice = rules.order.choice_for(query.search_type(), root.search_type);
            NextSearch { member, query, choice }
        })
        .collect();
    // The runs of this level may name the leads of further levels as well, which are then nearer to the root.
    let nearest = next.iter().map(|search| search.member.place.depth).min();
    next.retain(|search| Some(search.member.place.depth) == nearest);
    next
}
