// Draws the graph of a run, which the page also has as a list. Cytoscape is loaded before this script, on this page alone.
"use strict";

const SHAPES = { query: "star", account: "ellipse", email: "diamond", domain: "hexagon" };
const section = document.querySelector("[data-graph]");
const { people, nodes, edges } = JSON.parse(section.dataset.graph);
const style = getComputedStyle(section);
const colour = (name) => style.getPropertyValue(`--${name}`).trim();

section.hidden = false;
document.querySelector("#entities").removeAttribute("open");
const box = section.querySelector(".graph-box");
// The height follows the content.
if (nodes.length > 12) box.classList.add("large");

// A band from the first account of a person to each other one.
const bands = people.flatMap((_, person) => {
  const [first, ...others] = nodes.filter((node) => node.person === person);
  return others.map(({ id }) => ({ data: { source: first.id, target: id, class: "band" }, classes: "band" }));
});

const drawn = cytoscape({
  container: box,
  elements: [
    ...nodes.map((node) => ({
      data: { ...node, label: node.person === null ? node.label : `${node.label} (${people[node.person]})` },
      classes: `${node.picture ? "pictured" : ""} ${node.person === null ? "" : "joined"}`,
    })),
    ...bands,
    ...edges.map((edge, at) => ({ data: { ...edge, id: `edge-${at}` }, classes: edge.class })),
  ],
  style: [
    { selector: "node", style: {
      label: "data(label)", width: 44, height: 44, shape: (node) => SHAPES[node.data("kind")] ?? "round-rectangle",
      "background-color": colour("line-strong"), "border-width": 2, "border-color": colour("accent"), color: colour("ink"),
      "font-size": 20, "min-zoomed-font-size": 6, "text-valign": "bottom", "text-margin-y": 4, "text-max-width": 220, "text-wrap": "ellipsis",
      "text-background-color": colour("card"), "text-background-opacity": 0.8,
    } },
    { selector: "[kind = 'query']", style: { width: 60, height: 60, "background-color": colour("accent"), "font-weight": "bold" } },
    { selector: "[?isFound]", style: { "background-color": colour("accent-soft") } },
    { selector: ".pictured", style: { "background-image": "data(picture)", "background-fit": "cover", shape: "round-rectangle" } },
    { selector: ".joined", style: { "border-color": colour("good"), "border-width": 4 } },
    { selector: "edge", style: { width: 1, "line-color": colour("line-strong"), "curve-style": "bezier", "target-arrow-color": colour("line-strong") } },
    { selector: ".band", style: { width: 12, "line-color": colour("good"), "line-opacity": 0.25, "line-cap": "round" } },
    { selector: ".verified", style: { width: 3, "line-color": colour("good"), "target-arrow-color": colour("good"), "target-arrow-shape": "triangle" } },
    { selector: ".stated", style: { "line-style": "dashed", "target-arrow-shape": "triangle" } },
    { selector: ":selected", style: { "border-color": colour("bad"), "border-width": 4 } },
  ],
  minZoom: 0.2,
  maxZoom: 3,
  wheelSensitivity: 0.3,
});

// Shows what the reader has chosen: edges of some classes, and the nodes that they join.
function choose() {
  const chosen = new Set([...section.querySelectorAll("input:checked")].map((input) => input.name)).add("band");
  drawn.batch(() => {
    for (const edge of drawn.edges()) edge.style("display", chosen.has(edge.data("class")) ? "element" : "none");
    for (const node of drawn.nodes()) {
      node.style("display", node.connectedEdges().some((edge) => chosen.has(edge.data("class"))) ? "element" : "none");
    }
  });
  const shown = drawn.elements(":visible");
  // The same graph is drawn alike each time, and as wide as the box.
  shown.nodes().positions((_, at) => {
    const far = Math.sqrt(at + 1) / 4;
    return { x: box.clientWidth * far * Math.cos(at * 2.4), y: box.clientHeight * far * Math.sin(at * 2.4) };
  });
  shown.layout({
    name: "cose", animate: false, randomize: false, nodeDimensionsIncludeLabels: true, padding: 24, numIter: Math.min(1_000, 100_000 / shown.length),
    idealEdgeLength: (edge) => (edge.data("class") === "same_name" ? 220 : 70), nodeRepulsion: () => 40_000, nodeOverlap: 24, gravity: 0.4,
  }).run();
  // The layout is as high as wide, and the box is not.
  const { w, h } = shown.boundingBox();
  const wider = Math.max(1, (box.clientWidth * h) / (box.clientHeight * w));
  shown.nodes().positions((node) => ({ x: node.position("x") * wider, y: node.position("y") }));
  drawn.fit(shown, 24);
}

section.addEventListener("input", choose);
for (const [name, factor] of [["in", 1.3], ["out", 1 / 1.3]]) {
  section.querySelector(`[data-zoom=${name}]`).addEventListener("click", () => {
    drawn.zoom({ level: drawn.zoom() * factor, renderedPosition: { x: box.clientWidth / 2, y: box.clientHeight / 2 } });
  });
}
section.querySelector("[data-zoom=fit]").addEventListener("click", () => drawn.fit(drawn.elements(":visible"), 24));
drawn.on("tap", "node", ({ target }) => {
  const { href, label, name } = target.data();
  const link = section.querySelector("[data-part=chosen]");
  link.textContent = name ? `${label}, ${name}` : label;
  link.toggleAttribute("href", false);
  if (href) link.href = href;
});
choose();
