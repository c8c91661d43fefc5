//! What became of the leads of a family.

use std::collections::HashMap;

use uuid::Uuid;

use super::plan::{Rules, Verdict};
use crate::base::ids::RunId;
use crate::model::family::StoredFamily;
use crate::model::follow::{Lookup, StopReason};
use crate::runs::leads::lead::{Lead, LeadReason, LeadStatus};

/// Says what became of each of these leads of a family. `is_asked` tells whether a run has asked the module of an account
/// for it, without finding it.
pub(super) fn settle(
    rules: Option<&Rules<'_>>,
    family: &StoredFamily,
    lookups: &[(RunId, Lookup)],
    is_asked: impl Fn(&Lead) -> bool,
    leads: &mut [Lead],
) {
    let lookups: HashMap<Uuid, &(RunId, Lookup)> = lookups.iter().map(|it| (it.1.lead_id, it)).collect();
    let searches: HashMap<Uuid, RunId> = family.followed.iter().map(|it| (it.lead, it.run)).collect();
    let exists = |run: &RunId| family.members.iter().any(|member| member.id == *run);
    // A run that names the lead may look it up before it ends.
    let is_pending = |lead: &Lead| {
        let names = |run: RunId| lead.sources.iter().any(|source| source.run_id == run);
        family.members.iter().any(|member| !member.status.is_terminal() && names(member.id))
    };
    for lead in leads {
        if let Some((run, lookup)) = lookups.get(&lead.lead_id) {
            lead.status = if lookup.outcome.is_some() { LeadStatus::LookedUp } else { LeadStatus::Pending };
            (lead.reason, lead.outcome) = (None, lookup.outcome);
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
