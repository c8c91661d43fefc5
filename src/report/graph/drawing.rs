//! The drawing of a graph: the search in the middle, and around it what its results name, in rings. The server
//! calculates the coordinates, so that the drawing needs no script and no inline style.
//!
//! Accounts that have only the searched name in common are not drawn, because nothing joins them: they are counted.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::f64::consts::TAU;

use uuid::Uuid;

use crate::base::text::plain;
use crate::runs::graph::{self, Edge, EdgeClass, Graph, Node};

/// The most entities of a drawing. The list below it has more.
const MOST: usize = 80;
/// The distance between two rings, and the space around the drawing, in units of the drawing.
const RING: f64 = 220.0;
const MARGIN: f64 = 210.0;
/// The least distance between two entities on a ring.
const GAP: f64 = 22.0;
/// The most characters of a label.
const LABEL: usize = 24;

/// The drawing.
#[derive(Debug, PartialEq)]
pub struct Drawing {
    /// The width and the height.
    pub size: u32,
    /// The entities.
    pub dots: Vec<Dot>,
    /// What joins them.
    pub lines: Vec<Line>,
    /// The number of entities that are left out.
    pub hidden: usize,
}

/// An entity.
#[derive(Debug, PartialEq)]
pub struct Dot {
    /// The position of the entity in the graph.
    pub number: usize,
    /// The kind of the entity.
    pub kind: &'static str,
    /// The label, with printable characters only.
    pub label: String,
    /// The coordinates.
    pub x: u32,
    /// The coordinates.
    pub y: u32,
    /// Whether the label is to the left of the dot.
    pub is_left: bool,
    /// The coordinate of the label.
    pub text_x: u32,
    /// The angle of the label in degrees. It points away from the middle, so that labels do not overlap.
    pub turn: i32,
}

/// What joins two entities.
#[derive(Debug, PartialEq)]
pub struct Line {
    /// How the entities are joined.
    pub class: EdgeClass,
    /// The position of an entity in the graph, and of the other one.
    pub from: usize,
    /// See `from`.
    pub to: usize,
    /// The coordinates of both ends.
    pub x1: u32,
    /// See `x1`.
    pub y1: u32,
    /// See `x1`.
    pub x2: u32,
    /// See `x1`.
    pub y2: u32,
}

impl Drawing {
    /// Makes the drawing. The same graph gives the same one.
    pub fn new(graph: &Graph) -> Self {
        let tree = Tree::new(graph);
        let places = tree.places();
        let size = places.values().map(|(x, y)| x.hypot(*y)).fold(RING, f64::max) + MARGIN;
        let at = |id: &Uuid| places.get(id).map(|(x, y)| (whole(x + size), whole(y + size)));
        let numbers: HashMap<Uuid, usize> =
            graph.nodes.iter().enumerate().map(|(number, node)| (node.id, number)).collect();
        let dot = |(number, node): (usize, &Node)| {
            let (x, y) = at(&node.id)?;
            let is_left = f64::from(x) + 1.0 < size;
            let (from_middle_x, from_middle_y) = places[&node.id];
            let turn = (from_middle_y / from_middle_x).atan().to_degrees();
            Some(Dot {
                number,
                kind: node.kind,
                label: label(node),
                x,
                y,
                is_left,
                text_x: if is_left { x.saturating_sub(12) } else { x + 12 },
                turn: degrees(turn),
            })
        };
        let dots: Vec<Dot> = graph.nodes.iter().enumerate().filter_map(dot).collect();
        let mut drawn = HashSet::new();
        let line = |edge: &Edge| {
            let ((x1, y1), (x2, y2)) = (at(&edge.from)?, at(&edge.to)?);
            let (from, to) = (*numbers.get(&edge.from)?, *numbers.get(&edge.to)?);
            Some(Line { class: edge.class, from, to, x1, y1, x2, y2 })
        };
        // One line for the strongest class between two entities.
        let mut edges: Vec<&Edge> = graph.edges.iter().collect();
        edges.sort_by_key(|edge| (edge.class, edge.from, edge.to));
        let is_new = |edge: &&Edge| drawn.insert((edge.from.min(edge.to), edge.from.max(edge.to)));
        let lines = edges.into_iter().filter(is_new).filter_map(line).collect();
        let hidden = graph.nodes.len() - dots.len();
        Self { size: whole(size * 2.0), dots, lines, hidden }
    }
}

fn label(node: &Node) -> String {
    let text = graph::label(node.platform.as_deref(), &node.value);
    let text = plain(&text);
    let short: String = text.chars().take(LABEL).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// Returns a coordinate as a whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is a coordinate above 0"
)]
pub fn whole(value: f64) -> u32 {
    value.round().max(0.0) as u32
}

/// Returns an angle as whole degrees: 0 for the middle of the drawing, which has none.
#[expect(clippy::cast_possible_truncation, reason = "the value is from -90 to 90")]
fn degrees(turn: f64) -> i32 {
    if turn.is_finite() { turn.round() as i32 } else { 0 }
}

/// Returns the entities that a link joins: verified links first, as many as a drawing can show.
fn linked(graph: &Graph) -> HashSet<Uuid> {
    let mut links: Vec<&Edge> = graph.edges.iter().filter(|edge| edge.class != EdgeClass::SameName).collect();
    links.sort_by_key(|edge| (edge.class, edge.from, edge.to));
    let mut linked = HashSet::new();
    for edge in links {
        if linked.len() < MOST {
            linked.extend([edge.from, edge.to]);
        }
    }
    linked
}

