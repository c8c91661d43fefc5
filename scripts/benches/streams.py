"""Thousands of streams of one run that finds something about once a second."""

import datetime
import http.server
import json
import multiprocessing
import os
import re
import resource
import selectors
import socket
import sys
import threading
import time

from .server import Server, percentile

COUNTS = (2000, 5000)
SECONDS = 20
# The run must last longer than attaching and measuring.
MODULES = 300


class Site(http.server.BaseHTTPRequestHandler):
    """A site on which one name exists everywhere, and which answers once a second."""

    turn = threading.Lock()
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        known = self.path.endswith("/everybody")
        if known:
            with self.turn:
                time.sleep(1)
        body = b"<h1>everybody</h1>" if known else b"nobody"
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Sites(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # The server under measurement stops in the middle of a check.


def catalogue(folder, port):
    modules = [
        {
            "id": f"site_{number}",
            "platform": f"Site {number}",
            "type": "username",
            "category": "other",
            "home": f"http://127.0.0.1:{port}/",
            "probes": [{"url": f"http://127.0.0.1:{port}/{number}/{{query}}"}],
            "hit": [{"status": [200]}],
            "miss": [{"status": [404]}],
        }
        for number in range(MODULES)
    ]
    path = os.path.join(folder, "sites.json")
    with open(path, "w") as file:
        json.dump(modules, file)
    return path


def attach(server, run, count):
    request = f"GET /v1/searches/{run}/stream HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {server.key}\r\n\r\n".encode()
    sockets = []
    while len(sockets) < count:
        # Of more requests at once than may wait for a worker, some would be refused.
        lot = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(min(500, count - len(sockets)))]
        for connection in lot:
            connection.sendall(request)
        for connection in lot:
            connection.settimeout(60)
            if b" 200 " not in connection.recv(12 + 3):
                sys.exit("a stream was refused")
            connection.setblocking(False)
        sockets += lot
    return sockets


def read(sockets, until):
    """The received data, each piece with the time at which it was read."""
    selector = selectors.EpollSelector()
    for connection in sockets:
        selector.register(connection, selectors.EVENT_READ)
    pieces = []
    while (left := until - time.time()) > 0:
        for key, _ in selector.select(left):
            pieces.append((key.fileobj.recv(65536), time.time()))
    if any(not piece for piece, _ in pieces):
        sys.exit("a stream broke off")
    return pieces


def delays(pieces, since):
    """Returns the milliseconds from a result's creation to its arrival."""
    for piece, came in pieces:
        for date in re.findall(rb'event: result\n(?:.*\n)*?data: .*?"created_at":"([^"]+)Z"', piece):
            dated = datetime.datetime.fromisoformat(date.decode() + "+00:00").timestamp()
            if dated >= since:
                # The time of a result is truncated to milliseconds, which is half a millisecond too early on average.
                yield (came - dated) * 1000 - 0.5


def ask_health(port, seconds, answer):
    """Requests health about 50 times a second on one connection."""
    connection = socket.create_connection(("127.0.0.1", port), 10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    took, until = [], time.time() + seconds
    while time.time() < until:
        began = time.time()
        connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n")
        connection.recv(65536)
        took.append((time.time() - began) * 1000)
        time.sleep(0.02)
    answer.send(took)


def measure(server, run, count):
    before, threads = server.memory_mib("VmRSS"), server.count("task")
    sockets = attach(server, run, count)
    read(sockets, time.time() + 3)
    memory = lambda: (server.memory_mib("VmRSS") - before) * 1024 / count
    young = memory()
    answer, asked = multiprocessing.Pipe(False)
    asker = multiprocessing.Process(target=ask_health, args=(server.port, SECONDS, asked))
    asker.start()
    began, cpu = time.time(), server.cpu_seconds()
    pieces = read(sockets, began + SECONDS)
    cpu = (server.cpu_seconds() - cpu) / (time.time() - began)
    took = answer.recv()
    asker.join()
    # Longer than the idle timeout: until then the HTTP library waits on each connection for a next request.
    settled = memory()
    late = list(delays(pieces, began))
    frames = sum(piece.count(b"event: ") for piece, _ in pieces)
    print(
        f"  {count} streams: {settled:.1f} KiB each ({young:.1f} in their first seconds), {cpu * 100:.0f}% of a core, {frames / count / SECONDS:.1f} frames a second and "
        f"stream; frame delay p50 {percentile(late, 0.5):.0f} ms, p99 {percentile(late, 0.99):.0f} ms; health p50 "
        f"{percentile(took, 0.5):.1f} ms, p99 {percentile(took, 0.99):.1f} ms; {server.count('task') - threads} threads more, "
        f"{server.count('fd')} descriptors"
    )
    for connection in sockets:
        connection.close()


def bench_streams(folder):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    site = Sites(("127.0.0.1", 0), Site)
    sites = multiprocessing.Process(target=site.serve_forever, daemon=True)
    sites.start()
    flags = ["--no-builtin", "--catalog", catalogue(folder, site.server_address[1]), "--allow-private-targets"]
    flags += ["--max-streams=5100", "--run-timeout=600s", "--check-timeout=600s", "--times=stream=600s"]
    print(f"\n== Streams of one run with a result a second, {SECONDS} s each, read by one process on the same machine")
    for count in COUNTS:
        place = os.path.join(folder, str(count))
        os.mkdir(place)
        server = Server(place, *flags)
        run = json.load(server.request("POST", "/v1/searches", {"type": "username", "query": "everybody"}))["run_id"]
        while not server.get(f"/v1/searches/{run}")["total_results"]:
            time.sleep(0.1)  # The first answer loads what all checks share.
        measure(server, run, count)
        server.stop()
    sites.terminate()
