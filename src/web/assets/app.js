// The script of every page. All pages also work without it.
"use strict";

// Returns the text of a file with searches, or null if it is too large.
const TOO_LARGE = "The file is too large: use at most 2 MiB.";
const textOf = (file) => (file.size <= 2 * 1024 * 1024 ? file.text() : null);

// Buttons that copy the text of an element.
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

// Prevents a second click from sending a form again, which would lose the answer to the first, such as a new key.
// After a while a click counts as intended. (The search form has its own protection.)
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

// Menus close by Escape, when the focus leaves them, and by a click elsewhere.
for (const menu of document.querySelectorAll("details.menu")) {
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

