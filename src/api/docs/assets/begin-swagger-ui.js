"use strict";

// The address of the server of this page, without a slash at its end.
const here = new URL(".", document.baseURI).href.replace(/\/$/, "");

// The document names the address that the operator configured. A reader who uses another one (a tunnel, a second
// name) sends requests to the server of this page, because the page's policy allows no other.
function askedHere(text) {
  const document = JSON.parse(text);
  const isHere = (server) => new URL(server.url, here + "/").href.replace(/\/$/, "") === here;
  if (!(document.servers || []).some(isHere)) {
    document.servers = [{ url: here, description: "the server of this page" }];
  }
  return JSON.stringify(document);
}

const fromHere = () => ({
  statePlugins: { spec: { wrapActions: { updateSpec: (update) => (text) => update(text && askedHere(text)) } } },
});

SwaggerUIBundle({
  url: "openapi.json",
  domNode: document.getElementById("documentation"),
  plugins: [fromHere],
  // No badge: it would send the document to an external validator.
  validatorUrl: null,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  // Keys stay in the memory of this tab.
  persistAuthorization: false,
});

// Corrections for people with a screen reader or only a keyboard: Swagger UI brings its own main landmark, its headings
// skip a level, its buttons contain links to themselves, and the label of the list of servers does not name it.
const place = document.getElementById("documentation");
new MutationObserver(() => {
  const each = (selector, correct) => place.querySelectorAll(selector).forEach(correct);
  each(".servers select:not([aria-label])", (select) => select.setAttribute("aria-label", "Server"));
  each("main:not([role])", (main) => main.setAttribute("role", "presentation"));
  each("h3.opblock-tag:not([aria-level]), .models h4:not([aria-level])", (heading) => heading.setAttribute("aria-level", "2"));
  each(".opblock-summary-control a[href]", (link) => link.removeAttribute("href"));
}).observe(place, { childList: true, subtree: true });

// Uses Swagger UI's dark theme if the reader's system is dark.
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();
