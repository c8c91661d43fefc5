// Loads JSON again when there is news, with pauses. The requests count as reads of the account.

// The shortest pause between two requests.
const LOOK_EVERY = 5_000;

class Loader {
  constructor(address, take) {
    this.address = address;
    this.take = take;
    this.isLoading = false;
    this.isStale = false;
  }

  async refresh() {
    this.isStale = this.isLoading;
    if (this.isLoading) return;
    this.isLoading = true;
    const pause = await this.load().catch(() => 0);
    // A failed request is repeated: after the last event nothing else would cause one.
    if (pause !== null) this.isStale = true;
    await pauseFor(Math.max(LOOK_EVERY, pause));
    this.isLoading = false;
    if (this.isStale) this.refresh();
  }

  // Returns null, or the pause in milliseconds that a refusal asks for, or none if another request cannot succeed.
  async load() {
    const response = await fetch(this.address, { cache: "no-store", redirect: "manual" });
    if (!response.ok) return refusal(response).pause ?? null;
    this.take(await response.json());
    return null;
  }
}
