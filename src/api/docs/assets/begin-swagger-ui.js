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

// Swagger UI brings its own main landmark, and a page has only one.
const place = document.createElement("div");
place.id = "documentation";
document.getElementById("documentation").replaceWith(place);

SwaggerUIBundle({
  url: "openapi.json",
  domNode: place,
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

// Corrections for people with a screen reader or only a keyboard: parts of the page outside the main landmark have no role,
// headings skip levels, buttons contain links to themselves, and fields, lists and buttons have no names.
const levels = { "h3.opblock-tag, .models h4, .modal-ux h3": 2, ".opblock h4, .modal-ux h4": 3, ".opblock h5": 4 };
const operationOf = (part) => {
  const block = part.closest(".opblock");
  return `${block.querySelector(".opblock-summary-method").textContent} ${block.querySelector("[data-path]").dataset.path}`;
};
const names = {
  ".information-container": () => "About the API",
  ".scheme-container": () => "Server and key",
  ".servers select": () => "Server",
  ".examples-select select": () => "Example",
  ".close-modal": () => "Close",
  ".responses-table": (table) => `Responses of ${operationOf(table)}`,
  "[data-param-name] :is(select, input, textarea)": (field) => field.closest("[data-param-name]").dataset.paramName,
  ".body-param :is(select, textarea)": (field) => (field.matches("select") ? "Media type" : "Body"),
};
new MutationObserver(() => {
  const each = (selector, correct) => place.querySelectorAll(selector).forEach(correct);
  for (const [selector, level] of Object.entries(levels)) {
    each(selector, (heading) => heading.setAttribute("aria-level", level));
  }
  for (const [selector, name] of Object.entries(names)) {
    each(selector, (part) => part.hasAttribute("aria-label") || part.setAttribute("aria-label", name(part)));
  }
  each(".information-container, .scheme-container", (part) => part.setAttribute("role", "region"));
  each(".opblock-summary-control a[href]", (link) => link.removeAttribute("href"));
  each("pre.microlight:not([tabindex])", (code) => code.setAttribute("tabindex", "0"));
}).observe(place, { childList: true, subtree: true });

// Uses Swagger UI's dark theme if the reader's system is dark.
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();
