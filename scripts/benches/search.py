"""Searches of 500 sites over TLS: cold, warm, with a time budget, 10 and 50 at once; the command line; its start."""

import json
import os
import statistics
import subprocess
import threading
import time

from .server import BINARY, Server, percentile
from .throughput import need
from .world import STALLING_KINDS, TRUE_KINDS, World

ROUNDS = 3
# Searches before the warm ones: enough for deadlines to be learned and circuits to open.
WARM_UP = 6
BUDGET_SECS = 6
# The time after a search until the server counts as at rest.
REST_SECS = 15
# The default of --host-concurrency.
HOST_CONCURRENCY = 10


class Search:
    """A search with its stream, and what its end and the time of each hit show."""

    def __init__(self, server, name, **options):
        self.name, self.seen, self.began = name, {}, time.time()
        body = {"type": "username", "query": name, "stream": True, **options}
        response = server.request("POST", "/v1/searches", body)
        if response.status != 200:
            raise SystemExit(f"a search was refused: {response.status} {response.read().decode()}")
        kind = None
        for line in response:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
                if kind == "result":
                    self.seen.setdefault(data["source"], time.time() - self.began)
        self.wall, self.run_id, self.status = time.time() - self.began, data["run_id"], data["status"]
        self.modules = server.get(f"/v1/searches/{self.run_id}/modules")["modules"]

    def count(self, *reasons):
        return sum(module["reason"] in reasons for module in self.modules)

    def judge(self, world):
        """Returns the shares of the hits that were found, and the numbers of wrong hits and of wrong misses."""
        truth = world.sites.hits(self.name)
        ended = {module["module"]: module["status"] for module in self.modules}
        hits = {name for name, status in ended.items() if status == "hit"}
        # A block, a limit, an error and a silent site must never be told as a miss.
        true = {f"site_{site:03}" for site, kind in enumerate(world.sites.kinds) if kind in TRUE_KINDS}
        wrong = sum(status == "miss" and (name in truth or name not in true) for name, status in ended.items())
        return len(hits & truth.keys()) / len(truth), len(hits - truth.keys()), wrong


