// The search form: shows the recognized type until the reader chooses one, and sends the form once.

// The most common top-level domains; two letters are a country. The server knows all of them, and decides if no type
// was chosen.
const SUFFIX = /\.(?:[a-z]{2}|com|org|net|edu|gov|mil|int|info|biz|name|pro|app|dev|xyz|site|online|shop|store|blog|tech|cloud|page|club|live|news|media|agency|design|studio|world|space|email|wiki|social|[xX][nN]--[a-z0-9-]+)$/i;

// Letters (of any script), digits and hyphens, no empty label. Any other text with a dot is a username.
const HOST = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?\.)+[^\s@.]+$/u;

function looksLike(text) {
  const trimmed = text.trim();
  const host = trimmed.replace(/^(?:https?:)?\/\//i, "").split(/[/\\?#]/)[0].replace(/:\d+$/, "").replace(/\.$/, "");
  if (HOST.test(host) && SUFFIX.test(host)) return "domain";
  return trimmed.slice(1).includes("@") ? "email" : "username";
}

// The price of the search. Only usernames can be premium. If the server recognizes the text as a username instead of
// a domain, the price stays as shown.
function price(form) {
  const type = form.elements.type.value;
  const premium = form.elements.premium;
  const isOther = type === "auto" ? looksLike(form.elements.query.value) === "email" : type !== "username";
  const isPremium = Boolean(premium?.checked) && !isOther;
  return Number(isPremium ? form.dataset.premiumCost : form.dataset.cost);
}

function show(form) {
  const text = form.elements.query.value;
  const guess = form.querySelector("[data-part=guess]");
  const isAuto = form.elements.type.value === "auto";
  guess.textContent = isAuto && text.trim() ? `Looks like ${{ email: "an email address", username: "a username", domain: "a domain" }[looksLike(text)]}.` : "";
  const credits = price(form);
  const most = form.elements.follow.value ? ` to ${credits + 10}` : "";
  form.querySelector("[data-part=price]").textContent = `${credits}${most} ${credits === 1 && !most ? "credit" : "credits"}`;
}

// A form that the browser restores from its history starts another search only after a change. Unchanged, it leads to
// the search that it started, at no cost, since the answer may never have arrived.
function renew(form) {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  form.elements.once.value = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Several lines, pasted or in a dropped file, are a batch.
function batch(form, text) {
  sessionStorage.setItem("batch", text);
  location.assign(form.dataset.batches);
}

const SENT_AGAIN_AFTER = 10_000;

const form = document.querySelector("form[data-search]");
if (form) {
  const button = form.querySelector("button[type=submit]");
  let isSent = false;
  // Nothing reports that the reader stopped the request. Sending the unchanged form again costs nothing.
  let timer;
  const free = () => {
    clearTimeout(timer);
    button.removeAttribute("aria-disabled");
  };
  form.addEventListener("input", () => {
    if (isSent) renew(form);
    isSent = false;
    free();
    show(form);
  });
  form.addEventListener("submit", (event) => {
    if (button.getAttribute("aria-disabled") === "true") return event.preventDefault();
    isSent = true;
    button.setAttribute("aria-disabled", "true");
    timer = setTimeout(free, SENT_AGAIN_AFTER);
  });
  addEventListener("pageshow", () => {
    free();
    show(form);
  });
  const { query } = form.elements;
  query.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (!/[\r\n]/.test(text.trim())) return;
    event.preventDefault();
    batch(form, text);
  });
  query.addEventListener("dragover", (event) => event.preventDefault());
  query.addEventListener("drop", async (event) => {
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    const text = await textOf(file);
    if (text !== null) return batch(form, text);
    form.querySelector("[data-part=guess]").textContent = TOO_LARGE;
  });
}
