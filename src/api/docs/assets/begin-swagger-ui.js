"use strict";

// Where this page comes from, without a slash at its end.
const here = new URL(".", document.baseURI).href.replace(/\/$/, "");

// The document names the address that the operator announces. Who reads this page under another one (a tunnel, a
// second name) still asks the server that it came from: the page may ask no other.
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
  // No badge: it would show the document to a validator elsewhere.
  validatorUrl: null,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  // A key stays in this tab's memory alone.
  persistAuthorization: false,
});

// Swagger UI's own dark look, where the reader's system is dark.
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();
