//! Leads: as rows of a table, and on the cards of the results that name them.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

use crate::base::ids::RunId;
use crate::model::entity::identified::web_address;
use crate::model::follow::{Class, LeadReason};
use crate::modules::definition::ResultType;
use crate::modules::outcome::Outcome;
use crate::runs::family::{Family, FamilyService};
use crate::runs::graph::{self, Edge, Graph, Node};
use crate::runs::leads::lead::{Lead, LeadSource, LeadStatus};
use crate::web::service::Web;

/// The most places where a lead is named that are shown.
const MOST_PLACES: usize = 3;
/// The most leads on one card, and on all cards of a page.
const MOST_ON_CARD: usize = 3;
const MOST_ON_PAGE: usize = 300;

/// A lead as a row of the table.
pub(super) struct LeadRow {
    pub(super) kind: String,
    pub(super) label: String,
    pub(super) href: Option<String>,
    pub(super) class: &'static str,
    pub(super) is_verified: bool,
    /// Where it is named: `website of GitHub: octocat`.
    pub(super) named_in: Vec<String>,
    /// The id by which the lead can be searched, if it can.
    pub(super) lead_id: Option<Uuid>,
    /// What a search for it is called.
    pub(super) verb: &'static str,
    /// The search for it.
    pub(super) run_id: Option<RunId>,
    pub(super) became: &'static str,
}

impl LeadRow {
    pub(super) fn new(families: &FamilyService, family: &Family, lead: &Lead, owners: &Owners) -> Self {
        let mut named_in: Vec<String> = lead.sources.iter().map(|source| owners.place(source)).collect();
        named_in.dedup();
        let more = named_in.len().saturating_sub(MOST_PLACES);
        named_in.truncate(MOST_PLACES);
        if more > 0 {
            named_in.push(format!("{more} more"));
        }
        Self {
            kind: lead.kind.as_str().replace('_', " "),
            label: labelled(lead.platform.as_deref(), &lead.value),
            href: web_address(&lead.value).map(String::from),
            class: lead.class.as_str(),
            is_verified: lead.class == Class::Verified,
            named_in,
            lead_id: Some(lead.lead_id)
                .filter(|_| !family.is_running() && families.can_be_followed(family, lead)),
            verb: verb(lead),
            run_id: search_for(lead),
            became: became(lead),
        }
    }
}

/// The labels of the entities whose pages name leads, by the run, the result and its field.
pub(super) struct Owners(HashMap<(RunId, u32, String), String>);

impl Owners {
    pub(super) fn of(graph: &Graph) -> Self {
        let labels: HashMap<Uuid, String> = graph.nodes.iter().map(|node| (node.id, label(node))).collect();
        let owner = |edge: &Edge| {
            let place = (edge.run_id, edge.result_id, edge.field.clone()?);
            Some((place, labels.get(&edge.from)?.clone()))
        };
        Self(graph.edges.iter().filter_map(owner).collect())
    }

    /// Returns the place where a lead is named: `website of GitHub: octocat`.
    fn place(&self, source: &LeadSource) -> String {
        let place = (source.run_id, source.result_id, source.field.clone());
        let owner = self.0.get(&place).map_or_else(|| format!("result {}", source.result_id), Clone::clone);
        if source.field == "value" { owner } else { format!("{} of {owner}", source.field.replace('_', " ")) }
    }
}

/// Returns the name of an entity of the graph, as it is shown.
pub(super) fn label(node: &Node) -> String {
    labelled(node.platform.as_deref(), &node.value)
}

fn labelled(platform: Option<&str>, value: &str) -> String {
    graph::label(platform, value)
}

/// A lead on the card of a result.
pub(super) struct CardLead {
    /// The field of the result that names it.
    pub(super) field: String,
    pub(super) label: String,
    pub(super) is_verified: bool,
    /// The address that starts a search for it, if it can be searched.
    pub(super) action: Option<String>,
    pub(super) verb: &'static str,
    /// The address of the search for it.
    pub(super) search: Option<String>,
    pub(super) became: &'static str,
}

/// The leads on the cards of a run, by the ids of results. A card shows leads that can be searched or were: those that
/// are results have cards of their own. A run that has not ended may still find them, so nobody is to pay for them.
#[derive(Default)]
pub(super) struct CardLeads(BTreeMap<u32, Vec<CardLead>>);

impl CardLeads {
    /// Returns the leads of a run on the cards for which `is_shown` is true.
    pub(super) fn of(web: &Web, family: &Family, is_shown: impl Fn(u32) -> bool) -> Self {
        let families = &web.parts.runs.families;
        let (mut cards, mut count) = (BTreeMap::<u32, Vec<CardLead>>::new(), 0);
        if family.is_running() {
            return Self(cards);
        }
        for lead in families.leads(family).all.iter().filter(|lead| lead.result_id.is_none()) {
            let places = lead.sources.iter().filter(|source| source.run_id == family.id());
            let mut places = places.filter(|source| is_shown(source.result_id)).peekable();
            if count >= MOST_ON_PAGE || places.peek().is_none() {
                continue;
            }
            let can_be_followed = families.can_be_followed(family, lead);
            if lead.status == LeadStatus::NotFollowed && !can_be_followed {
                continue;
            }
            let mut last = None;
            for source in places.filter(|source| last.replace(source.result_id) != Some(source.result_id)) {
                let card = cards.entry(source.result_id).or_default();
                if card.len() < MOST_ON_CARD && count < MOST_ON_PAGE {
                    card.push(CardLead::new(&web.root, family.id(), lead, source, can_be_followed));
                    count += 1;
                }
            }
        }
        Self(cards)
    }

    /// Returns the leads on one card.
    pub(super) fn of_card(&self, result: &u32) -> &[CardLead] {
        self.0.get(result).map_or(&[], Vec::as_slice)
    }
}

impl CardLead {
    fn new(root: &str, run: RunId, lead: &Lead, source: &LeadSource, can_be_followed: bool) -> Self {
        let action = || format!("{root}/app/searches/{run}/leads/{}/follow", lead.lead_id);
        Self {
            field: if source.field == "value" { String::new() } else { source.field.replace('_', " ") },
            label: labelled(lead.platform.as_deref(), &lead.value),
            is_verified: lead.class == Class::Verified,
            action: can_be_followed.then(action),
            verb: verb(lead),
            search: search_for(lead).map(|id| format!("{root}/app/searches/{id}")),
            became: became(lead),
        }
    }
}

/// Returns the search for the lead, if one was started.
fn search_for(lead: &Lead) -> Option<RunId> {
    lead.run_id.filter(|_| lead.status == LeadStatus::Followed)
}

/// Returns what a search for the lead is called: an account is asked for at its own site only.
fn verb(lead: &Lead) -> &'static str {
    if lead.kind == ResultType::Account { "Look up" } else { "Search" }
}

fn became(lead: &Lead) -> &'static str {
    match (lead.status, lead.reason) {
        (LeadStatus::Found, _) => "found by this search",
        (LeadStatus::LookedUp, _) if lead.result_id.is_some() => "looked up and found",
        (LeadStatus::LookedUp, _) if lead.outcome == Some(Outcome::Miss) => "looked up, not there",
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
