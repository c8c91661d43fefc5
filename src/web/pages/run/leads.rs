//! Who the accounts of a run probably belong to, and its leads: what to search next.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::base::ids::RunId;
use crate::model::follow::{Class, LeadReason};
use crate::modules::definition::ResultType;
use crate::modules::outcome::Outcome;
use crate::modules::profile_index::ProfileIndex;
use crate::runs::family::Family;
use crate::runs::graph;
use crate::runs::leads::{self, LeadStatus};
use crate::runs::people::evidence::Band;
use crate::runs::people::people;
use crate::runs::people::person::{People, PersonAccount};
use crate::runs::pictures::avatar::Avatar;
use crate::runs::record::{Findings, ResultRef};
use crate::runs::service::Runs;

/// The most people of a page, and the most lines of evidence of each. Files contain all.
pub(super) const MOST_PEOPLE: usize = 30;
pub(super) const MOST_LINES: usize = 30;
/// The most leads of a page, and the number of those that are shown at once.
const MOST_LEADS: usize = 100;
pub(super) const SHOWN_LEADS: usize = 4;

/// The people of a run and those below it, the results that have thumbnails, and the places that results name.
#[derive(Default)]
pub(super) struct Who {
    pub(super) people: People,
    pictures: HashSet<ResultRef>,
    places: HashMap<ResultRef, String>,
}

impl Who {
    pub(super) fn of(findings: &[Findings<'_>], profiles: &ProfileIndex) -> Self {
        let (mut pictures, mut places) = (HashSet::new(), HashMap::new());
        for (run_id, result) in findings.iter().flat_map(|run| run.results.iter().map(|it| (run.run_id, it)))
        {
            let at = ResultRef { run_id, result_id: result.id };
            pictures.extend(Avatar::of(&result.metadata).map(|_| at));
            places.extend(result.text("location").map(|place| (at, place.to_owned())));
        }
        Self { people: people(findings, profiles), pictures, places }
    }

    /// Returns the first location that these accounts name.
    pub(super) fn location(&self, accounts: &[PersonAccount]) -> Option<&String> {
        accounts.iter().flat_map(|account| &account.results).find_map(|result| self.places.get(result))
    }

    /// Returns the path of the first thumbnail of these results.
    pub(super) fn picture<'r>(&self, results: impl IntoIterator<Item = &'r ResultRef>) -> Option<String> {
        let mut results = results.into_iter();
        let ResultRef { run_id, result_id } = results.find(|result| self.pictures.contains(result))?;
        Some(format!("/app/searches/{run_id}/thumbnails/{result_id}"))
    }

    /// Returns the path of the first thumbnail of these accounts.
    pub(super) fn picture_of(&self, accounts: &[PersonAccount]) -> Option<String> {
        self.picture(accounts.iter().flat_map(|account| &account.results))
    }
}

pub(super) fn account_label(account: &PersonAccount) -> String {
    graph::label(account.platform.as_deref(), &account.value)
}

/// Returns the tone of the badge of a band.
pub(super) fn tone(band: Band) -> &'static str {
    match band {
        Band::Confirmed => "good",
        Band::Likely => "accent",
        Band::Possible => "warn",
    }
}

/// A lead, and where it is named.
pub(super) struct Lead {
    pub(super) lead: leads::Lead,
    /// Where it is named: `website of GitHub: octocat`.
    pub(super) named_in: Vec<String>,
}

impl Lead {
    pub(super) fn label(&self) -> String {
        graph::label(self.lead.platform.as_deref(), &self.lead.value)
    }

    pub(super) fn is_verified(&self) -> bool {
        self.lead.class == Class::Verified
    }

    /// Returns the search for the lead, if one was started.
    pub(super) fn search(&self) -> Option<RunId> {
        self.lead.run_id.filter(|_| self.lead.status == LeadStatus::Followed)
    }
}

/// Returns the leads of a run that has ended: first those that can be searched or were, each by the number of its mentions.
/// What the run itself has found is no longer a lead.
pub(super) fn leads(runs: &Runs, family: &Family) -> Vec<Lead> {
    let runs_below = family.runs();
    let results =
        runs_below.iter().flat_map(|run| run.results.iter().map(|it| ((run.summary.id, it.id), it)));
    let results: HashMap<_, _> = results.collect();
    let place = |source: &leads::LeadSource| {
        let result = results.get(&(source.run_id, source.result_id))?;
        let owner = graph::label(result.platform.as_deref(), result.value.as_deref().unwrap_or_default());
        let field = source.field.replace('_', " ");
        Some(if field == "value" { owner } else { format!("{field} of {owner}") })
    };
    let found = runs.leads(family).all.into_iter().filter(|lead| lead.result_id.is_none());
    let mut leads: Vec<Lead> =
        found.map(|lead| Lead { named_in: lead.sources.iter().filter_map(place).collect(), lead }).collect();
    leads.iter_mut().for_each(|lead| lead.named_in.dedup());
    leads.sort_by_key(|it| (!it.lead.can_be_followed && it.search().is_none(), Reverse(it.named_in.len())));
    leads.truncate(MOST_LEADS);
    leads
}

/// Returns what a search for the lead is called: an account is asked for at its own site only.
pub(super) fn verb(lead: &Lead) -> &'static str {
    if lead.lead.kind == ResultType::Account { "Look up" } else { "Search" }
}

pub(super) fn became(lead: &Lead) -> &'static str {
    match (lead.lead.status, lead.lead.reason) {
        (LeadStatus::Found, _) => "found by this search",
        (LeadStatus::LookedUp, _) if lead.lead.outcome == Some(Outcome::Miss) => "looked up, not there",
        (LeadStatus::LookedUp, _) => "looked up, without an answer",
        (LeadStatus::Followed, _) => "searched",
        (LeadStatus::Pending, _) => "will be searched",
        (_, Some(LeadReason::NotVerified)) => "not searched, because it is not verified",
        (_, Some(LeadReason::Depth)) => "not searched, because it is too far away",
        (_, Some(LeadReason::Limit)) => "not searched, because the limit was reached",
        (_, Some(LeadReason::InsufficientCredits)) => "not searched, because no credits were left",
        (_, Some(LeadReason::Stopped)) => "not searched, because the search was stopped",
        (_, Some(LeadReason::Deleted)) => "searched, and the search was deleted",
        (_, Some(LeadReason::Suppressed)) => "never searched here",
        (_, Some(LeadReason::AlreadyAsked)) => "asked by this search already, and not found",
        (_, Some(LeadReason::Conflict)) => "verified links contradict each other",
        (_, Some(LeadReason::MailProvider)) => "a mail provider",
        (_, Some(LeadReason::Shortener)) => "a link shortener",
        (_, Some(LeadReason::SharedHost)) => "a page of a site that many people use",
        (_, Some(LeadReason::Unsupported)) => "no module searches for it",
        (_, Some(LeadReason::NotRequested) | None) => "not searched",
    }
}