def at_once(server, count, prefix):
    """Starts searches at the same time. Returns them, and the time until the last has ended."""
    done, began = [], time.time()
    threads = [
        threading.Thread(target=lambda number=number: done.append(Search(server, f"bench{prefix}{number}")))
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done, time.time() - began


def summary(world, searches):
    found, false_hits, false_misses = zip(*(search.judge(world) for search in searches))
    return f"hits {statistics.mean(found):.1%}, wrong hits {sum(false_hits)}, wrong misses {sum(false_misses)}"


def row(label, world, searches, cpu):
    """Prints a row of single searches: medians, and each time as a ratio to the sites' own times."""
    own = [world.sites.slowest(search.name) for search in searches]
    ratio = statistics.median(search.wall / slowest for search, slowest in zip(searches, own))
    shares = []
    for share in (0.5, 0.9):
        seen = [percentile(list(search.seen.values()), share) for search in searches]
        sites = [percentile(list(world.sites.hits(search.name).values()), share) for search in searches]
        shares.append(f"{statistics.median(seen):.2f} s ({statistics.median(a / b for a, b in zip(seen, sites)):.2f}x)")
    wall = statistics.median(search.wall for search in searches)
    print(
        f"  {label:11} {wall:5.2f} s, {ratio:.2f}x the slowest live site; half of the hits after {shares[0]}, 90 % after "
        f"{shares[1]}; CPU {cpu / len(searches):.2f} s; not asked {searches[-1].count('circuit_open')}, cut by a learned "
        f"deadline {searches[-1].count('learnt_deadline')}, by the budget {searches[-1].count('time_budget')}; "
        f"{summary(world, searches)}",
        flush=True,
    )


def measured(server, searches):
    before = server.cpu_seconds()
    return searches(), server.cpu_seconds() - before


def bench_server(folder, world, flags):
    cold, cpu = [], 0
    for number in range(ROUNDS):
        if cold:
            server.stop()
        database = "sqlite:" + os.path.join(folder, f"bench{number}.db")
        server = Server(folder, *flags, database=database, within=world.command)
        (search,), used = measured(server, lambda: [Search(server, f"benchcold{number}")])
        cold.append(search)
        cpu += used
    row("cold", world, cold, cpu)
    # Idle connections and check workers end within seconds.
    time.sleep(REST_SECS)
    rest = server.memory_mib("VmRSS")
    for number in range(WARM_UP):
        Search(server, f"benchlearn{number}")
    # What was learned is shared within seconds; the figures below start from a stored state.
    warm, cpu = measured(server, lambda: [Search(server, f"benchwarm{number}") for number in range(ROUNDS)])
    row("warm", world, warm, cpu)
    cut, cpu = measured(
        server, lambda: [Search(server, f"benchcut{number}", time_budget=BUDGET_SECS) for number in range(ROUNDS)]
    )
    row(f"{BUDGET_SECS} s budget", world, cut, cpu)
    for count in (10, 50):
        rates, shares, ended, cpu = [], [], [], 0
        for number in range(ROUNDS if count == 10 else 1):
            (searches, wall), used = measured(server, lambda: at_once(server, count, f"{count}x{number}x"))
            rates.append(60 * count / wall)
            shares.append(world.sites.busiest([search.name for search in searches], HOST_CONCURRENCY) / wall)
            ended += searches
            cpu += used
        print(
            f"  {count} at once  {statistics.median(rates):.1f} a minute, {statistics.median(shares):.1%} of what the slowest "
            f"site allows; CPU {cpu / len(ended):.2f} s a search, "
            f"{sum(search.count('run_deadline') for search in ended)} checks cut by the run's deadline; {summary(world, ended)}",
            flush=True,
        )
    time.sleep(REST_SECS)
    print(
        f"  memory: at rest after the first search {rest:.0f} MiB, after all {server.memory_mib('VmRSS'):.0f} MiB, "
        f"peak {server.memory_mib('VmHWM'):.0f} MiB"
    )
    server.stop()


def flags_of(world):
    return ["--no-builtin", "--catalog", world.catalog, "--allow-private-targets", "--ca-file", world.ca]


def bench_alone(folder, kind):
    """Prints how long searches take if only sites of one kind cost them time."""
    place = os.path.join(folder, kind)
    os.mkdir(place)
    os.chmod(place, 0o755)
    world = World(place, alone=kind)
    server = Server(place, *flags_of(world), within=world.command)
    try:
        cold = Search(server, "benchcold")
        for number in range(WARM_UP):
            Search(server, f"benchlearn{number}")
        warm = [Search(server, f"benchwarm{number}") for number in range(ROUNDS)]
        many, wall = at_once(server, 10, "many")
    finally:
        server.stop()
        world.stop()
    ratio = statistics.median(search.wall / world.sites.slowest(search.name) for search in warm)
    print(
        f"  {kind:12} cold {cold.wall:5.2f} s, warm {statistics.median(search.wall for search in warm):5.2f} s, {ratio:.2f}x the "
        f"slowest live site; ten at once {600 / wall:5.1f} a minute; {summary(world, [cold, *warm, *many])}",
        flush=True,
    )


def bench_command(world, flags):
    cpu, memory = [], []
    for number in range(ROUNDS):
        command = world.command(BINARY, "search", "username", f"benchcommand{number}", "--format", "json", *flags)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        cpu.append(usage.ru_utime + usage.ru_stime)
        memory.append(usage.ru_maxrss / 1024)
    print(f"  command     CPU {statistics.median(cpu):.2f} s, peak memory {statistics.median(memory):.0f} MiB")
    live = next(index for index, kind in enumerate(world.sites.kinds) if kind == "live")
    starts = []
    for number in range(ROUNDS):
        name = f"benchstart{number}"
        command = [BINARY, "search", "username", name, "--module", f"site_{live:03}", *flags]
        command.remove("--no-builtin")
        began = time.time()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        starts.append(world.first_request(name) - began)
    print(f"  start       {statistics.median(starts):.2f} s until the first request (with the built-in catalogue)")


def bench_search(folder):
    print("\n== Searches of 500 sites over TLS (medians; the web runs on the same processors)")
    need("nginx", "nginx-light")
    os.chmod(folder, 0o755)
    world = World(folder)
    try:
        bench_server(folder, world, flags_of(world))
        bench_command(world, flags_of(world))
    finally:
        world.stop()


def bench_stalls(folder):
    print("\n== Searches of 60 sites over TLS, of which two keep checks from a conclusion in one way (medians)")
    need("nginx", "nginx-light")
    os.chmod(folder, 0o755)
    for kind in STALLING_KINDS:
        bench_alone(folder, kind)
