//! Following leads: accounts are looked up in the run that found them, and other leads start separate runs. All runs
//! below the first one, its root, are its family.
//!
//! | file | holds |
//! |---|---|
//! | [`plan`] | which leads are followed next, and what became of each |
//! | `advance` | starting the runs whose turn has come |

pub(super) mod advance;
pub mod plan;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::json;
use uuid::Uuid;

use super::leads::links::{RunLinks, Subjects};
use super::leads::{Lead, LeadStatus, Leads, leads};
use super::record::{Findings, RunRecord};
use super::service::Runs;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::credits::Charge;
use crate::model::family::{FamilyTree, StoredFamily};
use crate::model::follow::{LeadReason, MAX_SEARCHES, Membership, NewMember};
use crate::model::refusal::{Code, Refusal};
use crate::model::run::{RunSummary, count};
use crate::modules::catalog::Choice;
use crate::modules::definition::ResultType;
use advance::start;
use plan::{NextSearch, Rules, is_asked, next_searches};

/// A run with the other runs of its family.
pub struct Family {
    stored: StoredFamily,
    members: Vec<RunRecord>,
    /// The run.
    asked: RunSummary,
}

impl Family {
    /// Returns the run and the runs below it: the run first, and then the order in which they were started.
    pub fn runs(&self) -> Vec<&RunRecord> {
        let below = self.tree().below;
        let part: HashSet<RunId> = below.iter().map(|it| it.run.id).chain([self.asked.id]).collect();
        self.members.iter().filter(|member| part.contains(&member.summary.id)).collect()
    }

    /// Returns what these runs were asked and what they found.
    pub fn findings(&self) -> Vec<Findings<'_>> {
        self.runs().into_iter().filter_map(RunRecord::findings).collect()
    }

    /// Returns the place of the run, and the runs below it.
    pub fn tree(&self) -> FamilyTree {
        FamilyTree::of(&self.stored, self.asked.id)
    }
}

