// The search form: says what the text looks like, until the reader chooses; sends once.

// The last labels under which nearly everybody is; two letters are a country. The server knows all of them: it has the
// last word where nothing was chosen.
const SUFFIX = /\.(?:[a-z]{2}|com|org|net|edu|gov|mil|int|info|biz|name|pro|app|dev|xyz|site|online|shop|store|blog|tech|cloud|page|club|live|news|media|agency|design|studio|world|space|email|wiki|social|[xX][nN]--[a-z0-9-]+)$/i;

function looksLike(text) {
  const trimmed = text.trim();
  const host = trimmed.replace(/^(?:https?:)?\/\//i, "").split(/[/\\?#]/)[0].replace(/:\d+$/, "").replace(/\.$/, "");
  if (/^[^\s@]+\.[^\s@.]+$/.test(host) && SUFFIX.test(host)) return "domain";
  return trimmed.slice(1).includes("@") ? "email" : "username";
}

// The one price of a search: premium counts for usernames alone.
function price(form) {
  const type = form.elements.type.value;
  const premium = form.elements.premium;
  const guess = type === "auto" ? looksLike(form.elements.query.value) : type;
  const isPremium = Boolean(premium?.checked) && guess === "username";
  return Number(isPremium ? form.dataset.premiumCost : form.dataset.cost);
}

function show(form) {
  const text = form.elements.query.value;
  const guess = form.querySelector("[data-part=guess]");
  const isAuto = form.elements.type.value === "auto";
  guess.textContent = isAuto && text.trim() ? `Looks like ${{ email: "an email address", username: "a username", domain: "a domain" }[looksLike(text)]}.` : "";
  const credits = price(form);
  form.querySelector("[data-part=price]").textContent = `${credits} ${credits === 1 ? "credit" : "credits"}`;
}

// A form that comes back from the browser's memory may start another search.
function renew(form) {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  form.elements.once.value = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const form = document.querySelector("form[data-search]");
if (form) {
  const button = form.querySelector("button[type=submit]");
  form.addEventListener("input", () => show(form));
  form.addEventListener("submit", (event) => {
    if (button.getAttribute("aria-disabled") === "true") return event.preventDefault();
    button.setAttribute("aria-disabled", "true");
  });
  addEventListener("pageshow", (event) => {
    button.removeAttribute("aria-disabled");
    if (event.persisted) renew(form);
    show(form);
  });
}
