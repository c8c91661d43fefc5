//! The page of what the results of a run point to: its people, its leads, and its graph.

use std::sync::Arc;

use askama::Template;

use super::family::TreeView;
use super::find;
use super::leads::{LeadRow, Owners};
use super::people::{MOST_LINES, MOST_PEOPLE, PeopleView, account_label, one, tone};
use crate::http::{Reply, Response};
use crate::report::Format;
use crate::report::html::{GraphList, initial};
use crate::runs::graph::Graph;
use crate::runs::people::people;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::pages::run_row::RunRow;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The most leads of a page. Files contain all.
const MOST_LEADS: usize = 100;

#[derive(Template)]
#[template(path = "graph.html", config = "src/web/askama.toml")]
struct Page<'g> {
    frame: Frame,
    run: RunRow,
    people: PeopleView,
    tree: TreeView,
    leads: Vec<LeadRow>,
    /// The number of leads that the page leaves out.
    more_leads: usize,
    graph: GraphList<'g>,
    formats: [(Format, &'static str); 3],
}

/// The formats of the file.
const FORMATS: [(Format, &str); 3] = [
    (Format::Graphml, "GraphML, for Gephi, yEd and Neo4j"),
    (Format::Stix, "STIX 2.1 bundle"),
    (Format::Json, "Nodes and edges (JSON)"),
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
    Ok(Reply::Now(render(&Page {
        run: RunRow::new(&summary, web.parts.clock.now()),
        people: PeopleView::new(people(&findings, profiles), &findings),
        tree: TreeView::new(web, &summary, &family.tree()),
        more_leads: found.len().saturating_sub(MOST_LEADS),
        leads: found.iter().take(MOST_LEADS).map(row).collect(),
        graph: GraphList::new(&graph, None),
        formats: FORMATS,
        frame: visit.frame,
    })))
}

fn file(graph: &Graph, format: &str) -> Result<Response, WebError> {
    let format = Format::among(Format::OF_GRAPHS, format)
        .ok_or_else(|| WebError::invalid("A graph can be downloaded as json, graphml or stix."))?;
    let mut bytes = Vec::new();
    // This cannot fail: a Vec accepts all bytes, and the graph contains only numbers and strings.
    format.write_graph(&mut bytes, graph).map_err(WebError::internal)?;
    let name = if format == Format::Graphml { "graph.graphml" } else { "graph.json" };
    Ok(Response::new(200, format.media_type(), bytes)
        .with_header("Content-Disposition", format!("attachment; filename=\"{name}\"")))
}
