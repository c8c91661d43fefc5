#!/usr/bin/env python3
"""Starts a search, follows it to its end and prints the results, one JSON object on each line.

    export SIGHTLINE_URL=http://127.0.0.1:8080 SIGHTLINE_API_KEY=sl_live_...
    ./search.py username octocat > found.ndjson

Survives dropped connections, restarts of the server and rate limits: no result is lost or duplicated, and the
search is charged once. Exit codes: 0 something was found, 1 nothing was found, 2 usage, 3 failed.
Python 3.8 or newer, standard library only.
"""

import http.client
import json
import os
import random
import sys
import time
import urllib.error
import urllib.request
import uuid

SILENCE = 45  # seconds; an open stream sends at least a comment every 15
ATTEMPTS = 10  # failures in a row before it gives up


class Interrupted(Exception):
    """An error that another attempt may avoid, after `wait` seconds if the server named a time."""

    def __init__(self, reason, wait=None):
        super().__init__(reason)
        self.wait = wait


class Refused(Exception):
    """An error that another attempt cannot avoid."""

    def __init__(self, status, reason):
        super().__init__(f"{status}: {reason}")
        self.status = status


# The errors of a dropped connection.
TROUBLE = (Interrupted, OSError, http.client.HTTPException, json.JSONDecodeError)


class Client:
    def __init__(self, url, key):
        self.url, self.key = url.rstrip("/"), key
        self.results = {}  # the newest of each id
        self.failures = 0  # in a row

    def search(self, search_type, query):
        """Returns the data of the `done` event. The results are in `self.results`."""
        body = {"type": search_type, "query": query}
        # Every attempt sends the same key, so that there is only one search and one charge.
        headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
        run_id = self.persist(lambda: self.start(body, headers))
        say(f"run {run_id}")
        return self.persist(lambda: self.follow(run_id))

    def start(self, body, headers):
        with self.ask("/v1/searches", json.dumps(body).encode(), headers) as answer:
            return json.load(answer)["run_id"]

    def follow(self, run_id):
        """Attaches to the run. A stream begins with all results so far, so none is lost between two streams."""
        with self.ask(f"/v1/searches/{run_id}/stream") as stream:
            for event, data in events(stream):
                self.failures = 0
                if event == "result":
                    self.take(data)
                elif event == "done" and data["status"] != "timeout":
                    return data
                elif event in ("done", "reconnect", "error"):  # the run continues
                    raise Interrupted(data.get("message", event), data.get("retry_after"))
        raise Interrupted("the stream ended without a done frame")

    def take(self, result):
        """Keeps the newest of each result: results are sent again after a reattach, and when they get more sources."""
        if result["id"] not in self.results:
            say(f"{result['platform'] or result['type']}: {result['value']}")
        self.results[result["id"]] = result

    def persist(self, attempt):
        """Repeats `attempt` until it succeeds, is refused, or fails too often in a row."""
        while True:
            try:
                return attempt()
            except TROUBLE as trouble:
                self.failures += 1
                if self.failures >= ATTEMPTS:
                    raise
                wait = getattr(trouble, "wait", None)
                if wait is None:
                    wait = min(2**self.failures, 30) * random.uniform(0.5, 1)
                say(f"{trouble or type(trouble).__name__}; again in {wait:.1f} s")
                time.sleep(wait)

    def ask(self, path, body=None, headers={}):
        request = urllib.request.Request(self.url + path, body, headers)
        request.add_unredirected_header("Authorization", f"Bearer {self.key}")
        try:
            return urllib.request.urlopen(request, timeout=SILENCE)
        except urllib.error.HTTPError as answer:
            reason = message_of(answer)
            if answer.code in (408, 409, 429) or answer.code >= 500:
                wait = answer.headers.get("Retry-After", "")
                raise Interrupted(f"{answer.code}: {reason}", int(wait) if wait.isdecimal() else None)
            raise Refused(answer.code, reason)


def events(stream):
    """Yields the events of a text/event-stream as (event, data). An incomplete event at the end is ignored."""
    event, data = "message", []
    for line in stream:
        line = line.decode("utf-8", "replace").rstrip("\r\n")
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            event = value
        elif field == "data":
            data.append(value)
        elif not line:
            if data:
                yield event, json.loads("\n".join(data))
            event, data = "message", []


def message_of(answer):
    """Returns the message in the body of an error, if it is complete."""
    try:
        return json.load(answer)["message"]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return answer.reason


def say(text):
    print(text, file=sys.stderr)


def main():
    url = os.environ.get("SIGHTLINE_URL", "http://127.0.0.1:8080")
    key = os.environ.get("SIGHTLINE_API_KEY", "").strip()
    if len(sys.argv) != 3:
        say(f"usage: {sys.argv[0]} email|username|domain QUERY")
        return 2
    if not url.startswith(("http://", "https://")):
        say("SIGHTLINE_URL is not an http:// or https:// address")
        return 2
    if not (key.isascii() and key.isprintable() and key):
        say("set SIGHTLINE_API_KEY to your API key")
        return 2
    client = Client(url, key)
    try:
        done = client.search(sys.argv[1], sys.argv[2])
    except (Refused, *TROUBLE) as end:
        say(f"failed: {end}")
        return 2 if getattr(end, "status", None) == 400 else 3
    for _, result in sorted(client.results.items()):
        print(json.dumps(result))
    say(f"{done['status']}: {len(client.results)} results from {done['modules_completed']} modules")
    if done["status"] != "completed":  # the results of a failed run are printed, too
        say((done.get("error") or {}).get("message", ""))
        return 3
    return 0 if client.results else 1


if __name__ == "__main__":
    sys.exit(main())
