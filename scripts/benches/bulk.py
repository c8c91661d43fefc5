"""Batches and watches: how fast they are accepted, what they cost others, and whether watches start in time."""

import json
import sqlite3
import threading
import time

from .server import Server, percentile

SEARCHES = 1000
# The pace of 10,000 watches an hour, for a minute.
DUE_IN_A_MINUTE = 10_000 // 60
SINGLE_SEARCHES = 5


def bench_bulk(folder):
    print("\n== Batches and watches")
    server = Server(folder, "--sandbox=realistic")
    accept(server)
    beside_a_batch(server)
    watches_in_time(server, folder)
    server.stop()


def rows(prefix, count, **more):
    return {"searches": [{"type": "username", "query": f"{prefix}{n}", **more} for n in range(count)]}


def accept(server):
    times = []
    for number in range(5):
        began = time.time()
        answer = server.request("POST", "/v1/batches", rows(f"row{number}x", SEARCHES))
        batch = json.load(answer)
        assert answer.status == 201, batch
        times.append(time.time() - began)
        assert server.request("DELETE", f"/v1/batches/{batch['batch_id']}").status == 204
    print(f"  a batch of {SEARCHES} searches is accepted in {percentile(times, 0.5):.2f} s (target 1 s)")


def single(server, name):
    began = time.time()
    answer = server.request("POST", "/v1/searches", {"type": "username", "query": name, "wait": True})
    run = json.load(answer)
    while run["status"] == "running":
        time.sleep(0.02)
        run = server.get(f"/v1/searches/{run['run_id']}")
    assert run["status"] == "completed", run
    return time.time() - began


def beside_a_batch(server):
    single(server, "warmup")
    alone = [single(server, f"alone{n}") for n in range(SINGLE_SEARCHES)]
    batch = json.load(server.request("POST", "/v1/batches", rows("beside", SEARCHES)))
    path = f"/v1/batches/{batch['batch_id']}"
    own = server.key
    server.new_key()
    beside = [single(server, f"beside-of{n}") for n in range(SINGLE_SEARCHES)]
    server.key = own
    counts = server.get(path)["counts"]
    assert counts["running"] > 0 or counts["pending"] > 0, counts
    server.request("DELETE", path)
    one, other = percentile(alone, 0.5), percentile(beside, 0.5)
    print(f"  a single search takes {one:.2f} s alone, {other:.2f} s beside another account's batch: {other / one:.2f} × (target 1.2)")
    while server.get(path)["ended_at"] is None:
        time.sleep(0.1)


def watches_in_time(server, folder):
    def create(numbers):
        for n in numbers:
            body = {"type": "username", "query": f"watched{n}", "modules": ["github"], "every": "1h"}
            assert server.request("POST", "/v1/watches", body).status == 201

    threads = [threading.Thread(target=create, args=(range(n, DUE_IN_A_MINUTE, 4),)) for n in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    database = sqlite3.connect(server.database.removeprefix("sqlite:"), timeout=30)
    now = int(time.time() * 1000)
    due = {}
    with database:
        for n, (watch,) in enumerate(database.execute("SELECT id FROM watches").fetchall()):
            due[watch] = now + n * 60_000 // DUE_IN_A_MINUTE
            database.execute("UPDATE watches SET next_at = ? WHERE id = ?", (due[watch], watch))
    began = {}
    while len(began) < len(due) and time.time() * 1000 < now + 180_000:
        time.sleep(0.5)
        began = dict(database.execute("SELECT watch, min(created_at) FROM runs WHERE watch IS NOT NULL GROUP BY watch"))
    late = [(began[watch] - due[watch]) / 1000 for watch in began]
    print(
        f"  {len(began)} of {len(due)} watches due within a minute have started, p50 {percentile(late, 0.5):.1f} s and at most "
        f"{max(late):.1f} s after their moment (target 60 s)"
    )
