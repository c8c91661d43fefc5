//! GraphML (<http://graphml.graphdrawing.org/>).

use std::io::{self, Write};

use super::about::About;
use crate::base::clock::rfc3339_millis;
use crate::base::text::xml;
use crate::runs::graph::{Edge, Graph, Node, label};

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
  <key id="about" for="graph" attr.name="about" attr.type="string"/>
  <key id="coverage" for="graph" attr.name="coverage" attr.type="string"/>
  <key id="label" for="node" attr.name="label" attr.type="string"/>
  <key id="kind" for="node" attr.name="kind" attr.type="string"/>
  <key id="value" for="node" attr.name="value" attr.type="string"/>
  <key id="platform" for="node" attr.name="platform" attr.type="string"/>
  <key id="display_name" for="node" attr.name="display_name" attr.type="string"/>
  <key id="confidence" for="node" attr.name="confidence" attr.type="double"/>
  <key id="first_seen" for="node" attr.name="first_seen" attr.type="string"/>
  <key id="last_seen" for="node" attr.name="last_seen" attr.type="string"/>
  <key id="results" for="node" attr.name="results" attr.type="int"/>
  <key id="class" for="edge" attr.name="class" attr.type="string"/>
  <key id="field" for="edge" attr.name="field" attr.type="string"/>
  <key id="run_id" for="edge" attr.name="run_id" attr.type="string"/>
  <key id="result_id" for="edge" attr.name="result_id" attr.type="int"/>
  <graph id="sightline" edgedefault="directed">
"#;

/// Writes the graph, with what `about` says of the run. A node is `n` and its id, because an XML id must not begin with a
/// digit.
pub(super) fn write(out: &mut dyn Write, graph: &Graph, about: Option<&About>) -> io::Result<()> {
    out.write_all(HEAD.as_bytes())?;
    if let Some(about) = about {
        data(out, "about", &about.head)?;
        data(out, "coverage", &about.coverage)?;
    }
    graph.nodes.iter().try_for_each(|node| write_node(out, node))?;
    for (index, edge) in graph.edges.iter().enumerate() {
        write_edge(out, index, edge)?;
    }
    out.write_all(b"  </graph>\n</graphml>\n")
}

fn write_node(out: &mut dyn Write, node: &Node) -> io::Result<()> {
    writeln!(out, "    <node id=\"n{}\">", node.id)?;
    data(out, "label", &label(node.platform.as_deref(), &node.value))?;
    data(out, "kind", node.kind)?;
    data(out, "value", &node.value)?;
    if let Some(platform) = &node.platform {
        data(out, "platform", platform)?;
    }
    if let Some(name) = &node.display_name {
        data(out, "display_name", name)?;
    }
    data(out, "confidence", &node.confidence.to_string())?;
    if let Some((first, last)) = node.seen {
        data(out, "first_seen", &rfc3339_millis(first))?;
        data(out, "last_seen", &rfc3339_millis(last))?;
    }
    data(out, "results", &node.results.len().to_string())?;
    writeln!(out, "    </node>")
}

fn write_edge(out: &mut dyn Write, index: usize, edge: &Edge) -> io::Result<()> {
    writeln!(out, "    <edge id=\"e{index}\" source=\"n{}\" target=\"n{}\">", edge.from, edge.to)?;
    data(out, "class", edge.class.as_str())?;
    if let Some(field) = &edge.field {
        data(out, "field", field)?;
    }
    data(out, "run_id", &edge.run_id.to_string())?;
    data(out, "result_id", &edge.result_id.to_string())?;
    writeln!(out, "    </edge>")
}

fn data(out: &mut dyn Write, key: &str, value: &str) -> io::Result<()> {
    let mut text = String::with_capacity(value.len());
    xml(value, &mut text);
    writeln!(out, "      <data key=\"{key}\">{text}</data>")
}
