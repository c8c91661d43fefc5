//! The page of what joins the results of a run: its graph, drawn by a script, and as a list.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use askama::Template;
use serde::Serialize;
use uuid::Uuid;

use super::leads::Who;
use super::{earlier, find};
use crate::base::ids::RunId;
use crate::http::Reply;
use crate::model::run::RunSummary;
use crate::report::Format;
use crate::report::html::{GraphList, titled};
use crate::runs::graph::{Edge, EdgeClass, Graph, Node, label};
use crate::web::{Answer, Frame, Visit, Web, WebError, render};

#[derive(Template)]
#[template(path = "graph.html", config = "src/web/askama.toml")]
struct Page<'g> {
    frame: Frame,
    run: RunSummary,
    earlier: Option<RunId>,
    graph: GraphList<'g>,
    /// The [`Drawing`] as JSON.
    drawing: String,
}

/// What the script of the page draws.
#[derive(Serialize)]
struct Drawing {
    /// The names of the people.
    people: Vec<String>,
    nodes: Vec<DrawnNode>,
    edges: BTreeSet<DrawnEdge>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DrawnNode {
    id: Uuid,
    kind: &'static str,
    label: String,
    name: Option<String>,
    /// The address of its result, and that of its picture.
    href: Option<String>,
    picture: Option<String>,
    /// The place of its person among all.
    person: Option<usize>,
    /// Whether there is a result about it, or another one only names it.
    is_found: bool,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct DrawnEdge {
    source: Uuid,
    target: Uuid,
    class: EdgeClass,
}

impl Drawing {
    fn of(graph: &Graph, who: &Who, root: &str) -> Self {
        let people = who.people.people.iter().enumerate();
        let people =
            people.flat_map(|(at, person)| person.accounts.iter().map(move |account| (account.id, at)));
        let people: HashMap<Uuid, usize> = people.collect();
        let node = |node: &Node| DrawnNode {
            id: node.id,
            kind: node.kind,
            label: label(node.platform.as_deref(), &node.value),
            name: node.display_name.clone(),
            href: node
                .results
                .first()
                .map(|at| format!("{root}/app/searches/{}#result-{}", at.run_id, at.result_id)),
            picture: who.picture(&node.results).map(|path| format!("{root}{path}")),
            person: people.get(&node.id).copied(),
            is_found: !node.results.is_empty(),
        };
        let edge = |edge: &Edge| DrawnEdge { source: edge.from, target: edge.to, class: edge.class };
        let titles = who.people.people.iter().map(|person| person.title().to_owned()).collect();
        Self {
            people: titles,
            nodes: graph.nodes.iter().map(node).collect(),
            edges: graph.edges.iter().map(edge).collect(),
        }
    }
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
    let family = web.runs.family(web.runs.record(run.clone())?)?;
    let (findings, catalog) = (family.findings(), web.runs.catalog());
    let graph = Graph::of(&findings, catalog.profiles());
    let drawing = Drawing::of(&graph, &Who::of(&findings, catalog.profiles()), &web.root);
    let drawing = serde_json::to_string(&drawing).map_err(WebError::internal)?;
    let earlier = earlier(web, &run)?;
    render(&Page { frame: visit.frame, run, earlier, graph: GraphList::new(&graph, None), drawing })
}
