"""A web of 500 sites on loopback addresses for `scripts/bench search`: nginx speaks TLS, this program answers behind it, or by
itself for the sites that stall or break off where nginx would not.

The delays are log-normal with a median of 350 ms, a 90th percentile of 1.5 s and a 99th of 5 s, at most 8 s. 2 % of the
sites never answer, some refuse connections, block, limit or fail, and some keep checks from a conclusion for long in other
ways. About 30 % of the live sites know a name that begins with `bench`, and no other name.
"""

import asyncio
import functools
import hashlib
import heapq
import json
import math
import os
import random
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import time

SITES = 500
MEDIAN, SIGMA, SLOWEST = 0.35, 1.135, 8.0
HIT_SHARE = 0.3
# The number of sites of each kind. All others are live. "turned" answers a few requests and drips then, "partly" is silent for
# half of the names, and "unknowing" for all that nobody has, those of control checks.
KINDS = {
    **{"silent": 10, "refused": 3, "limited": 5, "blocked": 15, "broken": 5},
    **{"head_only": 1, "head_drips": 1, "body_drips": 1, "endless": 1, "redirected": 1, "loops": 1, "cut": 1, "turned": 1},
    **{"slow_limited": 1, "slow_blocked": 1, "slow_broken": 1, "partly": 1, "unknowing": 1},
    **{"tls_stalls": 1, "tls_reset": 1, "head_reset": 1, "body_reset": 1},
    # Their name servers are silent. Only who may mount another resolv.conf can play that.
    **({"dns_stalls": 1} if subprocess.call("unshare --mount true", shell=True, stderr=subprocess.DEVNULL) == 0 else {}),
}
# The kinds of the sites with a listener of their own, and those of them that make no TLS connection.
OWN_KINDS = ("tls_stalls", "tls_reset", "head_drips", "head_reset", "body_reset", "endless")
TLS_KINDS = ("tls_stalls", "tls_reset")
# What costs searches time: these kinds are played alone as well.
STALLING_KINDS = [kind for kind in KINDS if kind not in ("refused", "limited", "blocked", "broken")]
# The number of sites of a web in which one kind is played alone, of that kind in it, and the share of their delay.
SITES_ALONE, OF_KIND_ALONE, FAST = 60, 2, 0.3
# The kinds of the sites that tell the truth, if anything.
TRUE_KINDS = ("live", "turned", "partly", "unknowing")
# The delay of slow sites without a conclusion, and of each redirect that leads to another one.
SLOW_SECS, REDIRECT_SECS = 6, 1.5
DRIP_SECS = 0.3
# The number of requests that a site answers before it drips.
ANSWERS_BEFORE_TURN = 4
PAGE_BYTES = 30_000
SITES_OF_CERTIFICATE = 20
RETRY_AFTER_SECS = 30
# The silent name server.
NAME_SERVER = "127.77.9.9"


