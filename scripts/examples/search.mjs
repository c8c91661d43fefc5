#!/usr/bin/env node
// Starts a search and follows it to its end. The same file works in Node (18 or newer) and in browsers.
//
//     export SIGHTLINE_URL=http://127.0.0.1:8080 SIGHTLINE_API_KEY=sl_live_...
//     node search.mjs username octocat > found.ndjson
//
// prints the results, one JSON object on each line. In a page (see search.html):
//
//     import { Client } from "./search.mjs";
//     const client = new Client({ url, key, onResult: (result) => show(result) });
//     const done = await client.search("username", "octocat"); // client.results is a Map by id
//
// Survives dropped connections, restarts of the server and rate limits: no result is lost or duplicated, and the
// search is charged once. Exit codes: 0 something was found, 1 nothing was found, 2 usage, 3 failed.

const SILENCE = 45; // seconds; an open stream sends at least a comment every 15
const ATTEMPTS = 10; // failures in a row before it gives up

/** Worth another attempt, after `wait` seconds where the server says how long. */
export class Interrupted extends Error {
  constructor(reason, wait) {
    super(reason);
    this.wait = wait;
  }
}

/** Another attempt would get the same answer. */
export class Refused extends Error {
  constructor(status, reason) {
    super(`${status}: ${reason}`);
    this.status = status;
  }
}

export class Client {
  results = new Map(); // the newest of each id
  failures = 0; // in a row

  /**
   * `onResult(result, before)` is called for each result, and again when it has grown (`before` is what it was then);
   * `say(text)` tells how it goes.
   */
  constructor({ url, key, onResult = () => {}, say = () => {} }) {
    Object.assign(this, { url: url.replace(/\/+$/, ""), key, onResult, say });
  }

  /** Resolves to the data of the `done` frame; what was found is in `results` then. */
  async search(type, query) {
    const body = JSON.stringify({ type, query });
    // Every attempt sends the same key, so that there is only one search and one charge.
    const headers = { "Content-Type": "application/json", "Idempotency-Key": await randomId() };
    const runId = await this.persist(() => this.start({ method: "POST", headers, body }));
    this.say(`run ${runId}`);
    return this.persist(() => this.follow(runId));
  }

  async start(request) {
    let text = "";
    for await (const piece of this.ask("/v1/searches", request)) text += piece;
    return JSON.parse(text).run_id;
  }

  /** Attaches. A stream begins with all results so far: nothing is lost between two of them. */
  async follow(runId) {
    for await (const { event, data } of events(this.ask(`/v1/searches/${runId}/stream`))) {
      this.failures = 0;
      if (event === "result") {
        this.take(data);
      } else if (event === "done" && data.status !== "timeout") {
        return data;
      } else if (["done", "reconnect", "error"].includes(event)) {
        throw new Interrupted(data.message ?? event, data.retry_after); // the run continues
      }
    }
    throw new Interrupted("the stream ended without a done frame");
  }

  /** A result comes again when the stream is replayed, and when it has grown: the newest counts. */
  take(result) {
    const before = this.results.get(result.id);
    this.results.set(result.id, result);
    if (JSON.stringify(before) !== JSON.stringify(result)) this.onResult(result, before);
  }

  /** Repeats `attempt` until it succeeds, is refused, or fails too often in a row. */
  async persist(attempt) {
    for (;;) {
      try {
        return await attempt();
      } catch (trouble) {
        if (!isTrouble(trouble) || ++this.failures >= ATTEMPTS) throw trouble;
        const wait = trouble.wait ?? Math.min(2 ** this.failures, 30) * (0.5 + Math.random() / 2);
        this.say(`${trouble.message}; again in ${wait.toFixed(1)} s`);
        await new Promise((resolve) => setTimeout(resolve, wait * 1000));
      }
    }
  }

