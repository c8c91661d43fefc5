// Prints the events of a stream, one [name, data] a line, and `end` at its end: with eventsource-parser over fetch.
import { createParser } from "eventsource-parser";

const { URL, KEY, BODY } = process.env;
const headers = { Authorization: `Bearer ${KEY}`, ...(BODY && { "Content-Type": "application/json" }) };
const answer = await fetch(URL, { method: BODY ? "POST" : "GET", headers, body: BODY });
if (!answer.ok) throw new Error(`${answer.status}`);

const parser = createParser({
  onEvent: ({ event, data }) => console.log(JSON.stringify([event, JSON.parse(data)])),
  onError: (error) => {
    throw error;
  },
  onRetry: (milliseconds) => {
    throw new Error(`retry: ${milliseconds}`);
  },
});
const decoder = new TextDecoder();
for await (const piece of answer.body) parser.feed(decoder.decode(piece, { stream: true }));
console.log("end");
