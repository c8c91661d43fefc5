// The operator's page: refreshes the load every two seconds while the page is visible.

const PACE_MS = 2000;

class Load {
  constructor(list, state) {
    this.list = list;
    this.state = state;
  }

  async follow() {
    while (await this.look()) await new Promise((resolve) => setTimeout(resolve, PACE_MS));
    this.say("Your session has ended: load the page again to sign in");
  }

  // Returns false if another request cannot succeed.
  async look() {
    if (document.hidden) return true;
    try {
      const answer = await fetch(this.list.dataset.load, { cache: "no-store", redirect: "manual" });
      if (answer.type === "opaqueredirect" || answer.status === 401 || answer.status === 403) return false;
      if (!answer.ok) throw new Error(answer.status);
      this.show(await answer.json());
      this.say("This instance, live");
    } catch {
      this.say("The service does not answer: trying again");
    }
    return true;
  }

  show(figures) {
    for (const [key, { value, percent }] of Object.entries(figures)) {
      for (const place of this.list.querySelectorAll(`[data-figure="${key}"]`)) {
        if (place instanceof SVGElement) place.setAttribute("width", percent);
        else place.textContent = value;
      }
    }
  }

  say(text) {
    if (this.state.textContent !== text) this.state.textContent = text;
  }
}

const load = document.querySelector("[data-load]");
if (load) new Load(load, document.querySelector("#load-state")).follow();
