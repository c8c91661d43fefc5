//! What became of the leads of a family.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::plan::{Levels, Rules, Verdict, is_asked};
use crate::base::ids::RunId;
use crate::model::family::StoredFamily;
use crate::model::follow::{FollowEnd, FollowOrder, FollowedLead, Lookup, StopReason};
use crate::model::run::RunSummary;
use crate::modules::catalog::Catalog;
use crate::modules::query::SearchType;
use crate::runs::context::RunContext;
use crate::runs::leads::lead::{FoundBy, Lead, LeadReason, LeadStatus};
use crate::runs::leads::{Leads, leads};
use crate::runs::record::{Findings, ResultRef, RunRecord};
use crate::runs::suppression::Suppressed;

/// Returns the rules by which a family's leads are followed.
pub(super) fn rules<'a>(
    context: &'a RunContext,
    order: &'a FollowOrder,
    root_type: SearchType,
    catalog: &'a Catalog,
    suppressed: &'a Suppressed,
) -> Rules<'a> {
    let (keys, discovery) = (context.checker.keys(), context.discovery);
    Rules { order, root_type, catalog, suppressed, keys, discovery }
}

/// Returns the leads of these runs of a family, and what became of each. The query of the first run is no lead.
pub(super) fn settle(context: &RunContext, family: &StoredFamily, members: &[RunRecord]) -> Leads {
    let catalog = context.catalog.get();
    let findings: Vec<Findings<'_>> = members.iter().filter_map(RunRecord::findings).collect();
    let mut found = leads(&findings, catalog.profiles());
    let levels = Levels::of(&findings);
    let done = Done::of(family, members);
    let root = family.members.first();
    let suppressed = context.suppression.get();
    let order = root.and_then(|root| root.follow.as_deref().map(|order| (order, root.search_type)));
    let rules = order.map(|(order, kind)| rules(context, order, kind, &catalog, &suppressed));
    for lead in &mut found.all {
        if done.tell(lead) || lead.status == LeadStatus::Found {
            continue;
        }
        if done.deleted.contains(&lead.lead_id) {
            (lead.status, lead.reason) = (LeadStatus::NotFollowed, Some(LeadReason::Deleted));
            continue;
        }
        let Some(rules) = &rules else { continue };
        let reason = match rules.judge(lead, levels.of_lead(lead)) {
            Verdict::No(reason) => Some(reason),
            Verdict::LookUp(..) if is_asked(lead, &findings) => Some(LeadReason::AlreadyAsked),
            Verdict::LookUp(..) => (!is_running(lead, members)).then_some(LeadReason::Limit),
            Verdict::Search(..) => done.why_not_searched(),
        };
        (lead.status, lead.reason) = match reason {
            Some(reason) => (LeadStatus::NotFollowed, Some(reason)),
            None => (LeadStatus::Pending, None),
        };
    }
    found
}

/// The leads that were followed.
struct Done<'a> {
    lookups: HashMap<Uuid, (RunId, &'a Lookup)>,
    /// The results that look-ups have found.
    results: HashMap<Uuid, ResultRef>,
    searches: HashMap<Uuid, RunId>,
    /// The leads whose runs were deleted.
    deleted: HashSet<Uuid>,
    is_following: bool,
    end: Option<FollowEnd>,
}

impl<'a> Done<'a> {
    fn of(family: &StoredFamily, members: &'a [RunRecord]) -> Self {
        let lookups = members.iter().flat_map(|member| {
            member.lookups.iter().map(|lookup| (lookup.lead_id, (member.summary.id, lookup)))
        });
        let results = members.iter().flat_map(|member| {
            let run_id = member.summary.id;
            member.results.iter().filter_map(move |record| {
                Some((FoundBy::of(&record.metadata)?.lead_id, ResultRef { run_id, result_id: record.id }))
            })
        });
        let exists = |followed: &&FollowedLead| members.iter().any(|run| run.summary.id == followed.run);
        let (followed, deleted): (Vec<_>, Vec<_>) = family.followed.iter().partition(exists);
        Self {
            lookups: lookups.collect(),
            results: results.collect(),
            searches: followed.into_iter().map(|followed| (followed.lead, followed.run)).collect(),
            deleted: deleted.into_iter().map(|followed| followed.lead).collect(),
            is_following: family.is_following,
            end: family.end,
        }
    }

    /// Tells what became of a lead that was followed. Returns `false` if it was not.
    fn tell(&self, lead: &mut Lead) -> bool {
        if let Some((run, lookup)) = self.lookups.get(&lead.lead_id) {
            let result = self.results.get(&lead.lead_id);
            lead.status = if lookup.outcome.is_some() { LeadStatus::LookedUp } else { LeadStatus::Pending };
            (lead.reason, lead.outcome) = (None, lookup.outcome);
            lead.run_id = Some(result.map_or(*run, |result| result.run_id));
            lead.result_id = result.map(|result| result.result_id);
            return true;
        }
        let Some(run) = self.searches.get(&lead.lead_id) else { return false };
        (lead.status, lead.reason) = (LeadStatus::Followed, None);
        (lead.run_id, lead.result_id) = (Some(*run), None);
        true
    }

    /// Returns why no run is started for a lead that may be followed, or `None` if its turn may come.
    fn why_not_searched(&self) -> Option<LeadReason> {
        if self.is_following {
            return None;
        }
        match self.end.and_then(|end| end.stopped) {
            Some(StopReason::InsufficientCredits) => Some(LeadReason::InsufficientCredits),
            Some(StopReason::Stopped) => Some(LeadReason::Stopped),
            Some(StopReason::Limit) | None => Some(LeadReason::Limit),
        }
    }
}

/// Returns whether a run that names the lead is running, and may look it up before it ends.
fn is_running(lead: &Lead, members: &[RunRecord]) -> bool {
    let names = |run: &RunSummary| lead.sources.iter().any(|source| source.run_id == run.id);
    members.iter().any(|member| !member.summary.status.is_terminal() && names(&member.summary))
}
