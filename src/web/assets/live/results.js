// All results so far: kept by id, filtered, sorted, grouped by the category of the site. While the run is live, nothing
// moves that the reader sees: new results that would move it wait until the reader asks for them.

const ORDERS = {
  category: (a, b) => compareStandings(a.standing, b.standing),
  sure: (a, b) => b.record.confidence - a.record.confidence || a.record.id - b.record.id,
  newest: (a, b) => b.record.id - a.record.id,
  platform: (a, b) => a.name.localeCompare(b.name) || a.record.id - b.record.id,
};

// The text that the filter searches: visible values, not names of fields.
function textOf(record, category) {
  const seen = [platformOf(record), record.value, humanize(record.type), category, record.source];
  return [...seen, ...leaves(record.metadata)].filter((text) => text != null).join("\n").toLowerCase();
}

function leaves(value) {
  return value !== null && typeof value === "object" ? Object.values(value).flatMap(leaves) : [value];
}

class Results {
  constructor(root, sites, thumbnails, { isLive, notes }) {
    this.root = root;
    this.sites = sites;
    this.thumbnails = thumbnails;
    this.isLive = isLive;
    this.isSettling = true;
    this.notes = notes;
    this.known = new Map();
    this.groups = new Map();
    this.view = { text: "", kind: "", category: "", order: "category" };
  }

  // Returns true if the result is new or changed. A known id can arrive again, changed or not.
  take(record) {
    if (!Number.isInteger(record?.id) || typeof record.metadata !== "object" || record.metadata === null) return false;
    const written = JSON.stringify(record);
    const before = this.known.get(record.id);
    if (before?.written === written) return false;
    const { category, rank } = this.sites.get(record.source) ?? { category: "other", rank: Number.MAX_SAFE_INTEGER };
    // A result that is shown keeps its place when it changes.
    const standing = this.isLive && before?.isShown ? before.standing : standingOf(record, rank);
    const card = resultCard(record, standing, this.thumbnails);
    this.notes.addTo(card, record);
    if (before) this.replace(before.card, card, record);
    else if (this.isLive) card.classList.add("is-new");
    const isShown = Boolean(before?.isShown);
    const name = platformOf(record);
    this.known.set(record.id, { record, card, written, standing, isShown, text: textOf(record, category), name, category, rank });
    return true;
  }

  // Keeps the focus, the leads and the open details of the card.
  replace(old, card, record) {
    if (old.querySelector("details").open) openDetails(card, record);
    const focused = [...old.querySelectorAll("a, button, summary")].indexOf(document.activeElement);
    const leads = old.querySelector(".result-leads");
    if (leads) card.querySelector("details").before(leads);
    old.replaceWith(card);
    if (focused < 0) return;
    (card.querySelectorAll("a, button, summary")[focused] ?? card.querySelector("summary")).focus();
  }

  kinds() {
    return [...new Set([...this.known.values()].map(({ record }) => plain(record.type)))].sort();
  }

  // The results that match the filter, in order.
  matching() {
    const { text, kind, category, order } = this.view;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = [...this.known.values()].filter((entry) =>
      (!kind || entry.record.type === kind) && (!category || entry.category === category)
        && words.every((word) => entry.text.includes(word)));
    return matching.sort(ORDERS[order]);
  }

  // Lets the next `show` show all results in their order, whatever moves: the reader asked for it.
  settle() {
    this.isSettling = true;
  }

  // Shows the results that match the filter. Returns the number of those that are shown, and of those that wait.
  show() {
    const isHeld = this.isLive && !this.isSettling && this.root.offsetParent !== null;
    this.isSettling = false;
    if (!isHeld) this.release();
    const matching = this.matching();
    if (isHeld) this.admit(this.grouped(matching));
    const shown = matching.filter(({ isShown }) => isShown);
    // The groups that the reader sees, or has scrolled past, stay where they are.
    const first = isHeld ? this.sectionsAbove() : [];
    const sections = [...this.grouped(shown)].map(([name, entries]) => this.fill(name, entries));
    const kept = first.filter((section) => sections.includes(section));
    place(this.root, [...kept, ...sections.filter((section) => !kept.includes(section))]);
    for (const [name, { section }] of this.groups) if (!section.isConnected) this.groups.delete(name);
    return { shown: shown.length, waiting: matching.length - shown.length };
  }

  // The groups in the order of their first entries.
  grouped(entries) {
    return Map.groupBy(entries, ({ category }) => this.view.order === "category" ? category : "");
  }

  release() {
    for (const entry of this.known.values()) {
      entry.isShown = true;
      if (this.isLive) this.restand(entry);
    }
  }

  // Gives a result the place and the form of what it has become.
  restand(entry) {
    const standing = standingOf(entry.record, entry.rank);
    if (isBare(standing) !== isBare(entry.standing)) {
      const card = resultCard(entry.record, standing, this.thumbnails);
      this.notes.addTo(card, entry.record);
      this.replace(entry.card, card, entry.record);
      entry.card = card;
    }
    entry.standing = standing;
  }

  // Shows new results where nothing that the reader sees would move: below the window. While he reads, all of them wait.
  admit(groups) {
    if (this.isRead()) return;
    const isFree = (next) => !next || next.getBoundingClientRect().top >= innerHeight;
    const admitted = [];
    for (const [name, entries] of groups) {
      let next = this.groups.get(name)?.section.nextElementSibling;
      for (const entry of entries.toReversed()) {
        if (entry.card.isConnected) next = entry.card;
        else if (!entry.isShown && isFree(next)) admitted.push(entry);
      }
    }
    for (const entry of admitted) entry.isShown = true;
  }

  // Whether the reader has scrolled or moved the focus into the results.
  isRead() {
    return this.root.contains(document.activeElement)
      || (scrollY > 0 && this.root.getBoundingClientRect().top < innerHeight / 2);
  }

  sectionsAbove() {
    return [...this.root.children].filter((section) => section.getBoundingClientRect().top < innerHeight);
  }

  // Fills the group, and returns its section.
  fill(name, entries) {
    const group = this.groups.get(name) ?? this.open(name);
    const isLine = ({ standing }) => this.view.order === "category" && isBare(standing);
    place(group.cards, entries.filter((entry) => !isLine(entry)).map(({ card }) => card));
    place(group.lines, entries.filter(isLine).map(({ card }) => card));
    group.count.textContent = entries.length;
    // The groups of a live run have a row each, so that they can grow.
    group.section.dataset.size = name && !this.isLive ? Math.min(3, entries.length) : 3;
    return group.section;
  }

  open(name) {
    const [cards, lines] = ["results", "results lines"].map((kind) => element("ul", { class: kind }));
    const count = element("span", { class: "count" });
    const title = element("h3", {}, name ? humanize(name) : "All results", " ", count);
    const section = element("section", { class: "group", ...(name && { id: `category-${name}` }) }, title, cards, lines);
    const group = { section, cards, lines, count };
    this.groups.set(name, group);
    return group;
  }
}

// Replaces the children, in this order. Moves as few as possible, since a moved element loses the focus.
function place(parent, children) {
  const wanted = new Set(children);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let next = parent.firstElementChild;
  for (const child of children) {
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
  }
}

// The arrow keys move between cards, only inside the list.
function walkByKeys(root) {
  root.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const card = event.target.closest?.(".result");
    if (!step || !card || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const cards = [...root.querySelectorAll(".result")];
    const target = cards[cards.indexOf(card) + step]?.querySelector("a, summary");
    if (!target) return;
    event.preventDefault();
    target.focus();
  });
}
