// Reading a run's Server-Sent Events by fetch: unlike an EventSource it sees why it was refused, and when to stop.

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;

// One frame, or null: a comment, or nothing that can be read.
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

// All whole frames of the body, in bunches as they arrive. `heard` is called for every sign of life.
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

// Until the pause is over, or the network comes back.
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

// What a refusal means: the end, or a pause in milliseconds.
function refusal(response) {
  if (response.type === "opaqueredirect" || response.status === 401) return { end: "signedOut" };
  if (response.status === 404) return { end: "gone" };
  if (response.status < 500 && response.status !== 429) return { end: "refused" };
  return { pause: 1000 * (Number(response.headers.get("Retry-After")) || 1) };
}

// What ends the reading for good among the frames.
function endOf({ event, data }) {
  if (event === "done") return "done";
  if (event !== "error") return null;
  return { unauthorized: "signedOut", not_found: "gone" }[data.error] ?? null;
}

// Reads one connection. Gives the word for the end, or the pause before the next try.
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

// Follows a run to its end over as many connections as it takes. Everything is sent anew each time: what is known
// may have changed meanwhile, and the reader tells by the id.
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
