//! The people among the results of a run, and the graph of what joins its results.

use std::collections::HashMap;

use super::markup::Markup;
use crate::modules::catalog::Catalog;
use crate::report::graph::drawing::Drawing;
use crate::runs::graph::{Graph, Node};
use crate::runs::people::people;
use crate::runs::people::person::{Person, PersonAccount};
use crate::runs::record::RunRecord;

/// The most people, and the most reasons of each.
const MOST_PEOPLE: usize = 20;
const MOST_REASONS: usize = 30;

/// Writes a card for each person, for the overview.
pub(super) fn write(page: &mut Markup, run: &RunRecord, catalog: &Catalog) {
    let Some(findings) = run.findings() else { return };
    let found = people(&[findings], catalog.profiles());
    if found.people.is_empty() {
        return;
    }
    page.raw("<section class=\"part\">\n<h3>People</h3>\n<p class=\"faint\">Accounts that probably belong together, with the ")
        .raw("reasons. The same username alone is no reason.</p>\n<ul class=\"persons\">\n");
    found.people.iter().take(MOST_PEOPLE).for_each(|one| person(page, one));
    page.raw("</ul>\n");
    if found.people.len() > MOST_PEOPLE {
        page.raw("<p>").show(found.people.len() - MOST_PEOPLE).raw(" more people are in the files.</p>\n");
    }
    page.raw("</section>\n");
}

/// Writes the graph of what joins the results as a section. It is left out if nothing joins them.
pub(super) fn write_graph_section(page: &mut Markup, run: &RunRecord, catalog: &Catalog) {
    let Some(findings) = run.findings() else { return };
    let graph = Graph::of(&[findings], catalog.profiles());
    let drawing = Drawing::new(&graph);
    if drawing.lines.is_empty() {
        return;
    }
    page.raw("<section>\n<h2>Graph</h2>\n");
    let results: HashMap<usize, u32> = first_results(&graph.nodes);
    write_graph(page, &drawing, "Each entity leads to its result.", |number| {
        results.get(&number).map(|id| format!("#result-{id}"))
    });
    page.raw("<p class=\"faint\">A solid line is verified, a dashed one stated.</p>\n</section>\n");
}

fn first_results(nodes: &[Node]) -> HashMap<usize, u32> {
    let first = |(number, node): (usize, &Node)| Some((number, node.results.first()?.result_id));
    nodes.iter().enumerate().filter_map(first).collect()
}

fn person(page: &mut Markup, person: &Person) {
    let title = person.names.first().or(person.accounts.first().map(|account| &account.value));
    page.raw("<li>\n<p><strong><bdi>")
        .text(title.map_or("", String::as_str))
        .raw("</bdi></strong> <span class=\"faint\">");
    page.text(person.band.as_str()).raw(", ").show(format_args!("{:.0}%", person.score * 100.0));
    page.raw("</span></p>\n<ul>\n");
    person.accounts.iter().for_each(|one| account(page, one));
    page.raw("</ul>\n");
    if !person.emails.is_empty() {
        page.raw("<p><bdi>").text(&person.emails.join(", ")).raw("</bdi></p>\n");
    }
    reasons(page, "Why", person.evidence.iter().map(|it| it.text.as_str()));
    reasons(page, "What speaks against it", person.conflicts.iter().map(|it| it.text.as_str()));
    page.raw("</li>\n");
}

fn account(page: &mut Markup, account: &PersonAccount) {
    page.raw("<li>");
    if let Some(platform) = &account.platform {
        page.raw("<bdi>").text(platform).raw("</bdi>: ");
    }
    match account.results.first() {
        Some(result) => page
            .raw("<a href=\"#result-")
            .show(result.result_id)
            .raw("\"><bdi>")
            .text(&account.value)
            .raw("</bdi></a>"),
        None => page.isolated(&account.value),
    };
    if let Some(name) = &account.display_name {
        page.raw(" <span class=\"faint\"><bdi>").text(name).raw("</bdi></span>");
    }
    page.raw("</li>\n");
}

fn reasons<'r>(page: &mut Markup, title: &'static str, lines: impl Iterator<Item = &'r str>) {
    let mut lines = lines.take(MOST_REASONS).peekable();
    if lines.peek().is_none() {
        return;
    }
    page.raw("<details>\n<summary>").raw(title).raw("</summary>\n<ul>\n");
    lines.for_each(|line| {
        page.raw("<li><bdi>").text(line).raw("</bdi></li>\n");
    });
    page.raw("</ul>\n</details>\n");
}

/// Returns a drawing of a graph as SVG for the web app, in which each entity leads to the element `e-NUMBER`.
pub fn graph(drawing: &Drawing) -> String {
    let mut page = Markup::default();
    let hint = "Each entity leads to its entry in the list below.";
    write_graph(&mut page, drawing, hint, |number| Some(format!("#e-{number}")));
    page.into_string()
}

fn write_graph(
    page: &mut Markup,
    drawing: &Drawing,
    hint: &'static str,
    address: impl Fn(usize) -> Option<String>,
) {
    page.raw("<svg class=\"graph\" data-graph viewBox=\"0 0 ").show(drawing.size).raw(" ").show(drawing.size);
    page.raw("\" role=\"group\" aria-label=\"Graph of the search. ").raw(hint).raw("\">\n");
    for line in &drawing.lines {
        page.raw("<line class=\"")
            .text(line.class.as_str())
            .raw("\" data-from=\"")
            .show(line.from)
            .raw("\" data-to=\"")
            .show(line.to);
        page.raw("\" x1=\"")
            .show(line.x1)
            .raw("\" y1=\"")
            .show(line.y1)
            .raw("\" x2=\"")
            .show(line.x2)
            .raw("\" y2=\"")
            .show(line.y2)
            .raw("\"/>");
    }
    for dot in &drawing.dots {
        let address = address(dot.number);
        if let Some(address) = &address {
            page.raw("\n<a href=\"").text(address).raw("\" data-dot=\"").show(dot.number).raw("\">");
        }
        page.raw("<circle class=\"")
            .text(dot.kind)
            .raw("\" cx=\"")
            .show(dot.x)
            .raw("\" cy=\"")
            .show(dot.y)
            .raw("\" r=\"8\"/>");
        page.raw("<text x=\"").show(dot.text_x).raw("\" y=\"").show(dot.y);
        page.raw(if dot.is_left { "\" text-anchor=\"end" } else { "" })
            .raw("\" dominant-baseline=\"middle\" transform=\"rotate(");
        page.show(dot.turn)
            .raw(" ")
            .show(dot.x)
            .raw(" ")
            .show(dot.y)
            .raw(")\">")
            .text(&dot.label)
            .raw("</text>");
        page.raw(if address.is_some() { "</a>" } else { "" });
    }
    page.raw("\n</svg>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::graph::drawing::{Dot, Line};
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
        let shown = graph(&Drawing { size: 50, dots: vec![dot], lines: vec![line], hidden: 0 });
        assert!(shown.contains("<line class=\"verified\" data-from=\"3\" data-to=\"4\""), "{shown}");
        assert!(
            shown.contains("<a href=\"#e-3\" data-dot=\"3\">") && shown.contains("&lt;b&gt;&quot;"),
            "{shown}"
        );
        assert!(shown.contains("text-anchor=\"end\" dominant-baseline"), "{shown}");
    }
}
