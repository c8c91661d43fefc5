//! The page of what joins the results of a run: its graph as a list.

use std::sync::Arc;

use askama::Template;

use super::find;
use crate::http::Reply;
use crate::model::run::RunSummary;
use crate::report::Format;
use crate::report::html::{GraphList, titled};
use crate::runs::graph::Graph;
use crate::web::{Answer, Frame, Visit, Web, render};

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
    let run = find(web, &visit, "run_id")?;
    let format = visit.form.get("format");
    if !format.is_empty() {
        let format = Format::among(Format::OF_GRAPHS, Some(format))?;
        let name = if format == Format::Graphml { "graph.graphml" } else { "graph.json" };
        let disposition = format!("attachment; filename=\"{name}\"");
        let file = web.graph_file(run, true, format)?;
        return Ok(Reply::Now(file.with_header("Content-Disposition", disposition)));
    }
    let graph = web.of_family(web.runs.record(run.clone())?, true, Graph::of)?;
    render(&Page { frame: visit.frame, run, graph: GraphList::new(&graph, None) })
}
