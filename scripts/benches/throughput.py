"""Requests a second with wrk: health, a finished run, starting searches; nginx with static files beside it."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

from .server import BINARY, Server, percentile

SECONDS = 2
ROUNDS = 3
CONNECTIONS = (1, 8, 64)
# The modules of a search when starts are measured: few, so that the searches themselves do not matter.
FEW_MODULES = ("github", "gitlab")


def need(program, package):
    if shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit(f"this part of scripts/bench needs {program} (Debian's package {package})")
    subprocess.run(["apt-get", "install", "-y", "-qq", package], check=True, stdout=subprocess.DEVNULL)


class Nginx:
    """Debian's nginx with static files."""

    def __init__(self, folder, files):
        root = os.path.join(folder, "static")
        os.mkdir(root)
        os.chmod(folder, 0o755)
        for name, body in files.items():
            with open(os.path.join(root, name), "wb") as file:
                file.write(body)
        probe = socket.socket()
        probe.bind(("127.0.0.1", 0))
        self.port = probe.getsockname()[1]
        probe.close()
        config = os.path.join(folder, "nginx.conf")
        with open(config, "w") as file:
            file.write(
                f"worker_processes auto; pid {folder}/nginx.pid; error_log {folder}/nginx.err; daemon off;\n"
                "events { worker_connections 1024; }\n"
                "http { access_log off; default_type application/json; keepalive_requests 1000000;\n"
                f"  server {{ listen 127.0.0.1:{self.port}; root {root}; }} }}\n"
            )
        self.process = subprocess.Popen(["/usr/sbin/nginx", "-c", config, "-p", folder], stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        sys.exit("nginx did not start")

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


class Load:
    """A request to measure, with its figures."""

    def __init__(self, port, path, key=None, script=None):
        self.url = f"http://127.0.0.1:{port}{path}"
        self.extra = ["-H", f"Authorization: Bearer {key}"] if key else []
        self.extra += ["-s", script] if script else []
        self.rounds = []

    def run(self, connections):
        threads = min(2, connections)
        command = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{SECONDS}s", "--latency", *self.extra, self.url]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        done, took = re.search(r"(\d+) requests in ([\d.]+)s", text).groups()
        failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
        failed = int(failed.group(1)) if failed else 0
        latency = {share: milliseconds(time) for share, time in re.findall(r"(50|99)%\s+([\d.]+\w+)", text)}
        self.rounds.append(((int(done) - failed) / float(took), failed, latency["50"], latency["99"]))

    def rate(self):
        return sum(each[0] for each in self.rounds) / len(self.rounds)

    def __str__(self):
        rate, failed = self.rate(), sum(each[1] for each in self.rounds)
        p50, p99 = (percentile([each[at] for each in self.rounds], 0.5) for at in (2, 3))
        refused = f", {failed} refused" if failed else ""
        return f"{rate:7.0f}/s p50 {p50:6.2f} ms p99 {p99:6.2f} ms{refused}"


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(\w+)", text).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def interleaved(connections, loads):
    """Measures each in turn, several times, so that a disturbance of the machine affects all of them."""
    for load in loads:
        load.rounds.clear()
    for _ in range(ROUNDS):
        for load in loads:
            load.run(connections)


def run_of_10_kb(server):
    """Returns a finished run whose JSON is about this long."""
    for number in range(100):
        body = {"type": "email", "query": f"u{number}@example.com", "wait": True}
        path = f"/v1/searches/{json.load(server.request('POST', '/v1/searches', body))['run_id']}"
        text = server.request("GET", path).read()
        if 8_500 <= len(text) <= 13_500:
            return path, text
    sys.exit("no search in the sandbox gives about 10 KB")


def bench_reads(folder):
    server = Server(folder, "--sandbox=perfect")
    path, run = run_of_10_kb(server)
    nginx = Nginx(folder, {"run.json": run, "health.json": server.request("GET", "/v1/health").read()})
    print(f"\n== Requests a second with wrk, {ROUNDS} times {SECONDS} s each, by turns; the run has {len(run)} bytes")
    pairs = {
        "health": (Load(server.port, "/v1/health"), Load(nginx.port, "/health.json")),
        "run": (Load(server.port, path, server.key), Load(nginx.port, "/run.json")),
    }
    for name, (ours, theirs) in pairs.items():
        for connections in CONNECTIONS:
            interleaved(connections, (theirs, ours))
            ratio = ours.rate() / theirs.rate()
            print(f"  {name:6} {connections:2} connections: {ours}   nginx {theirs}   ratio {ratio:.2f}")
    nginx.stop()
    print(f"  afterwards: {server.count('task')} threads, {server.count('fd')} descriptors, {server.memory_mib('VmRSS'):.0f} MiB")
    server.stop()


def starter(folder):
    """Returns a wrk script in which each request starts a search for another name. As a client with manners, a thread
    pauses after a refusal: otherwise the refusals of a full queue take the processors from the searches."""
    path = os.path.join(folder, "start.lua")
    with open(path, "w") as file:
        file.write(
            'local threads, count, pause = 0, 0, 0\n'
            'function setup(it) it:set("thread", threads); threads = threads + 1 end\n'
            'function init() salt = math.floor(os.time() % 100000) end\n'
            'function request()\n  count = count + 1\n'
            '  local body = string.format(\'{"type":"username","query":"n%d-%d-%d"}\', salt, thread, count)\n'
            '  return wrk.format("POST", nil, {["Content-Type"] = "application/json", ["Authorization"] = '
            'wrk.headers["Authorization"]}, body)\nend\n'
            'function response(status) if status == 503 then pause = 50 end end\n'
            'function delay() local after = pause; pause = 0; return after end\n'
        )
    return path


def few_modules(folder):
    flags = ["--no-builtin"]
    for module in FEW_MODULES:
        path = os.path.join(folder, f"{module}.json")
        with open(path, "w") as file:
            subprocess.run([BINARY, "catalog", "show", module], check=True, stdout=file)
        flags += ["--catalog", path]
    return flags


def bench_starts(folder):
    flags = ["--sandbox=perfect", *few_modules(folder)]
    postgres = os.environ["SIGHTLINE_TEST_POSTGRES"]
    servers = {"SQLite": Server(folder, *flags), "PostgreSQL": Server(folder, *flags, database=postgres)}
    script = starter(folder)
    print(f"\n== Searches started a second (POST /v1/searches, sandbox, {len(FEW_MODULES)} modules each, answered 200)")
    loads = {name: Load(server.port, "/v1/searches", server.key, script) for name, server in servers.items()}
    for connections in CONNECTIONS:
        interleaved(connections, list(loads.values()))
        print(f"  {connections:2} connections: " + "   ".join(f"{name} {load}" for name, load in loads.items()))
    bench_round_trips(servers["PostgreSQL"], postgres)
    for server in servers.values():
        server.stop()


def bench_round_trips(server, postgres):
    """Measures the database transactions of repeated reads of one finished run."""
    body = {"type": "username", "query": "round-trips", "wait": True}
    path = f"/v1/searches/{json.load(server.request('POST', '/v1/searches', body))['run_id']}"
    while server.get("/v1/searches?status=running")["count"]:
        time.sleep(0.1)
    # PostgreSQL reports the transactions of a session after it has been idle for a second.
    time.sleep(2)
    before, reads = transactions(postgres), Load(server.port, path, server.key)
    reads.run(8)
    time.sleep(2)
    asked = transactions(postgres) - before
    print(f"  authenticated reads of a finished run: {reads.rate() * SECONDS:.0f} reads, {asked} database transactions in all")


def transactions(postgres):
    query = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    return int(subprocess.run(["psql", "-XAtc", query, postgres], check=True, capture_output=True, text=True).stdout)


def bench_throughput(folder):
    need("wrk", "wrk")
    need("nginx", "nginx-light")
    bench_reads(folder)
    starts = os.path.join(folder, "starts")
    os.mkdir(starts)
    bench_starts(starts)
