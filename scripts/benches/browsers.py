"""Premium searches with real browsers on the simulated web."""

import json
import os
import re
import signal
import time

from benches.server import Server


def tree(root):
    """Returns the descendants of a process: id and command line."""
    parents, commands = {}, {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = int(open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()[1])
                commands[int(name)] = open(f"/proc/{name}/cmdline").read().replace("\0", " ")
            except OSError:
                pass
    below = {root}
    while grown := {child for child, parent in parents.items() if parent in below} - below:
        below |= grown
    return {process: commands[process] for process in below - {root}}


def share_mib(process):
    """Returns the proportional set size of a process."""
    try:
        return int(re.search(r"Pss:\s+(\d+)", open(f"/proc/{process}/smaps_rollup").read()).group(1)) / 1024
    except OSError:
        return 0


def run(server, query, modules=None, premium=True):
    body = {"type": "username", "query": query, "premium": premium, "wait": True}
    if modules:
        body["modules"] = modules
    began = time.time()
    state = json.load(server.request("POST", "/v1/searches", body))
    while state["status"] == "running":
        time.sleep(0.02)
        state = server.get(f"/v1/searches/{state['run_id']}")
    return time.time() - began, server.get(f"/v1/searches/{state['run_id']}/modules")["modules"]


def is_browser(command):
    return "--headless" in command and "--type=" not in command


def bench_premium(folder):
    print("\n== Premium searches: 27 modules in real browsers, pages of the simulated web drawn after 0.5 to 3 s")
    for sessions in (2, 4):
        database = "sqlite:" + os.path.join(folder, f"premium{sessions}.db")
        flags = ("--sandbox=realistic", "--webdriver=auto", f"--browser-sessions={sessions}", "--check-timeout=20s")
        server = Server(folder, *flags, database=database)
        listed = server.get("/v1/modules")["modules"]
        premium = [module["id"] for module in listed if module["premium"]]
        while not server.get("/v1/capabilities")["premium"].get("available", True):
            time.sleep(0.1)
        for query in ("alice", "robert"):
            wall, modules = run(server, query, premium)
            # Each session opens its pages and their control checks one after the other.
            busy = sum(module["elapsed_ms"] for module in modules) / 1000 / sessions
            print(f"  {sessions} sessions, {query}: wall {wall:.1f} s, the pages' own time {busy:.1f} s")
        browsers = tree(server.process.pid)
        used = sum(share_mib(process) for process in browsers)
        count = sum(map(is_browser, browsers.values()))
        print(f"  memory: {used / max(count, 1):.0f} MiB a session ({count} browsers, their driver among them)")
        one = premium[:1]
        healthy, _ = run(server, "carol", one)
        for process, command in tree(server.process.pid).items():
            if is_browser(command):
                os.kill(process, signal.SIGKILL)
        struck, modules = run(server, "carla", one)
        print(f"  one page: {healthy:.1f} s; after all browsers were killed: {struck:.1f} s, {modules[0]['status']}")
        server.stop()
