// The parts of a page that change while something runs. The server renders them: this script fetches them while something
// runs and the page is visible, and puts them in their places.

const EVERY = 3_000;
// The pause after the last key before a filter is applied.
const TYPED_AFTER = 400;

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const parsed = (text) => new DOMParser().parseFromString(text, "text/html");

// Whether the reader is in the part: with the focus, or, in a part to keep, scrolled to it.
function isUsed(part) {
  return part.contains(document.activeElement)
    || ("keep" in part.dataset && scrollY > 0 && part.getBoundingClientRect().top < innerHeight / 2);
}

// Replaces a part. What is open in it stays so, and what is closed.
function replace(shown, part) {
  for (const { id, open } of shown.querySelectorAll("details[id]")) part.querySelector(`#${id}`)?.toggleAttribute("open", open);
  shown.replaceWith(part);
}

// Adds new entries at the end of their list, and replaces the parts that have changed, except those that the reader uses.
// Returns those. A part to keep that is used also keeps all others of its answer, since they may move it.
function take(page, fresh) {
  for (const list of fresh.querySelectorAll("[data-append]")) page.querySelector("[data-part=results] tbody")?.append(...list.children);
  const differing = [...fresh.querySelectorAll("[data-part]")]
    .map((part) => ({ shown: page.querySelector(`[data-part=${part.dataset.part}]`), part }))
    .filter(({ shown, part }) => shown && shown.outerHTML !== part.outerHTML);
  // A part in another one comes with that one.
  const changed = differing.filter(({ part }) => !differing.some((outer) => outer.part !== part && outer.part.contains(part)));
  const isHeld = changed.some(({ shown }) => "keep" in shown.dataset && isUsed(shown));
  const used = changed.filter(({ shown }) => isHeld || isUsed(shown));
  for (const { shown, part } of changed) if (!used.some((other) => other.part === part)) replace(shown, part);
  if (isHeld) offer(used);
  return isHeld ? [] : used;
}

// The parts that are offered to the reader.
let offered = [];

// Offers the parts that would move what the reader looks at.
function offer(parts) {
  offered = parts;
  const button = document.querySelector("[data-news]");
  button.hidden = false;
  button.onclick = () => {
    button.hidden = true;
    for (const { shown, part } of parts) replace(shown, part);
    const title = document.querySelector("#found");
    title.scrollIntoView();
    title.focus();
  };
}

function say(text, isTrouble) {
  const line = document.querySelector("#refreshed");
  line.textContent = text;
  line.className = isTrouble ? "notice warn toast" : "visually-hidden";
}

// Fetches the parts until nothing runs, and then once the whole page, if the page has its address. An answer may have the
// address of the next parts.
async function refresh(page) {
  const first = page.dataset.next;
  for (let isOver = false; !isOver; ) {
    await pause(page.dataset.every ?? EVERY);
    if (document.hidden) continue;
    const at = page.dataset.next;
    try {
      const answer = await fetch(at, { cache: "no-store", redirect: "manual" });
      if (answer.status === 404) return say(page.dataset.gone, true);
      if (answer.type === "opaqueredirect" || answer.status === 401 || answer.status === 403) {
        return say("Your session has ended: load the page again to sign in.", true);
      }
      if (!answer.ok) throw new Error(answer.status);
      if (answer.status === 204) {
        // Nothing has changed.
        say("");
        continue;
      }
      const fresh = parsed(await answer.text());
      // The reader has chosen other results meanwhile.
      if (at !== page.dataset.next) continue;
      say("");
      const { whole } = page.dataset;
      const { next, over } = fresh.querySelector("[data-next]")?.dataset ?? {};
      // Before the parts move from there into the page.
      const isOpen = fresh.querySelector("[data-open]") !== null;
      const used = take(page, fresh);
      if (fresh.title) document.title = fresh.title;
      page.dataset.over = over ?? page.dataset.over;
      isOver = !isOpen && (!whole || at === whole);
      // What the reader still uses at the end changes when the focus leaves it.
      if (isOver) for (const { shown, part } of used) shown.addEventListener("focusout", () => replace(shown, part), { once: true });
      page.dataset.next = isOpen || !whole ? next ?? first : whole;
    } catch {
      say("The service does not answer: trying again.", true);
    }
  }
  say(page.dataset.over ?? "");
}

// Shows what the form chooses. Its address leads to the same, also without this script.
async function filter(form, page) {
  const address = `${location.pathname}?${new URLSearchParams(new FormData(form))}`;
  history.replaceState(null, "", address);
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) return location.assign(address);
  const fresh = parsed(await answer.text());
  if (address !== location.pathname + location.search) return;
  for (const name of ["results", "matching", "nothing"]) {
    page.querySelector(`[data-part=${name}]`).replaceWith(fresh.querySelector(`[data-part=${name}]`));
  }
  // What was offered is shown with the new results, which it does not replace.
  for (const { shown, part } of offered) if (shown.isConnected) replace(shown, part);
  offered = [];
  document.querySelector("[data-news]").hidden = true;
  const { next, whole } = fresh.querySelector("[data-next]").dataset;
  Object.assign(page.dataset, { next, whole });
}

// Shows what the verdicts change but for the list, in which nothing moves.
async function judged(page) {
  const answer = await fetch(page.dataset.whole, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  const fresh = parsed(await answer.text());
  for (const name of ["answer", "strip", "overview", "verdicts"]) {
    const [shown, part] = [page, fresh].map((of) => of.querySelector(`[data-part=${name}]`));
    if (shown && part && !isUsed(shown)) replace(shown, part);
  }
}

for (const page of document.querySelectorAll("[data-next]")) {
  if (page.querySelector("[data-open]")) refresh(page);
  let timer;
  // The form may be replaced, so its events are taken here.
  page.addEventListener("input", ({ target }) => {
    const form = target.closest("[data-filter]");
    clearTimeout(timer);
    if (form) timer = setTimeout(() => filter(form, page), TYPED_AFTER);
  });
  // A verdict changes who the accounts belong to.
  let judgedTimer;
  document.addEventListener("judged", () => {
    clearTimeout(judgedTimer);
    judgedTimer = setTimeout(() => judged(page), TYPED_AFTER);
  });
  page.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-filter]")) return;
    event.preventDefault();
    filter(event.target, page);
  });
}
