// The page of one run: updates it from the events.

const SAY_EVERY = 8_000;
// The events that change the results.
const NEWS = new Set(["result", "progress", "done"]);

class RunPage {
  constructor(root) {
    this.root = root;
    this.query = document.title;
    this.part = (name) => root.querySelector(`[data-part="${name}"]`);
    this.isRunning = "running" in root.dataset;
    const live = { isLive: this.isRunning, notes: new Notes(root) };
    this.results = new Results(this.part("results"), sitesOf(root), root.dataset.thumbnails, live);
    this.leads = new Leads(this.results, root.dataset.leads);
    this.coverage = new Coverage(this.part("coverage"), root.dataset.modules);
    this.said = -SAY_EVERY;
    this.isDue = false;
    this.hasEnded = false;
    this.hasNews = false;
    this.kinds = "";
    this.since = performance.now() - Number(this.part("took").dataset.millis);
    this.clock = this.isRunning ? setInterval(() => this.tick(), 1000) : 0;
    this.listen();
  }

  start() {
    const { events, silence } = this.root.dataset;
    follow(events, Number(silence), {
      connected: () => this.connection(""),
      lost: () => this.connection("lost"),
      frames: (frames) => this.take(frames),
      ended: (word) => this.end(word),
    });
  }

  listen() {
    for (const name of ["text", "kind", "order"]) {
      this.part(name).addEventListener("input", (event) => {
        this.results.view[name] = event.target.value;
        this.showChosen();
      });
    }
    this.part("tools").addEventListener("submit", (event) => event.preventDefault());
    this.part("overview")?.addEventListener("click", (event) => this.chooseCategory(event));
    this.part("news").addEventListener("click", () => this.showNews());
    new Chips(this.part("legend"), (outcome) => this.choose(outcome));
    walkByKeys(this.part("results"));
    // The last search for a lead has ended, so it is known what became of each.
    this.root.querySelector("[data-refresh]")?.addEventListener("over", () => this.leads.refresh());
    this.root.querySelectorAll("details.menu").forEach(closeLikeMenu);
  }

