// Completes a search with the types that openapi-typescript made of the document: URL KEY TYPE QUERY.
// Prints the id of the run as soon as it has begun, then the run.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type SearchRequest = components["schemas"]["SearchRequest"];
type Run = components["schemas"]["Run"];

const [url, key, type, query] = process.argv.slice(2) as [string, string, SearchRequest["type"], string];

function body(): SearchRequest {
  switch (type) {
    case "domain":
      return { type, query };
    case "email":
      return { type, query };
    case "username":
      return { type, query };
  }
}

async function finished(run_id: string): Promise<Run> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const { data, error } = await client.GET("/v1/searches/{run_id}", { params: { path: { run_id } } });
    if (!data) throw new Error(JSON.stringify(error));
    if (data.status !== "running") return data;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${run_id} does not end`);
}

const stranger = createClient<paths>({ baseUrl: url, headers: { "X-API-Key": `sl_live_${"0".repeat(36)}` } });
const refused = await stranger.GET("/v1/credits", {});
// Without `Accept` the error is no problem of RFC 9457.
if (!refused.error || !("error" in refused.error)) throw new Error(JSON.stringify(refused));
const code: components["schemas"]["ErrorCode"] = refused.error.error;
if (code !== "invalid_api_key") throw new Error(`a wrong key gives ${code}`);

const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });
const { data: begun, error } = await client.POST("/v1/searches", { body: body() });
// Without `stream` the answer is no event.
if (!begun || !("run_id" in begun)) throw new Error(JSON.stringify(error ?? begun));
console.log(begun.run_id);
console.log(JSON.stringify(await finished(begun.run_id)));
