//! The graph of what joins the results, as a drawing.

use std::collections::HashMap;

use askama::Template;

use crate::modules::catalog::Catalog;
use crate::report::graph::drawing::{Dot, Drawing};
use crate::runs::graph::{Graph, Node};
use crate::runs::record::RunRecord;

/// A drawing of a graph as SVG.
#[derive(Template)]
#[template(path = "graph.html", config = "src/report/html/askama.toml")]
pub struct GraphSvg {
    drawing: Drawing,
    /// The first result of each entity, to which the entity leads. `None`: each entity leads to the element `e-NUMBER`.
    results: Option<HashMap<usize, u32>>,
}

impl GraphSvg {
    /// Returns a drawing for the web app, in which each entity leads to the element `e-NUMBER`.
    pub fn new(drawing: Drawing) -> Self {
        Self { drawing, results: None }
    }

    /// Returns the drawing of a run, in which each entity leads to its result. Returns `None` if nothing joins the results.
    pub(super) fn of_run(run: &RunRecord, catalog: &Catalog) -> Option<Self> {
        let graph = Graph::of(&[run.findings()?], catalog.profiles());
        let drawing = Drawing::new(&graph);
        let first = |(number, node): (usize, &Node)| Some((number, node.results.first()?.result_id));
        let results = graph.nodes.iter().enumerate().filter_map(first).collect();
        (!drawing.lines.is_empty()).then_some(Self { drawing, results: Some(results) })
    }

    fn address(&self, dot: &Dot) -> Option<String> {
        match &self.results {
            None => Some(format!("#e-{}", dot.number)),
            Some(results) => results.get(&dot.number).map(|id| format!("#result-{id}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::graph::drawing::Line;
    use crate::runs::graph::EdgeClass;

    #[test]
    fn a_drawing_names_its_lines_and_escapes_its_labels() {
        let dot = Dot {
            number: 3,
            kind: "account",
            label: "<b>\"".into(),
            x: 9,
            y: 8,
            is_left: true,
            text_x: 1,
            turn: -5,
        };
        let line = Line { class: EdgeClass::Verified, from: 3, to: 4, x1: 1, y1: 2, x2: 3, y2: 4 };
        let drawing = Drawing { size: 50, dots: vec![dot], lines: vec![line], hidden: 0 };
        let shown = GraphSvg::new(drawing).to_string();
        assert!(shown.contains("<line class=\"verified\" data-from=\"3\" data-to=\"4\""), "{shown}");
        assert!(
            shown.contains("<a href=\"#e-3\" data-dot=\"3\">") && shown.contains("&#60;b&#62;&#34;"),
            "{shown}"
        );
        assert!(shown.contains("text-anchor=\"end\" dominant-baseline"), "{shown}");
    }
}
