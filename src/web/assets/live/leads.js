// The leads on the cards. The server renders them, because they depend on all results of the family.

class Leads {
  constructor(results, address) {
    this.results = results;
    this.lists = new Map();
    // Those on the cards that the server has rendered.
    for (const card of results.root.querySelectorAll("[data-result]")) {
      const list = card.querySelector(".result-leads");
      if (list) this.lists.set(Number(card.dataset.result), list);
    }
    this.loader = new Loader(address, ({ cards }) => this.take(cards));
  }

  refresh() {
    this.loader.refresh();
  }

  // A list with the focus stays as it is.
  take(cards) {
    const before = this.lists;
    this.lists = new Map();
    for (const [id, text] of Object.entries(cards)) {
      const known = before.get(Number(id));
      const fresh = new DOMParser().parseFromString(text, "text/html").querySelector(".result-leads");
      const isKept = known?.contains(document.activeElement) || known?.outerHTML === fresh?.outerHTML;
      const list = isKept ? known : fresh;
      if (list) this.lists.set(Number(id), list);
    }
    for (const list of before.values()) if (![...this.lists.values()].includes(list)) list.remove();
    this.place();
  }

  // Puts the lists on the cards that there are.
  place() {
    for (const [id, list] of this.lists) {
      const card = this.results.known.get(id)?.card;
      if (card && !card.contains(list)) card.querySelector("details").before(list);
    }
  }
}