/// The entities to draw, each below the one through which it is reached from the search.
struct Tree {
    roots: Vec<Uuid>,
    below: HashMap<Uuid, Vec<Uuid>>,
}

impl Tree {
    fn new(graph: &Graph) -> Self {
        let linked = linked(graph);
        let mut near: BTreeMap<Uuid, Vec<Uuid>> = BTreeMap::new();
        for edge in &graph.edges {
            near.entry(edge.from).or_default().push(edge.to);
            near.entry(edge.to).or_default().push(edge.from);
        }
        let roots: Vec<Uuid> =
            graph.nodes.iter().filter(|it| it.query_type.is_some()).map(|it| it.id).collect();
        let mut seen: HashSet<Uuid> = roots.iter().copied().collect();
        let mut below: HashMap<Uuid, Vec<Uuid>> = HashMap::new();
        let mut waiting: VecDeque<Uuid> = roots.iter().copied().collect();
        while let Some(id) = waiting.pop_front() {
            for other in near.get(&id).into_iter().flatten() {
                if linked.contains(other) && seen.insert(*other) {
                    below.entry(id).or_default().push(*other);
                    waiting.push_back(*other);
                }
            }
        }
        Self { roots, below }
    }

    /// Returns the coordinates of each entity around the middle.
    fn places(&self) -> HashMap<Uuid, (f64, f64)> {
        let mut places = HashMap::new();
        let all: f64 = self.roots.iter().map(|root| self.leaves(root)).sum();
        // The first ring is as large as its entities need.
        let ring = RING.max(all * GAP / TAU);
        let mut start = 0.0;
        for root in &self.roots {
            let span = TAU * self.leaves(root) / all.max(1.0);
            let distance = if self.roots.len() == 1 { 0.0 } else { ring };
            self.place(root, (start, span), distance, ring, &mut places);
            start += span;
        }
        places
    }

    fn place(
        &self,
        id: &Uuid,
        (start, span): (f64, f64),
        distance: f64,
        ring: f64,
        places: &mut HashMap<Uuid, (f64, f64)>,
    ) {
        let angle = start + span / 2.0;
        places.insert(*id, (distance * angle.cos(), distance * angle.sin()));
        let all = self.leaves(id);
        let mut at = start;
        for child in self.below.get(id).into_iter().flatten() {
            let share = span * self.leaves(child) / all;
            self.place(child, (at, share), distance + ring, ring.min(RING), places);
            at += share;
        }
    }

    /// Returns the number of entities at the end of the branches below one.
    fn leaves(&self, id: &Uuid) -> f64 {
        let below = self.below.get(id).into_iter().flatten();
        below.map(|child| self.leaves(child)).sum::<f64>().max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::RunId;
    use crate::modules::definition::ResultType;
    use crate::modules::query::SearchType;

    fn node(number: u128, query_type: Option<SearchType>) -> Node {
        Node {
            id: Uuid::from_u128(number),
            kind: if query_type.is_some() { "query" } else { "account" },
            query_type,
            value: format!("name\u{202e}{number}"),
            platform: None,
            display_name: None,
            confidence: 1.0,
            runs: Vec::new(),
            results: Vec::new(),
            entity_kind: ResultType::Account,
            seen: None,
        }
    }

    fn edge(from: u128, to: u128, class: EdgeClass) -> Edge {
        Edge {
            from: Uuid::from_u128(from),
            to: Uuid::from_u128(to),
            class,
            field: None,
            run_id: RunId::new(),
            result_id: 1,
            at: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn what_is_linked_is_drawn_apart_and_the_rest_is_counted() {
        let mut nodes = vec![node(0, Some(SearchType::Username))];
        nodes.extend((1..=40).map(|number| node(number, None)));
        let mut edges: Vec<Edge> = (1..=20).map(|to| edge(0, to, EdgeClass::SameName)).collect();
        // Ten accounts name two others each, one of them in a circle.
        edges.extend(
            (1..=10)
                .flat_map(|from| [(from, from + 20), (from, from + 30)])
                .map(|(from, to)| edge(from, to, EdgeClass::Stated)),
        );
        edges.push(edge(21, 1, EdgeClass::Verified));
        let drawing = Drawing::new(&Graph { nodes, edges, links_omitted: 0 });
        assert_eq!((drawing.dots.len(), drawing.hidden), (31, 10));
        for (index, one) in drawing.dots.iter().enumerate() {
            assert!(one.x <= drawing.size && one.y <= drawing.size, "{one:?}");
            assert!(!one.label.contains('\u{202e}'));
            for other in &drawing.dots[index + 1..] {
                assert!(one.x.abs_diff(other.x) + one.y.abs_diff(other.y) > 12, "{one:?} {other:?}");
            }
        }
        // The line between 1 and 21 has the stronger class.
        assert_eq!(drawing.lines.iter().filter(|line| line.class == EdgeClass::Verified).count(), 1);
        assert_eq!(drawing.lines.len(), 30);
    }

    #[test]
    fn a_graph_without_links_is_the_search_alone() {
        let nodes = vec![node(0, Some(SearchType::Username)), node(1, None)];
        let graph = Graph { nodes, edges: vec![edge(0, 1, EdgeClass::SameName)], links_omitted: 0 };
        let drawing = Drawing::new(&graph);
        assert_eq!((drawing.dots.len(), drawing.lines.len(), drawing.hidden), (1, 0, 1));
    }
}
