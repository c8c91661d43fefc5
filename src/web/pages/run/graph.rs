//! The page of what joins the results of a run: its graph as a list.

use std::sync::Arc;

use askama::Template;

use super::find;
use crate::http::{Reply, Response};
use crate::model::run::RunSummary;
use crate::report::Format;
use crate::report::html::{GraphList, titled};
use crate::runs::graph::Graph;
use crate::web::{Answer, Frame, Visit, Web, WebError, render};

#[derive(Template)]
#[template(path = "graph.html", config = "src/web/askama.toml")]
struct Page<'g> {
    frame: Frame,
    run: RunSummary,
    graph: GraphList<'g>,
}

/// Handles `GET /app/searches/{run_id}/graph`: shows the graph, or returns it as a file if `format` is given.
///
/// # Errors
/// Returns 400 for an unknown format, 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Answer {
    let record = web.runs.record(find(web, &visit, "run_id")?)?;
    let (run, catalog) = (record.summary.clone(), web.runs.catalog());
    let family = web.runs.family(record)?;
    let graph = Graph::of(&family.findings(), catalog.profiles());
    let format = visit.form.get("format");
    if !format.is_empty() {
        return file(&graph, format);
    }
    render(&Page { frame: visit.frame, run, graph: GraphList::new(&graph, None) })
}

fn file(graph: &Graph, format: &str) -> Answer {
    let format = Format::among(Format::OF_GRAPHS, Some(format))?;
    let mut bytes = Vec::new();
    // This cannot fail: a Vec accepts all bytes, and the graph contains only numbers and strings.
    format.write_graph(&mut bytes, graph, None).map_err(WebError::internal)?;
    let name = if format == Format::Graphml { "graph.graphml" } else { "graph.json" };
    let disposition = format!("attachment; filename=\"{name}\"");
    let response = Response::new(200, format.media_type(), bytes);
    Ok(Reply::Now(response.with_header("Content-Disposition", disposition)))
}
