//! The graph of what joins the results, as a list.

use std::collections::{BTreeMap, HashMap, HashSet};

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
    /// The number of entities that are left out.
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
        let nodes: HashMap<Uuid, (usize, &Node)> =
            graph.nodes.iter().enumerate().map(|(place, node)| (node.id, (place, node))).collect();
        let is_named = |edge: &&Edge| matches!(edge.class, EdgeClass::Verified | EdgeClass::Stated);
        let mut edges: Vec<&Edge> = graph.edges.iter().filter(is_named).collect();
        // Verified links come first.
        edges.sort_by_key(|edge| edge.class);
        let mut entities: BTreeMap<usize, Entity<'g>> = BTreeMap::new();
        let mut seen = HashSet::new();
        for edge in edges {
            let (Some(from), Some(to)) = (nodes.get(&edge.from), nodes.get(&edge.to)) else { continue };
            let is_new = seen.insert((edge.from, edge.to, edge.class, &edge.field));
            for ((place, node), (_, other), how) in [(from, to, "names"), (to, from, "is named by")] {
                if is_new && (entities.len() < MOST || entities.contains_key(place)) {
                    let entity = entities.entry(*place).or_insert(Entity { node, links: Vec::new() });
                    entity.links.push(Link { how, other, edge });
                }
            }
        }
        let more = graph.nodes.len() - entities.len();
        Self { entities: entities.into_values().collect(), more, run }
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
