//! The page of what the results of a run point to: its people, its leads, and its graph as a drawing and as a list.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use askama::Template;
use uuid::Uuid;

use super::drawing::Drawing;
use super::lookup::find;
use super::people::PeopleView;
use crate::base::ids::RunId;
use crate::base::text::plain;
use crate::http::{Reply, Response};
use crate::modules::outcome::Outcome;
use crate::report::graph::GraphFormat;
use crate::report::html::web_address;
use crate::runs::graph::{Edge, EdgeClass, Graph, Node};
use crate::runs::leads::lead::{Lead, LeadReason, LeadSource, LeadStatus};
use crate::runs::people::people;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::pages::run_row::RunRow;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The most leads of a page. Files contain all.
const MOST_LEADS: usize = 100;
/// The most places where a lead is named that are shown, and the most entities that are joined to one.
const MOST_PLACES: usize = 3;
const MOST_JOINED: usize = 20;

#[derive(Template)]
#[template(path = "graph.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    run: RunRow,
    people: PeopleView,
    /// The searches that leads have started, with the number of leads between the root and each.
    searches: Vec<(u8, RunRow)>,
    /// Whether the search still follows leads.
    is_following: bool,
    leads: Vec<LeadRow>,
    /// The number of leads that the page leaves out.
    more_leads: usize,
    drawing: Drawing,
    entities: Vec<Entity>,
    formats: [(GraphFormat, &'static str); 3],
}

struct LeadRow {
    kind: String,
    label: String,
    href: Option<String>,
    class: &'static str,
    is_verified: bool,
    /// Where it is named: `website of GitHub: octocat`.
    named_in: Vec<String>,
    /// The id by which the lead can be searched, if it can.
    lead_id: Option<Uuid>,
    /// The search for it.
    run_id: Option<RunId>,
    became: &'static str,
}

struct Entity {
    /// The position in the graph, as in the drawing.
    number: usize,
    kind: String,
    label: String,
    name: Option<String>,
    joined: Vec<Joined>,
    /// The number of joined entities that are left out.
    more: usize,
}

struct Joined {
    number: usize,
    is_drawn: bool,
    /// How the other entity is joined: `names`, `is named by`.
    how: &'static str,
    label: String,
    class: &'static str,
    field: Option<String>,
}

/// The formats of the file.
const FORMATS: [(GraphFormat, &str); 3] = [
    (GraphFormat::Graphml, "GraphML, for Gephi, yEd and Neo4j"),
    (GraphFormat::Stix, "STIX 2.1 bundle"),
    (GraphFormat::Json, "Nodes and edges (JSON)"),
];

/// Handles `GET /app/searches/{run_id}/graph`: shows people, leads and the graph, or returns the graph as a file if
/// `format` is given.
///
/// # Errors
/// Returns 400 for an unknown format, 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let runs = &web.parts.runs;
    let record = runs.reader.record(&find(web, &visit)?)?;
    let now = web.parts.clock.now();
    let run = RunRow::new(&record.summary, now);
    let family = runs.families.of(record)?;
    let findings = family.findings();
    let catalog = runs.starter.catalog();
    let profiles = catalog.profiles();
    let graph = Graph::of(&findings, profiles);
    let query = visit.query();
    let format = query.get("format");
    if !format.is_empty() {
        return file(&graph, format).map(Reply::Now);
    }
    let found = runs.families.leads(&family).all;
    let below = family.below().map(|run| (run.family.map_or(0, |place| place.depth), RunRow::new(run, now)));
    let owners = Owners::of(&graph);
    let drawing = Drawing::new(&graph);
    Ok(Reply::Now(render(&Page {
        frame: visit.frame,
        run,
        people: PeopleView::new(&people(&findings, profiles)),
        searches: below.collect(),
        is_following: family.is_following(),
        more_leads: found.len().saturating_sub(MOST_LEADS),
        leads: found.iter().take(MOST_LEADS).map(|lead| lead_row(lead, &owners)).collect(),
        entities: entities(&graph, &drawing),
        drawing,
        formats: FORMATS,
    })))
}

