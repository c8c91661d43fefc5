"""The measured server."""

import atexit
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "release", "sightline")
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """`sightline serve --sandbox` on a free port; with a new key unless it is `plain`. `within` returns the command that runs it."""

    # The newest key of each database.
    keys = {}

    def __init__(self, folder, *flags, database=None, plain=False, within=lambda *command: command):
        self.database = database or "sqlite:" + os.path.join(folder, "bench.db")
        limits = ["--rate-limits=search=1000000,stream=1000000,read=1000000"]
        began = time.time()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SIGHTLINE_BENCH_")}
        self.process = subprocess.Popen(
            within(
                *[BINARY, "serve", "--listen", "127.0.0.1:0", "--database", self.database, "--log-level", "warn"],
                *limits,
                *flags,
            ),
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        # Stops the server if a measurement fails.
        atexit.register(self.process.kill)
        line = self.process.stdout.readline()
        match = re.match(r"listening on http://127\.0\.0\.1:(\d+)", line)
        if not match:
            sys.exit(f"the server did not start: {line!r}")
        self.port, self.listening_after = int(match.group(1)), time.time() - began
        if not plain:
            self.new_key()

    def new_key(self):
        """Creates an account with a key for all further requests. Returns the id of the account."""
        email = f"bench{self.port}-{len(self.keys)}-{int(time.time() * 1000)}@example.com"
        self.cli("account", "create", "--email", email, "--plan", "unlimited")
        self.key = self.keys[self.database] = self.cli("key", "create", "--account", email).strip()
        accounts = json.loads(self.cli("account", "list", "--format", "json"))
        return next(account["id"] for account in accounts if account["email"] == email)

    def cli(self, *arguments):
        command = [BINARY, *arguments, "--database", self.database]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=200)
        headers = {"Authorization": f"Bearer {self.key}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        connection.request(method, path, body, headers)
        return connection.getresponse()

    def get(self, path):
        return json.load(self.request("GET", path))

    def cpu_seconds(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mib(self, name):
        status = open(f"/proc/{self.process.pid}/status").read()
        return int(re.search(name + r":\s+(\d+)", status).group(1)) / 1024

    def count(self, what):
        """Returns the number of threads (`task`) or open descriptors (`fd`)."""
        return len(os.listdir(f"/proc/{self.process.pid}/{what}"))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]
