//! The graph of what joins the results, as a list.

use std::collections::{HashMap, HashSet};

use askama::Template;
use uuid::Uuid;

use crate::base::ids::RunId;
use crate::runs::graph::{Edge, EdgeClass, Graph, Node, label};

/// The most entities of the list, and the most links of each that are shown. Files have all.
const MOST: usize = 80;
const MOST_LINKS: usize = 20;

/// The entities that profiles name, and those that name them. What only the search has found has nothing but the search in
/// common, so it is not listed.
#[derive(Template)]
#[template(path = "graph.html", config = "src/report/html/askama.toml")]
pub struct GraphList<'g> {
    entities: Vec<Entity<'g>>,
    /// The number of omitted entities.
    more: usize,
    /// The run whose results are on the same page, as the elements `result-ID`.
    run: Option<RunId>,
}

struct Entity<'g> {
    node: &'g Node,
    links: Vec<Link<'g>>,
}

/// A link of an entity to the other one.
struct Link<'g> {
    how: &'static str,
    other: &'g Node,
    edge: &'g Edge,
}

impl<'g> GraphList<'g> {
    /// Makes the list. `run` is the run whose results are on the same page.
    pub fn new(graph: &'g Graph, run: Option<RunId>) -> Self {
        let places: HashMap<Uuid, usize> =
            graph.nodes.iter().enumerate().map(|(place, node)| (node.id, place)).collect();
        let is_named = |edge: &&Edge| matches!(edge.class, EdgeClass::Verified | EdgeClass::Stated);
        let mut edges: Vec<&Edge> = graph.edges.iter().filter(is_named).collect();
        // Verified links come first.
        edges.sort_by_key(|edge| edge.class);
        let mut entities: Vec<Entity<'g>> =
            graph.nodes.iter().map(|node| Entity { node, links: Vec::new() }).collect();
        let mut seen = HashSet::new();
        edges.retain(|edge| seen.insert((edge.from, edge.to, edge.class, &edge.field)));
        for edge in edges {
            let (Some(&from), Some(&to)) = (places.get(&edge.from), places.get(&edge.to)) else { continue };
            entities[from].links.push(Link { how: "names", other: &graph.nodes[to], edge });
            entities[to].links.push(Link { how: "is named by", other: &graph.nodes[from], edge });
        }
        entities.retain(|entity| !entity.links.is_empty());
        entities.truncate(MOST);
        Self { more: graph.nodes.len() - entities.len(), entities, run }
    }

    /// Returns whether nothing joins the results.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    fn is_listed(&self, id: &Uuid) -> bool {
        self.entities.iter().any(|entity| entity.node.id == *id)
    }

    /// Returns the first result of an entity on the page.
    fn result(&self, node: &Node) -> Option<u32> {
        node.results.iter().find(|result| Some(result.run_id) == self.run).map(|result| result.result_id)
    }
}

fn name(node: &Node) -> String {
    label(node.platform.as_deref(), &node.value)
}
