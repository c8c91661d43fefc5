// The outcomes of modules: counts from the events, names and reasons from the server when the reader opens a list.

class Coverage {
  constructor(root, address) {
    this.root = root;
    this.chosen = "";
    this.loader = new Loader(address, ({ modules }) => this.list(modules));
    root.addEventListener("toggle", () => this.refresh(), true);
  }

  // The elements that the server rendered, one for each outcome.
  parts() {
    return this.root.querySelectorAll("[data-outcome]");
  }

  // Shows only this outcome, with its list, or all of them for "".
  choose(outcome) {
    this.chosen = outcome;
    for (const part of this.parts()) {
      this.hide(part);
      if (part.dataset.outcome === outcome) part.open = true;
    }
  }

  hide(part) {
    const count = Number(part.querySelector(".count").textContent);
    part.hidden = this.chosen ? part.dataset.outcome !== this.chosen : count === 0;
  }

  // Shows the counts of a progress or done event.
  count(coverage) {
    for (const part of this.parts()) {
      part.querySelector(".count").textContent = Number(coverage[part.dataset.outcome]) || 0;
      this.hide(part);
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