fn file(graph: &Graph, format: &str) -> Result<Response, WebError> {
    let format = GraphFormat::from_name(format)
        .ok_or_else(|| WebError::invalid("A graph can be downloaded as json, graphml or stix."))?;
    let mut bytes = Vec::new();
    // This cannot fail: a Vec accepts all bytes, and the graph contains only numbers and strings.
    format.write(&mut bytes, graph).map_err(WebError::internal)?;
    let name = if format == GraphFormat::Graphml { "graph.graphml" } else { "graph.json" };
    Ok(Response::new(200, format.media_type(), bytes)
        .with_header("Content-Disposition", format!("attachment; filename=\"{name}\"")))
}

/// The labels of the entities whose pages name leads, by the run, the result and its field.
struct Owners(HashMap<(RunId, u32, String), String>);

impl Owners {
    fn of(graph: &Graph) -> Self {
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

fn label(node: &Node) -> String {
    labelled(node.platform.as_deref(), &node.value)
}

fn labelled(platform: Option<&str>, value: &str) -> String {
    match platform {
        Some(platform) => plain(&format!("{platform}: {value}")).into_owned(),
        None => plain(value).into_owned(),
    }
}

fn lead_row(lead: &Lead, owners: &Owners) -> LeadRow {
    let mut named_in: Vec<String> = lead.sources.iter().map(|source| owners.place(source)).collect();
    named_in.dedup();
    let more = named_in.len().saturating_sub(MOST_PLACES);
    named_in.truncate(MOST_PLACES);
    if more > 0 {
        named_in.push(format!("{more} more"));
    }
    LeadRow {
        kind: lead.kind.as_str().replace('_', " "),
        label: labelled(lead.platform.as_deref(), &lead.value),
        href: web_address(&lead.value).map(String::from),
        class: lead.class.as_str(),
        is_verified: lead.class.as_str() == "verified",
        named_in,
        lead_id: can_be_searched(lead).then_some(lead.lead_id),
        run_id: lead.run_id.filter(|_| lead.status == LeadStatus::Followed),
        became: became(lead),
    }
}

/// Returns whether a person can have the lead searched.
fn can_be_searched(lead: &Lead) -> bool {
    lead.status == LeadStatus::NotFollowed
        && !matches!(
            lead.reason,
            Some(
                LeadReason::MailProvider
                    | LeadReason::Shortener
                    | LeadReason::SharedHost
                    | LeadReason::Unsupported
                    | LeadReason::Suppressed
            )
        )
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

/// Returns the entities of the drawing, with what joins each of them to others.
fn entities(graph: &Graph, drawing: &Drawing) -> Vec<Entity> {
    let numbers: HashMap<Uuid, usize> =
        graph.nodes.iter().enumerate().map(|(number, node)| (node.id, number)).collect();
    let drawn: HashSet<usize> = drawing.dots.iter().map(|dot| dot.number).collect();
    let mut joined: HashMap<usize, Vec<Joined>> = HashMap::new();
    let mut told = HashSet::new();
    for edge in graph.edges.iter().filter(|edge| edge.class != EdgeClass::SameName) {
        let (Some(from), Some(to)) = (numbers.get(&edge.from), numbers.get(&edge.to)) else { continue };
        if !told.insert((from, to, edge.class, &edge.field)) {
            continue;
        }
        let ends =
            if edge.class == EdgeClass::Found { ("found", "found for") } else { ("names", "is named by") };
        for (one, other, how) in [(*from, *to, ends.0), (*to, *from, ends.1)] {
            joined.entry(one).or_default().push(Joined {
                number: other,
                is_drawn: drawn.contains(&other),
                how,
                label: label(&graph.nodes[other]),
                class: edge.class.as_str(),
                field: edge.field.as_ref().map(|field| field.replace('_', " ")),
            });
        }
    }
    let entity = |(number, node): (usize, &Node)| {
        let mut joined = joined.remove(&number).unwrap_or_default();
        let more = joined.len().saturating_sub(MOST_JOINED);
        joined.truncate(MOST_JOINED);
        drawn.contains(&number).then(|| Entity {
            number,
            kind: node.kind.replace('_', " "),
            label: label(node),
            name: node.display_name.as_deref().map(|name| plain(name).into_owned()),
            joined,
            more,
        })
    };
    graph.nodes.iter().enumerate().filter_map(entity).collect()
}