  /** The text of an answer, piece by piece as it comes. */
  async *ask(path, { headers, ...request } = {}) {
    const abort = new AbortController();
    let timer;
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(new Error(`nothing came for ${SILENCE} s`)), SILENCE * 1000);
    };
    try {
      alive();
      const all = { Authorization: `Bearer ${this.key}`, ...headers };
      const answer = await fetch(this.url + path, { ...request, headers: all, signal: abort.signal });
      if (!answer.ok) throw await troubleOf(answer);
      const [reader, decoder] = [answer.body.getReader(), new TextDecoder()];
      for (let read; !(read = await reader.read()).done; alive()) {
        yield decoder.decode(read.value, { stream: true });
      }
    } catch (error) {
      if (error instanceof Interrupted || error instanceof Refused) throw error;
      throw new Interrupted(error.cause?.message || error.message);
    } finally {
      clearTimeout(timer);
      abort.abort(); // closes the connection if more could arrive
    }
  }
}

/** A SyntaxError is JSON of which a part did not come. */
const isTrouble = (error) => error instanceof Interrupted || error instanceof SyntaxError;

/** The frames of a text/event-stream. Half a frame at its end is none. */
export async function* events(pieces) {
  let [rest, event, data] = ["", "message", []];
  for await (const piece of pieces) {
    const lines = (rest + piece).split(/\r?\n/);
    rest = lines.pop();
    for (const line of lines) {
      const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
      if (field === "event") {
        event = value;
      } else if (field === "data") {
        data.push(value);
      } else if (line === "") {
        if (data.length) yield { event, data: JSON.parse(data.join("\n")) };
        [event, data] = ["message", []];
      }
    }
  }
}

async function troubleOf(answer) {
  const reason = await answer.json().then((body) => body.message, () => answer.statusText);
  if (answer.status < 500 && ![408, 409, 429].includes(answer.status)) return new Refused(answer.status, reason);
  const wait = answer.headers.get("Retry-After");
  return new Interrupted(`${answer.status}: ${reason}`, /^\d+$/.test(wait) ? Number(wait) : undefined);
}

async function randomId() {
  const crypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // Node 18 has it only as a module
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// ---- the program, in Node ---------------------------------------------------------------------------------------

/** Resolves to the exit code. */
async function main(args, { SIGHTLINE_URL: url = "http://127.0.0.1:8080", SIGHTLINE_API_KEY = "" }) {
  const [say, key] = [(text) => console.error(text), SIGHTLINE_API_KEY.trim()];
  let wrong;
  if (args.length !== 2) wrong = "usage: search.mjs email|username|domain QUERY";
  else if (!/^https?:\/\//.test(url)) wrong = "SIGHTLINE_URL is not an http:// or https:// address";
  else if (!/^[!-~]+$/.test(key)) wrong = "set SIGHTLINE_API_KEY to your API key";
  if (wrong) {
    say(wrong);
    return 2;
  }
  const onResult = (result, before) => before ?? say(`${result.platform ?? result.type}: ${result.value}`);
  const client = new Client({ url, key, onResult, say });
  try {
    const done = await client.search(...args);
    const results = [...client.results.values()].sort((one, other) => one.id - other.id);
    for (const result of results) console.log(JSON.stringify(result));
    say(`${done.status}: ${results.length} results from ${done.modules_completed} modules`);
    if (done.status === "completed") return results.length > 0 ? 0 : 1;
    say(done.error?.message ?? ""); // the results of a failed run are printed, too
    return 3;
  } catch (end) {
    if (!(end instanceof Refused || isTrouble(end))) throw end;
    say(`failed: ${end.message}`);
    return end.status === 400 ? 2 : 3;
  }
}

async function isProgram() {
  if (!globalThis.process?.argv?.[1]) return false;
  const [{ realpathSync }, { pathToFileURL }] = [await import("node:fs"), await import("node:url")];
  return import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href;
}

if (await isProgram()) process.exitCode = await main(process.argv.slice(2), process.env);
