// What every page does beyond its HTML. None of it is needed.
"use strict";

// Buttons that copy what stands in the element that they name.
for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.querySelector(button.dataset.copy)?.textContent ?? "";
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy it";
    }
  });
}

// A second click would send a form again, and the answer to the first would be lost: a key that nobody has seen, a
// password that is no longer the present one. After a while it may be meant. (The search form sees to itself.)
const MEANT_AFTER = 3_000;
for (const form of document.querySelectorAll("form[method=post]:not([data-search])")) {
  let sentAt = -Infinity;
  form.addEventListener("submit", (event) => {
    if (performance.now() - sentAt < MEANT_AFTER) return event.preventDefault();
    sentAt = performance.now();
  });
  addEventListener("pageshow", () => {
    sentAt = -Infinity;
  });
}
