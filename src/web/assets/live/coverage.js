// How the modules ended: counts as they come, names and reasons from the server where somebody looks.

const OUTCOMES = ["hit", "miss", "blocked", "rate_limited", "timeout", "error", "unreliable", "skipped"];

// Each look is a read of the account's, which its programs share.
const LOOK_EVERY = 5_000;

class Coverage {
  constructor(root, address) {
    this.root = root;
    this.address = address;
    this.isLoading = false;
    this.isStale = false;
    root.addEventListener("toggle", () => this.refresh(), true);
  }

  // The counts of a progress or a done frame.
  count(coverage) {
    for (const outcome of OUTCOMES) {
      const part = this.root.querySelector(`[data-outcome="${outcome}"]`);
      const count = Number(coverage[outcome]) || 0;
      part.hidden = count === 0;
      part.querySelector(".count").textContent = count;
    }
    this.refresh();
  }

  // Loads the lists again, where one of them is open.
  async refresh() {
    if (!this.root.querySelector("details[open]")) return;
    this.isStale = this.isLoading;
    if (this.isLoading) return;
    this.isLoading = true;
    const pause = await this.load().catch(() => 0);
    // Whatever failed is tried again: after the last progress nothing else would.
    if (pause !== null) this.isStale = true;
    await pauseFor(Math.max(LOOK_EVERY, pause));
    this.isLoading = false;
    if (this.isStale) this.refresh();
  }

  // Null, or the pause in milliseconds that a refusal asks for; none where there is no use in asking again.
  async load() {
    const response = await fetch(this.address, { cache: "no-store", redirect: "manual" });
    if (!response.ok) return refusal(response).pause ?? null;
    this.list((await response.json()).modules);
    return null;
  }

  list(modules) {
    for (const outcome of OUTCOMES) {
      const list = this.root.querySelector(`[data-outcome="${outcome}"] ul`);
      const entries = modules.filter(({ status }) => status === outcome);
      entries.sort((a, b) => a.platform.localeCompare(b.platform));
      list?.replaceChildren(...entries.map(moduleItem));
    }
  }
}

function moduleItem({ module, platform, reason }) {
  const item = element("li", { title: plain(module) }, plain(platform));
  if (reason) item.append(" ", element("small", {}, plain(reason).replaceAll("_", " ")));
  return item;
}
