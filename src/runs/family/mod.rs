//! Following leads: accounts are looked up in the run that found them, and other leads start runs of their own. All runs
//! below the first one, its root, are its family.
//!
//! | file | holds |
//! |---|---|
//! | [`plan`] | which leads are followed next, and what became of each |
//! | `advance` | starting the runs whose turn has come |

pub(super) mod advance;
pub mod plan;

use std::collections::HashSet;
use std::sync::Arc;

use uuid::Uuid;

use super::context::RunContext;
use super::leads::lead::{Lead, LeadStatus};
use super::leads::links::{RunLinks, Subjects};
use super::leads::{Leads, leads};
use super::record::{Findings, RunRecord, read_run};
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::credits::Charge;
use crate::model::family::{FamilyTree, StoredFamily};
use crate::model::follow::{Class, FollowOrder, LeadReason, MAX_SEARCHES, Membership, NewMember};
use crate::model::run::{RunOptions, RunSummary, count};
use crate::model::start::{Refused, Started};
use crate::modules::catalog::Choice;
use crate::modules::definition::ResultType;
use advance::start;
use plan::{Lookups, NextSearch, Rules, Way, is_asked, next_searches, settle};

/// A run with the other runs of its family.
pub struct Family {
    stored: StoredFamily,
    members: Vec<RunRecord>,
    /// The place of the run among them.
    place: usize,
}

impl Family {
    /// Returns what the run and the runs below it were asked and what they found: the run first, and then the order in
    /// which they were started.
    pub fn findings(&self) -> Vec<Findings<'_>> {
        let below = self.tree().below;
        let part: HashSet<RunId> = below.iter().map(|it| it.run.id).chain([self.id()]).collect();
        let members = self.members.iter().filter(|member| part.contains(&member.summary.id));
        members.filter_map(RunRecord::findings).collect()
    }

    /// Returns the id of the run.
    pub fn id(&self) -> RunId {
        self.asked().id
    }

    /// Returns whether the run itself has not ended, and may find further results.
    pub fn is_running(&self) -> bool {
        !self.asked().status.is_terminal()
    }

    /// Returns the place of the run, and the runs below it.
    pub fn tree(&self) -> FamilyTree {
        FamilyTree::of(&self.stored, self.id())
    }

    /// Returns the run that was asked for.
    fn asked(&self) -> &RunSummary {
        &self.members[self.place].summary
    }

    /// Returns all runs of the family, in the order in which they were started.
    pub fn runs(&self) -> impl Iterator<Item = &RunSummary> {
        self.members.iter().map(|member| &member.summary)
    }
}

/// The result of a request to follow a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowResult {
    /// A run was started, or was started before, for the lead.
    Run(RunId),
    /// The run has no such lead.
    NoSuchLead,
    /// The lead cannot be followed. Contains the reason, or `None` if the search has found it already.
    NotFollowable(Option<LeadReason>),
    /// The store has refused the run.
    Refused(Refused),
}

/// A component that reads families, and follows leads on request.
pub struct FamilyService {
    context: Arc<RunContext>,
}

impl FamilyService {
    pub(in crate::runs) fn new(context: Arc<RunContext>) -> Self {
        Self { context }
    }