def fraction(*parts):
    digest = hashlib.sha256("|".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


class Sites:
    """The kind and the delays of each site, of all kinds or of one. Equal seeds give equal sites."""

    def __init__(self, seed, alone=None):
        dice = random.Random(seed)
        counts, self.count, share = KINDS, SITES, 1
        if alone:
            counts, self.count, share = {alone: OF_KIND_ALONE}, SITES_ALONE, FAST
        if alone == "redirected":
            # One of the others is what it leads to.
            counts["silent"] = 1
        kinds = [kind for kind, count in counts.items() for _ in range(count)]
        self.kinds = kinds + ["live"] * (self.count - len(kinds))
        dice.shuffle(self.kinds)
        self.base = [share * min(SLOWEST, MEDIAN * math.exp(dice.gauss(0, SIGMA))) for _ in range(self.count)]
        self.seed = seed

    def delay(self, site, name):
        return min(SLOWEST, self.base[site] * (0.8 + 0.4 * fraction(self.seed, "delay", site, name)))

    def knows(self, site, name):
        knows_names = self.kinds[site] in ("live", "unknowing")
        return knows_names and name.startswith("bench") and fraction(self.seed, "knows", site, name) < HIT_SHARE

    def hits(self, name):
        """Returns the module ids of the sites that know the name, each with its delay."""
        return {module_id(site): self.delay(site, name) for site in range(self.count) if self.knows(site, name)}

    def slowest(self, name):
        return max(self.delay(site, name) for site in range(self.count) if self.kinds[site] == "live")

    def busiest(self, names, at_once):
        """Returns how long the slowest site alone takes to answer for all names, with a number of requests at once.
        It depends on the order of the names; this is the median of many orders."""
        slowest = max((site for site in range(self.count) if self.kinds[site] == "live"), key=self.base.__getitem__)
        delays, dice, times = [self.delay(slowest, name) for name in names], random.Random(self.seed), []
        for _ in range(500):
            dice.shuffle(delays)
            free = [0.0] * at_once
            for delay in delays:
                heapq.heapreplace(free, free[0] + delay)
            times.append(max(free))
        return statistics.median(times)


def module_id(site):
    return f"site_{site:03}"


def address(site):
    return f"127.77.{site // 250}.{site % 250 + 1}"


def free_port():
    probe = socket.socket()
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    probe.close()
    return port


class World:
    """The running web. `catalog` and `ca` are the files for `--catalog` and `--ca-file`."""

    def __init__(self, folder, seed=1, alone=None):
        self.sites, self.folder = Sites(seed, alone), folder
        self.catalog, self.ca = os.path.join(folder, "sites.json"), os.path.join(folder, "ca.pem")
        self.tls_port, back_port, closed_port, own_port = (free_port() for _ in range(4))
        self.write_catalog(closed_port, own_port)
        self.name_servers = os.path.join(folder, "resolv.conf")
        with open(self.name_servers, "w") as file:
            file.write(f"nameserver {NAME_SERVER}\n")
        self.make_certificates()
        self.log = os.path.join(folder, "first-requests")
        arguments = [str(back_port), str(self.tls_port), str(own_port), str(seed), alone or "", folder]
        self.back = subprocess.Popen([sys.executable, os.path.abspath(__file__), *arguments])
        self.nginx = subprocess.Popen(
            ["/usr/sbin/nginx", "-p", folder, "-c", self.write_config(back_port)], stderr=subprocess.DEVNULL
        )
        for port in (back_port, self.tls_port):
            self.wait_for(port)

    def wait_for(self, port):
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        sys.exit("the web of the benchmark did not start")

    def write_catalog(self, closed_port, own_port):
        entries = []
        for site, kind in enumerate(self.sites.kinds):
            port = closed_port if kind == "refused" else own_port if kind in OWN_KINDS else self.tls_port
            host = f"site{site}.example" if kind == "dns_stalls" else address(site)
            home = f"https://{host}:{port}/"
            entries.append(
                {
                    "id": module_id(site),
                    "platform": f"Site {site}",
                    "type": "username",
                    "category": "coding",
                    "home": home,
                    "profile": home + "u/{query}",
                    "probes": [{"url": home + "u/{query}", "follow": kind in ("redirected", "loops")}],
                    "hit": [{"status": [200], "css": ["div.profile"], "shows_query": True}],
                    "miss": [{"status": [404], "text": ["No such user"]}],
                    "result": {"type": "profile", "metadata": {"display_name": "css:h1"}},
                }
            )
        with open(self.catalog, "w") as file:
            json.dump(entries, file)

    def make_certificates(self):
        """Makes an authority and the sites' certificates. All sites share one key."""

        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Benchmark CA")
        openssl("req", *curve, "-keyout", "site.key", "-out", "site.csr", "-subj", "/CN=site")
        # nginx reads the key as another user.
        os.chmod(os.path.join(self.folder, "site.key"), 0o644)
        for first in range(0, self.sites.count, SITES_OF_CERTIFICATE):
            names = [address(site) for site in range(first, min(self.sites.count, first + SITES_OF_CERTIFICATE))]
            with open(os.path.join(self.folder, "site.ext"), "w") as file:
                file.write("subjectAltName=" + ",".join(f"IP:{name}" for name in names) + "\n")
            signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2", "-extfile", "site.ext", "-out", names[0] + ".pem"]
            openssl("x509", "-req", "-in", "site.csr", *signed)
            for name in names[1:]:
                os.symlink(names[0] + ".pem", os.path.join(self.folder, name + ".pem"))

    def write_config(self, back_port):
        path = os.path.join(self.folder, "nginx.conf")
        with open(path, "w") as file:
            file.write(
                f"worker_processes 1; worker_rlimit_nofile 16384; pid {self.folder}/nginx.pid;\n"
                f"error_log {self.folder}/nginx.err crit; daemon off; events {{ worker_connections 8000; }}\n"
                f"http {{ access_log off; upstream back {{ server 127.0.0.1:{back_port}; keepalive 256; }}\n"
                f"  server {{ listen 0.0.0.0:{self.tls_port} ssl backlog=4096; keepalive_timeout 15s;\n"
                f"    ssl_certificate {self.folder}/$server_addr.pem; ssl_certificate_key {self.folder}/site.key;\n"
                "    location / { proxy_pass http://back; proxy_http_version 1.1; proxy_set_header Connection '';\n"
                "      proxy_set_header X-Site $server_addr; proxy_read_timeout 300s; } } }\n"
            )
        return path

    def command(self, *arguments):
        """Returns a command that asks the silent name server, if a site needs it."""
        if "dns_stalls" not in self.sites.kinds:
            return arguments
        script = f'mount --bind {self.name_servers} /etc/resolv.conf && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, "sh", *arguments]

    def first_request(self, name):
        """Returns the time at which the first request for a name arrived, in seconds since 1970."""
        with open(self.log) as file:
            times = dict(line.split() for line in file)
        return float(times[name])

    def stop(self):
        for process in (self.nginx, self.back):
            process.terminate()
            process.wait(10)


PAGE = "<!DOCTYPE html><html><head><title>{0}</title></head><body><h1>{0}</h1>{1}<p>{2}</p></body></html>"
FILLER = "<p>" + "A line of a page, as long as those that people write. " * (PAGE_BYTES // 56) + "</p>"


def answer(sites, site, kind, name):
    """Returns status, further header lines and body of the answer of a site that is of this kind for the name."""
    kind = kind.removeprefix("slow_")
    if kind == "limited":
        return "429 Too Many Requests", f"Retry-After: {RETRY_AFTER_SECS}\r\n", "Too many requests"
    if kind == "blocked":
        return "403 Forbidden", "CF-Mitigated: challenge\r\nServer: cloudflare\r\n", "<title>Just a moment...</title>"
    if kind == "broken":
        return "500 Internal Server Error", "", "Something went wrong"
    if sites.knows(site, name):
        return "200 OK", "", PAGE.format(name, f'<div class="profile">@{name}</div>', FILLER)
    return "404 Not Found", "", PAGE.format("No such user", "", FILLER)


async def stall(kind, reader, writer):
    """Keeps a check from a conclusion without a complete answer."""
    if kind.endswith("reset"):
        # What ends the connection is a reset.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if kind == "body_reset":
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 30000\r\n\r\n<html>")
        elif kind == "head_reset":
            writer.write(b"HTTP/1.1 404 ")
        await asyncio.sleep(SLOW_SECS)
        writer.transport.abort()
        return
    if kind == "endless":
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n")
    elif kind not in ("silent", "tls_stalls"):
        writer.write(b"HTTP/1.1 404 Not Found\r\nX-Accel-Buffering: no\r\n" + (b"X: " if kind == "head_drips" else b""))
    if kind in ("head_only", "body_drips", "cut"):
        writer.write(b"Content-Type: text/html\r\nContent-Length: 30000\r\n\r\n<html>")
    await writer.drain()
    if kind == "cut":
        await asyncio.sleep(SLOW_SECS)
    while kind.endswith("drips") or kind == "endless":
        writer.write(b"x" * (1000 if kind == "endless" else 1))
        await writer.drain()
        await asyncio.sleep(DRIP_SECS)
    if kind in ("silent", "head_only", "tls_stalls"):
        await reader.read()


def redirect(sites, kind, path, port):
    """Returns a redirect to a site that is silent, or to the same site."""
    if kind == "loops":
        return "302 Found", f"Location: {path}x\r\n", ""
    silent = address(sites.kinds.index("silent"))
    return "302 Found", f"Location: https://{silent}:{port}{path}\r\n", ""


async def serve(port, tls_port, own_port, seed, alone, folder):
    sites, seen = Sites(seed, alone), set()
    log, asked = open(os.path.join(folder, "first-requests"), "a", buffering=1), [0] * sites.count

    async def handle(reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ", 2)[1]
                name = path.rsplit("/", 1)[1]
                if name not in seen:
                    seen.add(name)
                    log.write(f"{name} {time.time()}\n")
                third, last = head.lower().split("x-site: 127.77.")[1].split("\r\n")[0].split(".")
                site = int(third) * 250 + int(last) - 1
                kind = sites.kinds[site]
                asked[site] += 1
                if kind == "turned":
                    kind = "live" if asked[site] <= ANSWERS_BEFORE_TURN else "body_drips"
                if kind == "partly":
                    kind = "live" if fraction(sites.seed, "partly", name) < 0.5 else "silent"
                if kind == "unknowing":
                    kind = "live" if name.startswith("bench") else "silent"
                if kind in ("silent", "head_only", "body_drips", "cut"):
                    await stall(kind, reader, writer)
                    return
                slow = {"redirected": 0, "loops": REDIRECT_SECS}.get(kind, SLOW_SECS)
                is_slow = kind.startswith("slow_") or kind in ("redirected", "loops")
                await asyncio.sleep(slow if is_slow else sites.delay(site, name))
                if kind in ("redirected", "loops"):
                    status, headers, body = redirect(sites, kind, path, tls_port)
                else:
                    status, headers, body = answer(sites, site, kind, name)
                body = body.encode()
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n{headers}"
                    f"Content-Length: {len(body)}\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, IndexError):
            pass
        finally:
            writer.close()

    async def own(kind, reader, writer):
        try:
            if kind not in TLS_KINDS:
                await reader.readuntil(b"\r\n\r\n")
            await stall(kind, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    if "dns_stalls" in sites.kinds:
        name_server = socket.socket(type=socket.SOCK_DGRAM)
        name_server.bind((NAME_SERVER, 53))
    for site, kind in enumerate(sites.kinds):
        if kind in OWN_KINDS:
            tls = None if kind in TLS_KINDS else ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            if tls:
                tls.load_cert_chain(os.path.join(folder, address(site) + ".pem"), os.path.join(folder, "site.key"))
            await asyncio.start_server(functools.partial(own, kind), address(site), own_port, ssl=tls)
    server = await asyncio.start_server(handle, "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(*map(int, sys.argv[1:5]), sys.argv[5], sys.argv[6]))
