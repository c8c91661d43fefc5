// Reads the Server-Sent Events of a run with fetch, which, unlike EventSource, shows the status of a refusal.

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;

// Parses one event. Returns null for a comment or an invalid event.
function parseFrame(text) {
  let event = "message";
  const data = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) event = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  if (data.length === 0) return null;
  try {
    return { event, data: JSON.parse(data.join("\n")) };
  } catch {
    return null;
  }
}

// Yields the complete events of the body in groups as they arrive. `heard` is called for every chunk.
async function* framesOf(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    yield parts.map(parseFrame).filter(Boolean);
  }
}

// Waits until the pause is over or the network is available again.
function pauseFor(milliseconds) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    addEventListener("online", end);
  });
}

// Returns the meaning of a refusal: the end, or a pause in milliseconds.
function refusal(response) {
  if (response.type === "opaqueredirect" || response.status === 401) return { end: "signedOut" };
  if (response.status === 404) return { end: "gone" };
  if (response.status < 500 && response.status !== 429) return { end: "refused" };
  return { pause: 1000 * (Number(response.headers.get("Retry-After")) || 1) };
}

// Returns the event that ends the reading, if there is one.
function endOf({ event, data }) {
  if (event === "done") return "done";
  if (event !== "error") return null;
  return { unauthorized: "signedOut", not_found: "gone" }[data.error] ?? null;
}

// Reads one connection. Returns the reason for the end, or the pause before the next attempt.
async function readOnce(address, silence, told) {
  const abort = new AbortController();
  let timer;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => abort.abort(), silence);
  };
  heard();
  try {
    const response = await fetch(address, { cache: "no-store", redirect: "manual", signal: abort.signal });
    if (!response.ok) return refusal(response);
    told.connected();
    for await (const frames of framesOf(response.body, heard)) {
      told.frames(frames);
      const end = frames.map(endOf).find(Boolean);
      if (end) return { end };
      if (frames.some(({ event }) => event === "reconnect")) return { isPlanned: true, pause: 0 };
    }
    return { pause: null };
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}

// Follows a run to its end over as many connections as needed. Each connection sends all results again, since they may
// have changed meanwhile. The reader compares them by id.
async function follow(address, silence, told) {
  let pause = FIRST_PAUSE;
  const connected = () => {
    pause = FIRST_PAUSE;
    told.connected();
  };
  for (;;) {
    const step = await readOnce(address, silence, { ...told, connected }).catch(() => ({ pause: null }));
    if (step.end) return told.ended(step.end);
    const wait = Math.min(LONGEST_PAUSE, step.pause ?? pause);
    pause = Math.min(LONGEST_PAUSE, pause * 2);
    if (!step.isPlanned) told.lost();
    await pauseFor(wait);
  }
}
