// All results so far: kept by id, filtered, sorted, grouped by the category of the site.

const ORDERS = {
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
  constructor(root, categories, thumbnails) {
    this.root = root;
    this.categories = categories;
    this.thumbnails = thumbnails;
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
    const card = resultCard(record, this.thumbnails);
    if (before) this.replace(before.card, card, record);
    else card.classList.add("is-new");
    const [name, category] = [platformOf(record), this.categories.get(record.source) ?? "other"];
    this.known.set(record.id, { record, card, written, text: textOf(record, category), name, category });
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

  visible() {
    const { text, kind, category } = this.view;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return [...this.known.values()].filter((entry) =>
      (!kind || entry.record.type === kind) && (!category || entry.category === category) && words.every((word) => entry.text.includes(word)));
  }

  // Shows the results that match the filter, and returns their number.
  show() {
    const shown = this.visible();
    const byGroup = new Map();
    const grouped = this.view.order === "category";
    shown.sort(ORDERS[grouped ? "sure" : this.view.order]);
    for (const entry of shown) {
      const name = grouped ? entry.category : "";
      if (!byGroup.has(name)) byGroup.set(name, []);
      byGroup.get(name).push(entry);
    }
    for (const [name, group] of this.groups) {
      if (byGroup.has(name)) continue;
      group.section.remove();
      this.groups.delete(name);
    }
    const sections = [...byGroup.keys()].sort().map((name) => this.fill(name, byGroup.get(name)));
    place(this.root, sections);
    return shown.length;
  }

  fill(name, entries) {
    const group = this.groups.get(name) ?? this.open(name);
    place(group.list, entries.map(({ card }) => card));
    group.count.textContent = entries.length;
    group.section.dataset.size = name ? Math.min(3, entries.length) : 3;
    return group.section;
  }

  open(name) {
    const list = element("ul", { class: "results" });
    const count = element("span", { class: "count" });
    const title = element("h3", {}, name ? humanize(name) : "All results", " ", count);
    const section = element("section", { class: "group", ...(name && { id: `category-${name}` }) }, title, list);
    const group = { section, list, count };
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