impl Runs {
    /// Returns a run, which was read just before, with the other runs of its family.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn family(&self, record: RunRecord) -> Result<Family, StorageError> {
        let asked = record.summary.clone();
        let stored = self.store.family(asked.root(), asked.account)?.unwrap_or_else(|| StoredFamily {
            members: vec![asked.clone()],
            lookups: count(record.lookups.len()),
            ..StoredFamily::default()
        });
        let mut own = Some(record);
        let read = |run: &RunSummary| match own.take_if(|own| own.summary.id == run.id) {
            Some(own) => Ok(own),
            None => self.record(run.clone()),
        };
        let mut members = stored.members.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        // It may have been deleted since it was read.
        members.extend(own);
        Ok(Family { stored, members, asked })
    }

    /// Returns the leads in the results of the run, and what became of each.
    pub fn leads(&self, family: &Family) -> Leads {
        let Family { stored, members, .. } = family;
        let mut leads = self.leads_of(members);
        let findings: Vec<Findings<'_>> = members.iter().filter_map(RunRecord::findings).collect();
        let mut lookups = HashMap::new();
        for RunRecord { summary, lookups: of_run, .. } in members {
            lookups.extend(of_run.iter().map(|it| (it.lead_id, (summary.id, it.outcome))));
        }
        let searches: HashMap<Uuid, RunId> = stored.followed.iter().map(|it| (it.lead, it.run)).collect();
        let exists = |run: &RunId| stored.members.iter().any(|member| member.id == *run);
        // A run that names the lead may look it up before it ends.
        let is_pending = |lead: &Lead| {
            let names = |run: RunId| lead.sources.iter().any(|source| source.run_id == run);
            stored.members.iter().any(|member| !member.status.is_terminal() && names(member.id))
        };
        let first = stored.members.first();
        let rules = first.and_then(|it| Some(Rules::of(self, it.follow.as_deref()?, it.search_type)));
        let by_hand = Rules::on_request(self, &family.asked);
        // The store has no place for a run whose root was deleted.
        let has_root = first.is_some_and(|first| first.id == family.asked.root());
        for lead in &mut leads.all {
            let search = searches.get(&lead.lead_id);
            if let Some((run, outcome)) = lookups.get(&lead.lead_id) {
                lead.status = if outcome.is_some() { LeadStatus::LookedUp } else { LeadStatus::Pending };
                (lead.reason, lead.outcome) = (None, *outcome);
                lead.run_id.get_or_insert(*run);
            } else if let Some(run) = search.filter(|run| exists(run)) {
                (lead.status, lead.reason) = (LeadStatus::Followed, None);
                (lead.run_id, lead.result_id) = (Some(*run), None);
            } else if lead.status != LeadStatus::Found && (search.is_some() || rules.is_some()) {
                let judged = rules.as_ref().filter(|_| search.is_none()).map(|rules| rules.judge(lead));
                lead.reason = match (judged, lead.kind) {
                    (None, _) => Some(LeadReason::Deleted),
                    (Some(Err(reason)), _) => Some(reason),
                    (Some(Ok(_)), ResultType::Account) if is_asked(lead, &findings) => {
                        Some(LeadReason::AlreadyAsked)
                    }
                    (Some(Ok(_)), ResultType::Account) => (!is_pending(lead)).then_some(LeadReason::Limit),
                    (Some(Ok(_)), _) if stored.is_following => None,
                    (Some(Ok(_)), _) => {
                        Some(stored.end.and_then(|it| it.stopped).unwrap_or(LeadReason::Limit))
                    }
                };
                if lead.reason.is_none() {
                    lead.status = LeadStatus::Pending;
                }
            }
        }
        leads.all.retain(|lead| {
            let is_own = lead.status == LeadStatus::Followed && lead.run_id == Some(family.asked.id);
            !is_own && lead.sources.iter().any(|source| source.run_id == family.asked.id)
        });
        for lead in leads.all.iter_mut().filter(|lead| lead.status == LeadStatus::NotFollowed) {
            match by_hand.judge(lead) {
                Ok(_) => lead.can_be_followed = has_root,
                Err(reason) if reason.is_final() && lead.reason == Some(LeadReason::NotRequested) => {
                    lead.reason = Some(reason);
                }
                Err(_) => {}
            }
        }
        leads
    }

    /// Returns the place of a run in its family, and the runs below it.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn tree(&self, run: &RunSummary) -> Result<FamilyTree, StorageError> {
        let family = self.store.family(run.root(), run.account)?;
        Ok(family.map_or_else(FamilyTree::default, |family| FamilyTree::of(&family, run.id)))
    }

    /// Returns the searches that the leads of a family start next, without the limit on their number. `runs` are all
    /// runs of the family, the root first, and have ended. `known` are the leads for which runs were started.
    pub fn next_searches(&self, runs: &[RunRecord], known: &HashSet<Uuid>) -> Vec<NextSearch> {
        let Some(root) = runs.first().map(|run| &run.summary) else { return Vec::new() };
        let Some(order) = root.follow.as_deref() else { return Vec::new() };
        let rules = Rules::of(self, order, root.search_type);
        next_searches(&rules, &self.leads_of(runs), root, known, u8::MAX)
    }

    fn leads_of(&self, runs: &[RunRecord]) -> Leads {
        let catalog = self.catalog();
        let findings = runs.iter().filter_map(RunRecord::findings);
        leads(findings.map(|run| RunLinks::of(&Subjects::of(&run, catalog.profiles()))).collect())
    }

    /// Starts a run for a lead of a run, even if it is further away or less sure than leads are followed otherwise. An
    /// account is looked up with its own module. Repeating the request starts no second run, unless the first one was
    /// deleted.
    ///
    /// # Errors
    /// Returns why no run was started.
    pub fn follow_lead(
        self: &Arc<Self>,
        family: &Family,
        lead_id: Uuid,
        charge: &Charge,
        origin: Origin,
    ) -> Result<RunId, Refusal> {
        let leads = self.leads(family);
        let lead = leads.all.iter().find(|lead| lead.lead_id == lead_id);
        let lead = lead.ok_or_else(|| Refusal::no_such("lead"))?;
        if let (LeadStatus::Followed, Some(run)) = (lead.status, lead.run_id) {
            return Ok(run);
        }
        if lead.result_id.is_some() {
            return Err(Refusal::new(Code::Conflict, "the search has found this lead already"));
        }
        let parent = &family.asked;
        let rules = Rules::on_request(self, parent);
        let is_of_this_web = parent.simulated == self.config.simulated;
        let judged = rules.judge(lead);
        let (query, module) = match judged
            .and_then(|it| is_of_this_web.then_some(it).ok_or(LeadReason::Unsupported))
        {
            Ok(judged) => judged,
            Err(LeadReason::Suppressed) => return Err(Refusal::suppressed()),
            Err(reason) => {
                let reason = json!(reason);
                let why = format!("this lead cannot be followed: {}", reason.as_str().unwrap_or_default());
                return Err(Refusal::new(Code::Conflict, why));
            }
        };
        let place = Membership { root: parent.root(), parent: parent.id, depth: lead.level() };
        let (class, max_searches) = (lead.class, MAX_SEARCHES);
        let member = NewMember { place, lead: lead_id, class, max_searches, is_on_request: true };
        let modules = module.map(|module| module.id().to_string()).into_iter().collect();
        let choice = Choice { modules, ..rules.order.choice.clone() };
        start(self, parent, NextSearch { member, query, choice }, origin, *charge)
    }
}
