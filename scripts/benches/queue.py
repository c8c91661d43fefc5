"""Accepted searches a second: with an empty queue, with a long one, with 500 streams of waiting searches, and with free
drivers."""

import json
import os
import socket
import threading
import time

from .scale import Client, Postgres, Sqlite
from .server import Server
from .streams import attach

CLIENTS = 8
STARTS = 240
ROUNDS = int(os.environ.get("SIGHTLINE_BENCH_ROUNDS", "7"))
# The queue takes 1,000.
QUEUED = 700
STREAMS = 500


def module(name, port):
    home = f"http://127.0.0.1:{port}/"
    rules = {"hit": [{"status": [200]}], "miss": [{"status": [404]}]}
    about = {"id": name, "platform": name, "type": "username", "category": "other", "home": home}
    return {**about, "probes": [{"url": home + "{query}"}], **rules}


def catalogue(folder, silent):
    """Writes a catalogue of a site that nobody listens for, whose checks end at once, and of one that never answers."""
    nobody = socket.create_server(("127.0.0.1", 0))
    modules = [module("nobody", nobody.getsockname()[1]), module("silent", silent.getsockname()[1])]
    nobody.close()
    path = os.path.join(folder, "sites.json")
    with open(path, "w") as file:
        json.dump(modules, file)
    return path


class Side:
    """A server in one of the states. With `drivers=0`, its only driver is busy."""

    def __init__(self, name, store, flags, folder, drivers=0, queued=0, streams=0):
        self.name, self.store, self.rates, self.number = name, store(folder), [], 0
        self.server = Server(folder, *flags, f"--max-runs={drivers or 1}", database=self.store.url)
        self.clients = [Client(self.server) for _ in range(CLIENTS)]
        if not drivers:
            self.start(self.clients[0], "silent")
        self.queue = self.starts(queued)
        self.sockets = [stream for run in self.queue[:streams] for stream in attach(self.server, run, 1)]

    def start(self, client, module="nobody"):
        self.number += 1
        body = {"type": "username", "query": f"name{self.number}", "modules": [module]}
        return client.timed("POST", "/v1/searches", body)[1]["run_id"]

    def starts(self, count):
        runs = []

        def work(client):
            for _ in range(count // CLIENTS):
                runs.append(self.start(client))

        threads = [threading.Thread(target=work, args=(client,)) for client in self.clients]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        return runs

    def round(self):
        began = time.time()
        runs = self.starts(STARTS)
        self.rates.append(len(runs) / (time.time() - began))
        while not self.queue and self.name == "free drivers" and self.server.get("/v1/searches?status=running")["count"]:
            time.sleep(0.05)
        for run in runs:
            self.server.request("DELETE", f"/v1/searches/{run}").read()

    def stop(self):
        [stream.close() for stream in self.sockets]
        self.server.stop()
        self.store.drop()


def bench_queue(folder):
    silent = socket.create_server(("127.0.0.1", 0))
    flags = ["--no-builtin", "--catalog", catalogue(folder, silent), "--allow-private-targets", "--max-streams=600"]
    flags += ["--run-timeout=600s", "--check-timeout=600s", "--times=stream=600s", "--drain-timeout=1s"]
    for store in (Sqlite, Postgres):
        sides = [
            Side("empty queue", store, flags, folder),
            Side(f"{QUEUED} queued", store, flags, folder, queued=QUEUED),
            Side(f"{STREAMS} streams", store, flags, folder, queued=STREAMS, streams=STREAMS),
            Side("free drivers", store, flags, folder, drivers=64),
        ]
        for _ in range(ROUNDS):
            for side in sides:
                side.round()
        print(f"\n== Searches accepted a second on {store.name}, by {CLIENTS} clients, {ROUNDS} times {STARTS}, by turns")
        middle = [sorted(side.rates)[ROUNDS // 2] for side in sides]
        for side, rate in zip(sides, middle):
            print(f"  {side.name:12} {rate:6.0f}/s, {rate / middle[0]:.2f} × of an empty queue")
            side.stop()
