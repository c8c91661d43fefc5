// The legend beside the bar: links to the coverage, which become filters.

class Chips {
  // `choose` gets the outcome that is pressed, or "" if none is.
  constructor(root, choose) {
    this.buttons = [...root.children].map((item) => {
      const link = item.querySelector("a");
      const button = element("button", { type: "button", "aria-pressed": "false" });
      button.append(...link.childNodes);
      link.replaceWith(button);
      button.addEventListener("click", () => {
        const isChosen = button.getAttribute("aria-pressed") === "true";
        for (const other of this.buttons) other.setAttribute("aria-pressed", "false");
        button.setAttribute("aria-pressed", !isChosen);
        choose(isChosen ? "" : item.dataset.outcome);
      });
      return button;
    });
  }
}
