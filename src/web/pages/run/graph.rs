//! The page of what the results of a run point to: its people, its leads, and its graph as a drawing and as a list.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use askama::Template;
use uuid::Uuid;

use super::family::TreeView;
use super::find;
use super::leads::{LeadRow, Owners, label};
use super::people::{MOST_LINES, MOST_PEOPLE, PeopleView, account_label, one, tone};
use crate::http::{Reply, Response};
use crate::report::graph::GraphFormat;
use crate::report::graph::drawing::Drawing;
use crate::report::html::{GraphSvg, initial};
use crate::runs::graph::{EdgeClass, Graph, Node};
use crate::runs::people::people;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::pages::run_row::RunRow;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The most leads of a page. Files contain all.
const MOST_LEADS: usize = 100;
/// The most entities that are joined to one and are shown.
const MOST_JOINED: usize = 20;

#[derive(Template)]
#[template(path = "graph.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    run: RunRow,
    people: PeopleView,
    tree: TreeView,
    leads: Vec<LeadRow>,
    /// The number of leads that the page leaves out.
    more_leads: usize,
    drawing: GraphSvg,
    /// The number of entities that are not drawn.
    hidden: usize,
    entities: Vec<Entity>,
    formats: [(GraphFormat, &'static str); 3],
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
    let summary = record.summary.clone();
    let family = runs.families.of(record)?;
    let findings = family.findings();
    let catalog = runs.catalog();
    let profiles = catalog.profiles();
    let graph = Graph::of(&findings, profiles);
    let query = visit.query();
    let format = query.get("format");
    if !format.is_empty() {
        return file(&graph, format).map(Reply::Now);
    }
    let found = runs.families.leads(&family).all;
    let owners = Owners::of(&graph);
    let row = |lead| LeadRow::new(&runs.families, &family, lead, &owners);
    let drawing = Drawing::new(&graph);
    Ok(Reply::Now(render(&Page {
        run: RunRow::new(&summary, web.parts.clock.now()),
        people: PeopleView::new(people(&findings, profiles), &findings),
        tree: TreeView::new(web, &summary, &family.tree()),
        more_leads: found.len().saturating_sub(MOST_LEADS),
        leads: found.iter().take(MOST_LEADS).map(row).collect(),
        entities: entities(&graph, &drawing),
        hidden: drawing.hidden,
        drawing: GraphSvg::new(drawing),
        formats: FORMATS,
        frame: visit.frame,
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
            name: node.display_name.clone(),
            joined,
            more,
        })
    };
    graph.nodes.iter().enumerate().filter_map(entity).collect()
}
