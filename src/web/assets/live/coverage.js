// The outcomes of modules: counts from the events, names and reasons from the server when the reader opens a list.

class Coverage {
  constructor(root, address) {
    this.root = root;
    this.loader = new Loader(address, ({ modules }) => this.list(modules));
    root.addEventListener("toggle", () => this.refresh(), true);
  }

  // The elements that the server rendered, one for each outcome.
  parts() {
    return this.root.querySelectorAll("[data-outcome]");
  }

  // Opens the list of an outcome.
  open(outcome) {
    for (const part of this.parts()) if (part.dataset.outcome === outcome) part.open = true;
  }

  // Shows the counts of a progress or done event.
  count(coverage) {
    for (const part of this.parts()) {
      const count = Number(coverage[part.dataset.outcome]) || 0;
      part.hidden = count === 0;
      part.querySelector(".count").textContent = count;
    }
    this.refresh();
  }

  // Loads the lists again if one of them is open.
  refresh() {
    if (this.root.querySelector("details[open]")) this.loader.refresh();
  }

  list(modules) {
    for (const part of this.parts()) {
      const entries = modules.filter(({ status }) => status === part.dataset.outcome);
      entries.sort((a, b) => a.platform.localeCompare(b.platform));
      part.querySelector("ul").replaceChildren(...entries.map(moduleItem));
    }
  }
}

function moduleItem({ module, platform, reason }) {
  const item = element("li", { title: plain(module) }, plain(platform));
  if (reason) item.append(" ", element("small", {}, plain(reason).replaceAll("_", " ")));
  return item;
}