  // The link of a category shows its results alone, and all of them if it is chosen again.
  chooseCategory(event) {
    const chosen = event.target.closest("[data-category] a");
    if (!chosen) return;
    const { category } = chosen.closest("[data-category]").dataset;
    const isChosen = this.results.view.category === category;
    this.results.view.category = isChosen ? "" : category;
    for (const link of this.part("overview").querySelectorAll("[data-category] a")) {
      if (link === chosen && !isChosen) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    if (isChosen) event.preventDefault();
    this.showChosen();
  }

  // Shows the results that the reader has chosen. Those of a dossier are collapsed before.
  showChosen() {
    this.results.settle();
    this.part("results").closest("details")?.setAttribute("open", "");
    this.show();
  }

  // Only a hit has results: for any other outcome, the coverage follows the bar at once.
  choose(outcome) {
    this.coverage.choose(outcome);
    const [bar, coverage] = ["bar", "coverage"].map((name) => this.part(name).closest("section"));
    for (let part = bar.nextElementSibling; part && part !== coverage; part = part.nextElementSibling) {
      part.classList.toggle("set-aside", outcome !== "" && outcome !== "hit");
    }
  }

  // Shows the results that wait, and leads to the first ones.
  showNews() {
    this.results.settle();
    this.show();
    const title = this.root.querySelector("#found");
    title.scrollIntoView();
    title.focus();
  }

  take(frames) {
    for (const { event, data } of frames) {
      if (event === "result") this.results.take(data);
      else if (event === "progress") this.progress(data);
      else if (event === "done") this.done(data);
    }
    // The results that the server rendered stay until the first event, and cannot be filtered before.
    if (!frames.some(({ event }) => NEWS.has(event))) return;
    delete this.part("tools").dataset.waiting;
    this.showSoon();
  }

  // Renders many events at once: in the next animation frame, or by a timer if the page is hidden.
  showSoon() {
    if (this.isDue) return;
    this.isDue = true;
    const show = () => {
      this.isDue = false;
      this.show();
    };
    if (document.hidden) setTimeout(show, 200);
    else requestAnimationFrame(show);
  }

  show() {
    const { shown, waiting } = this.results.show();
    this.leads.place();
    const known = this.results.known.size;
    const isFiltered = shown + waiting < known;
    this.part("found").textContent = known;
    this.tellNews(waiting);
    this.part("matching").textContent = isFiltered ? `${shown} of ${known} shown` : "";
    const nothing = this.part("nothing");
    nothing.hidden = shown + waiting > 0;
    nothing.firstElementChild.textContent = isFiltered ? "Nothing matches the filter."
      : this.hasFailed ? "The search failed before anything was found."
      : this.hasEnded ? "Nothing was found. The sites that gave no answer are listed below."
        : "Nothing found yet. Results appear here as they come.";
    this.showKinds();
    document.title = this.hasEnded ? this.query : `(${known}) ${this.query}`;
  }

  // The button for the results that wait. Screen readers hear of it once, not with every result.
  tellNews(waiting) {
    const button = this.part("news");
    button.hidden = waiting === 0;
    button.textContent = `${counted(waiting, "new result", "new results")}: show`;
    if (waiting && !this.hasNews) {
      const end = this.hasEnded ? `${this.part("said").textContent}. ` : "";
      this.announce(`${end}New results wait. The button before the results shows them.`);
    }
    this.hasNews = waiting > 0;
  }

  showKinds() {
    const kinds = this.results.kinds();
    if (kinds.join() === this.kinds) return;
    this.kinds = kinds.join();
    const select = this.part("kind");
    const chosen = select.value;
    const options = kinds.map((kind) => element("option", { value: kind }, humanize(kind)));
    select.replaceChildren(element("option", { value: "" }, "Everything"), ...options);
    select.value = kinds.includes(chosen) ? chosen : "";
  }

  progress({ modules_total: total, coverage }) {
    const asked = coverage.applicable - coverage.not_asked - coverage.cut_by_stop;
    const all = total - (coverage.checked - coverage.applicable);
    this.part("asked").textContent = `${asked} of ${all}`;
    this.part("hits").textContent = coverage.hit;
    for (const item of this.part("legend").children) {
      const count = Number(coverage[item.dataset.outcome]) || 0;
      item.className = count ? "" : "none";
      item.querySelector(".count").textContent = count;
    }
    const bar = this.part("progress");
    bar.max = Math.max(1, all);
    bar.value = asked;
    this.draw(coverage, total);
    this.part("answered").textContent = answered(coverage);
    this.coverage.count(coverage);
    this.say(asked, all);
  }

  // The time since the start, in the server's words.
  tick() {
    const seconds = (performance.now() - this.since) / 1000;
    const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
    this.part("took").textContent = seconds < 10 ? `${seconds.toFixed(1)} s`
      : seconds < 120 ? `${Math.floor(seconds)} s`
        : seconds < 7200 ? `${minutes} min` : `${hours} h ${minutes % 60} min`;
  }

  draw(coverage, total) {
    const bar = this.part("bar");
    bar.setAttribute("viewBox", `0 0 ${Math.max(1, total)} 1`);
    let from = 0;
    for (const part of bar.children) {
      const width = coverage[part.getAttribute("class")] || 0;
      part.setAttribute("x", from);
      part.setAttribute("width", width);
      from += width;
    }
  }

  // For screen readers: now and then, not with every event.
  say(completed, total) {
    if (performance.now() - this.said < SAY_EVERY) return;
    this.said = performance.now();
    this.announce(`${counted(this.results.known.size, "result", "results")}, ${completed} of ${total} checks done`);
  }

  announce(text) {
    this.part("said").textContent = text;
  }

  done(data) {
    this.hasEnded = true;
    clearInterval(this.clock);
    if (this.isRunning) {
      this.tick();
      this.part("stop")?.remove();
      this.loadRest();
    }
    this.isRunning = false;
    // A running search may still find by itself what its results name.
    this.leads.refresh();
    this.progress(data);
    const state = this.part("state");
    const failed = data.status === "failed";
    this.hasFailed = failed;
    const isStopped = state.textContent.startsWith("Stop");
    state.className = `badge ${failed ? "bad" : isStopped ? "warn" : "good"}`;
    state.textContent = failed ? "Failed" : isStopped ? "Stopped" : "Completed";
    if (failed) {
      const why = plain(data.error?.message ?? "the reason was not stored");
      this.notice("bad", "The search failed:", ` ${why}. ${data.total_results ? "The results found before that are below. " : ""}Its credits were refunded.`);
    }
    this.announce(`Search ${failed ? "failed" : isStopped ? "stopped" : "completed"}: ${counted(data.total_results, "result", "results")}`);
  }

  // The overview, and the button that asks again, are as the server shows them for a search that has ended.
  async loadRest() {
    if (!this.part("overview")) return;
    const response = await fetch(location.href, { cache: "no-store", redirect: "manual" }).catch(() => null);
    if (!response?.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const name of ["overview", "again"]) {
      const [mine, newer] = [this.part(name), page.querySelector(`[data-part="${name}"]`)];
      if (mine && newer) mine.replaceChildren(...newer.childNodes);
    }
    if (!page.querySelector("[data-part=overview]")) this.part("overview").lastElementChild.textContent = "There is nothing to show.";
  }

  connection(word) {
    const line = this.part("connection");
    line.hidden = word === "";
    const goesOn = this.isRunning ? " The search goes on." : "";
    line.textContent = word ? `Connection lost: trying again.${goesOn}` : "";
  }

  end(word) {
    this.connection("");
    if (word === "done") return this.show();
    this.part("state").className = "badge warn";
    this.part("state").textContent = word === "gone" ? "Deleted" : "Disconnected";
    if (word === "gone") return this.notice("warn", "This search was deleted.", " The results on this page are not stored anywhere else.");
    if (word !== "signedOut") return this.notice("bad", "The results cannot be read.", " Load the page again.");
    this.notice("warn", "Your session has ended.", ` The results so far stay on this page${this.isRunning ? ", and the search continues" : ""}. `,
      element("a", { href: this.root.dataset.signIn }, "Sign in again"), " to see the rest.");
  }

  notice(tone, title, ...words) {
    this.part("notices").replaceChildren(
      element("div", { class: `notice ${tone}`, role: "alert" }, element("p", {}, element("strong", {}, title), ...words)));
  }
}

// Returns a sentence about the share of sites that gave an answer, and one about those that were cut.
function answered(coverage) {
  const { conclusive, applicable, ratio } = coverage;
  if (!applicable) return "No site has answered yet.";
  const answers = `${conclusive} of ${applicable} sites gave an answer (${Math.round(ratio * 100)}%).`;
  const cuts = cutsText(coverage);
  return cuts ? `${answers} ${cuts}.` : answers;
}

function cutsText(coverage) {
  const { down, down_since: since, quarantined, stopped, limited } = coverage;
  const { cut_by_learnt_deadline: learnt, cut_by_time_budget: budget, cut_by_stop: late } = coverage;
  const texts = [];
  const time = since ? ` since ${since.slice(0, 16).replace("T", " ")} UTC` : "";
  if (down) texts.push(`${down} not asked: down${time}`);
  if (quarantined) texts.push(`${quarantined} not asked: in quarantine`);
  if (stopped) texts.push(`${stopped} not asked: stopped`);
  if (limited) texts.push(`${limited} not asked: limits`);
  if (learnt) texts.push(`${learnt} cut short: learnt deadline`);
  if (budget) texts.push(`${budget} cut short: time budget`);
  if (late) texts.push(`${late} cut short: stopped`);
  return texts.join("; ");
}

// Closes the menu by Escape, and when the focus leaves it.
function closeLikeMenu(menu) {
  const close = () => menu.removeAttribute("open");
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    close();
    menu.querySelector("summary").focus();
  });
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(relatedTarget)) close();
  });
  document.addEventListener("click", ({ target }) => {
    if (!menu.contains(target)) close();
  });
}

// `coding:github~25 gitlab~310|social:mastodon`: the category of each module, and its popularity if it is known.
function sitesOf(root) {
  const sites = new Map();
  for (const group of root.dataset.sites.split("|")) {
    const [category, modules = ""] = group.split(":");
    for (const module of modules.split(" ")) {
      const [id, rank] = module.split("~");
      sites.set(id, { category, rank: rank ? Number(rank) : Number.MAX_SAFE_INTEGER });
    }
  }
  return sites;
}

const root = document.querySelector("[data-run]");
if (root) new RunPage(root).start();
