// The load of the service, asked for again every other second while somebody looks.
"use strict";

(() => {
  const PACE_MS = 2000;
  const list = document.querySelector("[data-source]");
  const state = document.querySelector("#load-state");
  if (!list || !state) return;

  const show = (figures) => {
    for (const [key, { value, percent }] of Object.entries(figures)) {
      for (const place of list.querySelectorAll(`[data-load="${CSS.escape(key)}"]`)) {
        if (place instanceof SVGElement) place.setAttribute("width", percent);
        else place.textContent = value;
      }
    }
  };

  const say = (text) => {
    if (state.textContent !== text) state.textContent = text;
  };

  const look = async () => {
    try {
      const answer = await fetch(list.dataset.source, { headers: { Accept: "application/json" } });
      if (answer.redirected || answer.status === 401 || answer.status === 403) {
        say("Your session has ended: load the page again to sign in");
        return false;
      }
      if (!answer.ok) throw new Error(String(answer.status));
      show(await answer.json());
      say("This instance, live");
    } catch {
      say("The service does not answer; asking again");
    }
    return true;
  };

  const go_on = async () => {
    const is_seen = document.visibilityState === "visible";
    if (!is_seen || (await look())) setTimeout(go_on, PACE_MS);
  };
  go_on();
})();