    /// Returns a run, which was read just before, with the other runs of its family.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn of(&self, record: RunRecord) -> Result<Family, StorageError> {
        let (of, account, as_of) = (record.summary.id, record.summary.account, record.as_of);
        let root = record.summary.family.map_or(of, |place| place.root);
        let stored = self.context.store.family(root, account)?.unwrap_or_else(|| StoredFamily {
            members: vec![record.summary.clone()],
            lookups: vec![count(record.lookups.len())],
            ..StoredFamily::default()
        });
        let mut own = Some(record);
        let read = |run: &RunSummary| match own.take_if(|own| own.summary.id == run.id) {
            Some(own) => Ok(own),
            None => read_run(&self.context.store, run.clone(), as_of),
        };
        let mut members = stored.members.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        // It may have been deleted since it was read.
        members.extend(own);
        let place = members.iter().position(|run| run.summary.id == of).unwrap_or_default();
        Ok(Family { stored, members, place })
    }

    /// Returns the leads in the results of the run, and what became of each.
    pub fn leads(&self, family: &Family) -> Leads {
        let mut leads = self.leads_of(&family.members);
        let mut lookups = Lookups::new();
        for RunRecord { summary, lookups: of_run, .. } in &family.members {
            lookups.extend(of_run.iter().map(|it| (it.lead_id, (summary.id, it.outcome))));
        }
        let findings: Vec<Findings<'_>> = family.members.iter().filter_map(RunRecord::findings).collect();
        let root = family.stored.members.first();
        let rules =
            root.and_then(|root| Some(Rules::of(&self.context, root.follow.as_deref()?, root.search_type)));
        let is_asked = |lead: &Lead| is_asked(lead, &findings);
        settle(rules.as_ref(), &family.stored, &lookups, is_asked, &mut leads.all);
        leads.all.retain(|lead| {
            let is_own = lead.status == LeadStatus::Followed && lead.run_id == Some(family.id());
            !is_own && lead.sources.iter().any(|source| source.run_id == family.id())
        });
        for lead in leads.all.iter_mut().filter(|lead| lead.reason == Some(LeadReason::NotRequested)) {
            if let Some(reason) = self.by_hand(family, lead).err().filter(|reason| reason.is_final()) {
                lead.reason = Some(reason);
            }
        }
        leads
    }

    /// Returns the place of a run in its family, and the runs below it.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn tree(&self, run: &RunSummary) -> Result<FamilyTree, StorageError> {
        let root = run.family.map_or(run.id, |place| place.root);
        let family = self.context.store.family(root, run.account)?;
        Ok(family.map_or_else(FamilyTree::default, |family| FamilyTree::of(&family, run.id)))
    }

    /// Returns the searches that the leads of a family start next, without the limit on their number. `runs` are all
    /// runs of the family, the root first, and have ended. `known` are the leads for which runs were started.
    pub fn next(&self, runs: &[RunRecord], known: &HashSet<Uuid>) -> Vec<NextSearch> {
        let Some(root) = runs.first().map(|run| &run.summary) else { return Vec::new() };
        let Some(order) = root.follow.as_deref() else { return Vec::new() };
        let rules = Rules::of(&self.context, order, root.search_type);
        next_searches(&rules, &self.leads_of(runs), root.id, known, u8::MAX)
    }

    fn leads_of(&self, runs: &[RunRecord]) -> Leads {
        let catalog = self.context.catalog.get();
        let findings = runs.iter().filter_map(RunRecord::findings);
        leads(findings.map(|run| RunLinks::of(&Subjects::of(&run, catalog.profiles()))).collect())
    }

    /// Returns whether [`follow`](Self::follow) would start a run for a lead of the run.
    pub fn can_be_followed(&self, family: &Family, lead: &Lead) -> bool {
        lead.status == LeadStatus::NotFollowed && self.by_hand(family, lead).is_ok()
    }

    /// Starts a run for a lead of a run, even if it is further away or less sure than leads are followed otherwise. An
    /// account is looked up with its own module. Repeating the request starts no second run, unless the first one was
    /// deleted.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn follow(
        &self,
        family: &Family,
        lead_id: Uuid,
        charge: &Charge,
        origin: Origin,
    ) -> Result<FollowResult, StorageError> {
        let leads = self.leads(family);
        let Some(lead) = leads.all.iter().find(|lead| lead.lead_id == lead_id) else {
            return Ok(FollowResult::NoSuchLead);
        };
        if let (LeadStatus::Followed, Some(run)) = (lead.status, lead.run_id) {
            return Ok(FollowResult::Run(run));
        }
        if lead.result_id.is_some() {
            return Ok(FollowResult::NotFollowable(None));
        }
        let (query, modules) = match self.by_hand(family, lead) {
            Ok(way) => way,
            Err(reason) => return Ok(FollowResult::NotFollowable(Some(reason))),
        };
        let parent = family.asked();
        let place = Membership {
            root: parent.family.map_or(parent.id, |place| place.root),
            parent: parent.id,
            depth: lead.level(),
        };
        let (named, class) = (lead.kind == ResultType::Account, lead.class);
        let member =
            NewMember { place, lead: lead_id, class, max_searches: MAX_SEARCHES, is_on_request: true };
        let search = NextSearch { member, query, modules };
        let (run, started) = start(&self.context, parent, search, named, origin, charge)?;
        Ok(match started {
            Started::Created => FollowResult::Run(run),
            Started::Repeated(earlier) => FollowResult::Run(earlier),
            Started::Refused(refused) => FollowResult::Refused(refused),
        })
    }

    /// Returns how a lead is followed on request: at any distance and of any class, by the rules that the run was
    /// started with.
    fn by_hand(&self, family: &Family, lead: &Lead) -> Result<Way, LeadReason> {
        let parent = family.asked();
        let exclude_modules =
            parent.follow.as_deref().map_or_else(Vec::new, |order| order.choice.exclude_modules.clone());
        let RunOptions { nsfw, passive, .. } = parent.options;
        let order = FollowOrder {
            depth: u8::MAX,
            max_searches: MAX_SEARCHES,
            links: Class::Stated,
            choice: Choice { nsfw, passive, exclude_modules, ..Choice::default() },
        };
        let reason = lead.reason.filter(|reason| reason.is_final());
        let lead = Lead { reason, ..lead.clone() };
        Rules::of(&self.context, &order, parent.search_type).judge(&lead, 0)
    }
}
