// The parts of a page that change while something runs: refreshes them while it runs and the page is visible.

const REFRESH_MS = 3_000;

// Replaces the parts that have changed. A part with the focus stays as it is until the focus is elsewhere. Returns
// whether nothing is left to do.
function replaceParts(page, fresh) {
  let isDone = !fresh.querySelector("[data-open]");
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const shown = page.querySelector(`[data-part=${part.dataset.part}]`);
    if (!shown || shown.outerHTML === part.outerHTML) continue;
    if (shown.contains(document.activeElement)) isDone = false;
    else shown.replaceWith(part);
  }
  return isDone;
}

// Refreshes the parts from their address until nothing runs, and then once from the address `then`, if there is one.
async function refresh(page, said) {
  const { refresh: address, then, over, gone } = page.dataset;
  for (let at = address; at; ) {
    await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
    if (document.hidden) continue;
    try {
      const answer = await fetch(at, { cache: "no-store", redirect: "manual" });
      if (answer.status === 404) return (said.textContent = gone);
      if (answer.type === "opaqueredirect" || answer.status === 401 || answer.status === 403) {
        return (said.textContent = "Your session has ended: load the page again to sign in.");
      }
      if (!answer.ok) throw new Error(answer.status);
      const isDone = replaceParts(page, new DOMParser().parseFromString(await answer.text(), "text/html"));
      said.textContent = "";
      at = !isDone ? address : at === then ? undefined : then;
    } catch {
      said.textContent = "The service does not answer: trying again.";
    }
  }
  said.textContent = over;
  page.dispatchEvent(new Event("over"));
}

for (const page of document.querySelectorAll("[data-refresh]")) {
  if (page.querySelector("[data-open]")) refresh(page, document.querySelector("#refreshed"));
}
