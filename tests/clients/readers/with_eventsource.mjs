// Prints the events of a stream, one [name, data] a line, and `end` at its end: with eventsource. With FOLLOW set it is
// left to connect again by itself, until `done` comes.
import { EventSource } from "eventsource";

const { URL, KEY, FOLLOW } = process.env;
const withKey = (input, init) =>
  fetch(input, { ...init, headers: { ...init.headers, Authorization: `Bearer ${KEY}` } });
const source = new EventSource(URL, { fetch: withKey });
const end = () => {
  source.close();
  console.log("end");
};

for (const name of ["run", "result", "progress", "done", "reconnect", "error", "message"]) {
  source.addEventListener(name, (event) => {
    if (event.data !== undefined) console.log(JSON.stringify([name, JSON.parse(event.data)]));
    // Without data it is its own: the stream has ended, or was refused.
    else if (event.code !== undefined) throw new Error(`${event.code} ${event.message}`);
    if (FOLLOW ? name === "done" : event.data === undefined) end();
  });
}
