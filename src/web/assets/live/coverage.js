// The outcomes of modules: counts from the events, names and reasons from the server when the reader opens a list.

// The shortest pause between two requests, which count as reads of the account.
const LOOK_EVERY = 5_000;

class Coverage {
  constructor(root, address) {
    this.root = root;
    this.address = address;
    this.isLoading = false;
    this.isStale = false;
    root.addEventListener("toggle", () => this.refresh(), true);
  }

  // The elements that the server rendered, one for each outcome.
  parts() {
    return this.root.querySelectorAll("[data-outcome]");
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
  async refresh() {
    if (!this.root.querySelector("details[open]")) return;
    this.isStale = this.isLoading;
    if (this.isLoading) return;
    this.isLoading = true;
    const pause = await this.load().catch(() => 0);
    // A failed request is repeated: after the last progress event nothing else would cause one.
    if (pause !== null) this.isStale = true;
    await pauseFor(Math.max(LOOK_EVERY, pause));
    this.isLoading = false;
    if (this.isStale) this.refresh();
  }

  // Returns null, or the pause in milliseconds that a refusal asks for, or none if another request cannot succeed.
  async load() {
    const response = await fetch(this.address, { cache: "no-store", redirect: "manual" });
    if (!response.ok) return refusal(response).pause ?? null;
    this.list((await response.json()).modules);
    return null;
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
