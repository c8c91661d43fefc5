// What the owner has noted about results. The forms are those of the page without scripts.

class Notes {
  constructor(root) {
    this.addresses = root.dataset.results;
    this.known = new Map(Object.entries(JSON.parse(root.dataset.annotations)));
  }

  // Adds the note and the controls to the card of a result.
  addTo(card, record) {
    const { note = null, not_this_person: isOther = false } = this.known.get(String(record.id)) ?? {};
    const address = `${this.addresses}${record.id}/annotation`;
    const of = (word) => element("span", { class: "visually-hidden" }, `${word} ${platformOf(record)}`);
    const line = element("div", { class: "result-notes" });
    if (note) line.append(element("p", { class: "note" }, element("bdi", {}, plain(note))));
    line.append(element("a", { href: address }, note ? "Edit note" : "Add note", of(" on")));
    const mark = { class: "button quiet small", form: "annotate", formaction: address, name: "not_this_person", value: isOther ? "no" : "yes" };
    line.append(element("button", mark, isOther ? "Undo “not this person”" : "Not this person", of(":")));
    card.classList.toggle("other", isOther);
    card.append(line);
  }
}
