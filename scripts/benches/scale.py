"""Compares a store of a million searches with an empty one: latency of list, read and start, and size on disk.

The million is synthetic and written in bulk: each search has reports of 25 modules, one in ten has 5 results. The size
of real searches is measured with searches in the sandbox and multiplied. A fifth of all searches belongs to the
measured account; 30,000 are older than --retain-days.
"""

import json
import http.client
import os
import random
import re
import secrets
import sqlite3
import subprocess
import threading
import time
import urllib.parse
import uuid

from benches.server import Server, percentile

RUNS = int(os.environ.get("SIGHTLINE_BENCH_RUNS", "1000000"))
OLD = RUNS * 3 // 100
ACCOUNTS = 100
REQUESTS = 300
STARTS = 150
# Fewer searches for emails and domains, because some of their sources allow one check at a time, with pauses.
REAL = {"username": ("user{}", 20), "email": ("user{}@example.com", 3), "domain": ("user{}.com", 3)}
DAY = 86_400_000
# The server closes connections that are idle for 15 seconds.
IDLE = 10
REPORTS = json.dumps([[f"module_{n:02}", f"Platform {n:02}", "hit" if n % 10 == 0 else "miss", None, 404, 35] for n in range(25)])
PLANNED = json.dumps([f"module_{n:02}" for n in range(25)])
PROGRESS = '{"modules_total":25,"modules_completed":25,"modules_with_hits":3}'
COVERAGE = (
    '{"checked":25,"conclusive":25,"hit":3,"miss":22,"blocked":0,"rate_limited":0,"timeout":0,"error":0,"unreliable":0,'
    '"skipped":0,"ratio":1.0}'
)
ERROR = '{"code":"no_conclusion","message":"not one module came to a conclusion"}'
RECORD = (
    '{"id":%d,"type":"profile","entity_type":"profile","platform":"SlideShare","value":"%s","confidence":0.94,'
    '"source":"slideshare","metadata":{"profile_url":"https://www.slideshare.net/%s","sources":[{"module":"slideshare",'
    '"platform":"SlideShare","confidence":0.94}]},"created_at":"2026-11-22T02:33:29.750Z"}'
)


def moment(number, now):
    """Returns the time of the search with this number: old ones first, the others evenly over 85 days."""
    if number < OLD:
        return now - 100 * DAY + number
    return now - 85 * DAY + (number - OLD) * 85 * DAY // (RUNS - OLD) - 3_600_000


def kind(number):
    return ("username", "email", "domain")[number % 3]


class Sqlite:
    name = "SQLite"

    def __init__(self, folder):
        self.file = os.path.join(folder, f"scale-{secrets.token_hex(4)}.db")
        self.url = "sqlite:" + self.file

    def fill(self, account):
        db = sqlite3.connect(self.file)
        # The server sets its own mode again when it starts.
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
        now, mine = int(time.time() * 1000), account.bytes
        others = [uuid.uuid4().bytes for _ in range(ACCOUNTS)]
        rows = [(other, other.hex() + "@example.com", "pro", now, now) for other in others]
        db.executemany("INSERT INTO accounts (id, email, plan, anchor, created_at) VALUES (?, ?, ?, ?, ?)", rows)
        ids = [v7(moment(n, now)).bytes for n in range(RUNS)]
        owner = [mine if n % 5 == 0 else others[n % ACCOUNTS] for n in range(RUNS)]
        db.executemany(
            "INSERT INTO runs (id, account, status, search_type, premium, simulated, total_results, credits_charged, "
            "created_at, completed_at, query, progress, coverage, error, planned) "
            f"VALUES (?, ?, ?, ?, 0, 1, ?, 1, ?, ?, ?, '{PROGRESS}', '{COVERAGE}', ?, '{PLANNED}')",
            (
                (ids[n], owner[n], "failed" if n % 50 == 1 else "completed", kind(n), 5 if n % 10 == 0 else 0,
                 moment(n, now), moment(n, now) + 4000, f"user{n}", ERROR if n % 50 == 1 else None)
                for n in range(RUNS)
            ),
        )
        db.executemany(
            f"INSERT INTO module_reports (run, first, revision, reports) VALUES (?, 0, 1, '{REPORTS}')",
            ((run,) for run in ids),
        )
        db.executemany(
            "INSERT INTO results (run, id, dedup, record, revision) VALUES (?, ?, ?, ?, 1)",
            (
                (ids[n], k, secrets.token_bytes(16), RECORD % (k, f"user{n}", f"user{n}"))
                for n in range(0, RUNS, 10)
                for k in range(1, 6)
            ),
        )
        db.executemany(
            "INSERT INTO charges (run, kind, account, cycle_start, credits, at) VALUES (?, 'charge', ?, ?, 1, ?)",
            ((ids[n], owner[n], moment(n, now) // (30 * DAY) * 30 * DAY, moment(n, now)) for n in range(RUNS)),
        )
        db.executemany(
            "INSERT INTO audit (at, actor, actor_id, action, account, object, request, detail) "
            """VALUES (?, 'key', ?, 'run.started', ?, ?, ?, '{"type":"username","credits":1}')""",
            (
                (moment(n, now), owner[n], owner[n], str(uuid.UUID(bytes=ids[n])), ids[n].hex()) for n in range(RUNS)
            ),
        )
        db.commit()
        db.close()

    def size(self):
        return sum(os.path.getsize(self.file + end) for end in ("", "-wal") if os.path.exists(self.file + end))

    def parts(self):
        db = sqlite3.connect(self.file)
        try:
            rows = db.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC").fetchall()
        except sqlite3.OperationalError:
            rows = []
        db.close()
        return [(name, size) for name, size in rows if size > 1 << 20]

    def ids_of(self, account, count):
        return self.column("SELECT hex(id) FROM runs WHERE account = ? ORDER BY random() LIMIT ?", account.bytes, count)

    def old_left(self):
        sql = "SELECT count(*) FROM runs WHERE completed_at < ? AND completed_at IS NOT NULL"
        return self.column(sql, int(time.time() * 1000) - 90 * DAY)[0]

    def column(self, sql, *values):
        db = sqlite3.connect(self.file, timeout=30)
        found = [row[0] for row in db.execute(sql, values)]
        db.close()
        return found

    def drop(self):
        for end in ("", "-wal", "-shm", ".lock"):
            if os.path.exists(self.file + end):
                os.unlink(self.file + end)


class Postgres:
    name = "PostgreSQL"

    def __init__(self, _):
        self.server = os.environ["SIGHTLINE_TEST_POSTGRES"]
        self.database = "scale_" + secrets.token_hex(4)
        self.psql(f"CREATE DATABASE {self.database}", url=self.server)
        self.url = urllib.parse.urlunsplit(urllib.parse.urlsplit(self.server)._replace(path="/" + self.database))

    def psql(self, sql, url=None):
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", url or self.url]
        done = subprocess.run(command, input=sql, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    def fill(self, account):
        days = "timestamptz 'now' - interval '1 hour'"
        at = (
            f"CASE WHEN n < {OLD} THEN timestamptz 'now' - interval '100 days' + n * interval '1 ms' "
            f"ELSE {days} - interval '85 days' + (n - {OLD}) * (interval '85 days' / {RUNS - OLD}) END"
        )
        self.psql(
            f"""
            BEGIN;
            CREATE TEMP TABLE others AS SELECT n, gen_random_uuid() AS id FROM generate_series(0, {ACCOUNTS - 1}) n;
            INSERT INTO accounts (id, email, plan, anchor, created_at)
                SELECT id, id || '@example.com', 'pro', now(), now() FROM others;
            CREATE TEMP TABLE made AS
                SELECT n, date_trunc('milliseconds', at) AS at,
                       (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
                        || '8' || substr(md5(n::text), 4, 15))::uuid AS id,
                       CASE WHEN n % 5 = 0 THEN '{account}'::uuid ELSE o.ids[n % {ACCOUNTS} + 1] END AS account
                FROM (SELECT n, {at} AS at FROM generate_series(0, {RUNS - 1}) n) g,
                     (SELECT array_agg(id ORDER BY n) AS ids FROM others) o;
            INSERT INTO runs (id, account, status, search_type, premium, simulated, total_results, credits_charged,
                              created_at, completed_at, query, progress, coverage, error, planned)
                SELECT id, account, CASE WHEN n % 50 = 1 THEN 'failed' ELSE 'completed' END,
                       (ARRAY['username', 'email', 'domain'])[n % 3 + 1], false, true, CASE WHEN n % 10 = 0 THEN 5 ELSE 0 END,
                       1, at, at + interval '4 s', 'user' || n, '{PROGRESS}', '{COVERAGE}',
                       CASE WHEN n % 50 = 1 THEN '{ERROR}'::json END, '{PLANNED}'
                FROM made ORDER BY n;
            INSERT INTO module_reports (run, first, revision, reports)
                SELECT id, 0, 1, '{REPORTS}' FROM made ORDER BY n;
            INSERT INTO results (run, id, dedup, record, revision)
                SELECT made.id, k, decode(md5(n || ' ' || k), 'hex'),
                       format($${RECORD.replace("%d", "%1$s").replace('"%s"', '"%2$s"').replace("net/%s", "net/%2$s")}$$, k, 'user' || n)::json, 1
                FROM made, generate_series(1, 5) k WHERE n % 10 = 0 ORDER BY n, k;
            INSERT INTO charges (run, kind, account, cycle_start, credits, at)
                SELECT id, 'charge', account, date_trunc('month', at), 1, at FROM made ORDER BY n;
            INSERT INTO audit (at, actor, actor_id, action, account, object, request, detail)
                SELECT at, 'key', account, 'run.started', account, id::text, md5(n::text), '{{"type":"username","credits":1}}'
                FROM made ORDER BY n;
            COMMIT;
            """
        )
        # The test server has no autovacuum.
        self.psql("VACUUM ANALYZE")

    def size(self):
        return int(self.psql(f"SELECT pg_database_size('{self.database}')")[0])

    def parts(self):
        sql = """SELECT relname || '|' || pg_relation_size(oid) FROM pg_class
                 WHERE relkind IN ('r', 'i', 't') AND pg_relation_size(oid) > 1048576 ORDER BY pg_relation_size(oid) DESC"""
        rows = [line.split("|") for line in self.psql(sql)]
        return [(re.sub(r"^pg_toast_\d+", "toast", name), int(size)) for name, size in rows]

    def ids_of(self, account, count):
        return self.psql(f"SELECT replace(id::text, '-', '') FROM runs WHERE account = '{account}' ORDER BY random() LIMIT {count}")

    def old_left(self):
        return int(self.psql("SELECT count(*) FROM runs WHERE completed_at < now() - interval '90 days'")[0])

    def drop(self):
        self.psql(f"DROP DATABASE {self.database} WITH (FORCE)", url=self.server)


def v7(millis):
    return uuid.UUID(int=(millis << 80) | (7 << 76) | (random.getrandbits(12) << 64) | (2 << 62) | random.getrandbits(62))


class Client:
    """A persistent connection."""

    def __init__(self, server):
        self.server = server
        self.last = time.perf_counter()
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)

    def timed(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.server.key}", "Content-Type": "application/json"}
        if time.perf_counter() - self.last > IDLE:
            self.connection.close()
        began = time.perf_counter()
        self.connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        self.last = time.perf_counter()
        took = (self.last - began) * 1000
        if answer.status != 200:
            raise SystemExit(f"{method} {path}: {answer.status} {text[:300]!r}")
        return took, json.loads(text)

    def start(self, number):
        body = {"type": "username", "query": f"bench{number}", "modules": ["github"]}
        return self.timed("POST", "/v1/searches", body)


def measure(sides):
    """Measures two servers (each with ids to read) in turns, so that a disturbance affects both."""
    clients = [Client(server) for server, _ in sides]

    def in_turns(count, work):
        took = [[], []]
        for number in range(count):
            for side in (0, 1):
                took[side].append(work(side, number))
        return took

    figures = {"start": in_turns(STARTS, lambda side, number: clients[side].start(number)[0])}
    paths = {
        "list": "/v1/searches",
        "list, 100 a page": "/v1/searches?limit=100",
        "list, a type": "/v1/searches?type=domain",
        "list, failed": "/v1/searches?status=failed",
        "list, running": "/v1/searches?status=running",
        "list, failed of a type": "/v1/searches?status=failed&type=email",
        "credits": "/v1/credits",
    }
    for name, path in paths.items():
        in_turns(1, lambda side, _: clients[side].timed("GET", path))
        figures[name] = in_turns(REQUESTS, lambda side, _: clients[side].timed("GET", path)[0])
    figures["read"] = in_turns(REQUESTS, lambda side, n: clients[side].timed("GET", f"/v1/searches/{sides[side][1][n]}")[0])
    return figures


def started_a_second(server):
    """Measures searches of one module by 8 clients at once, from start to end."""
    counts, until = [], time.time() + 5

    def work(place):
        client, number = Client(server), 0
        while time.time() < until:
            client.start(f"{place}x{number}")
            number += 1
        counts.append(number)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / 5


def dashed(text):
    return str(uuid.UUID(text))


def started(store, folder, days):
    return Server(folder, "--sandbox=perfect", f"--retain-days={days}", database=store.url, plain=True)


def real_bytes(store, folder):
    """Returns the size of one real search, by type."""
    server = started(store, folder, 0)
    server.new_key()
    sizes = {}
    for search_type, (query, count) in REAL.items():
        before = settled(store)
        for number in range(count):
            body = {"type": search_type, "query": query.format(number), "wait": True}
            # A wait is longer than the idle timeout of a connection.
            Client(server).timed("POST", "/v1/searches", body)
        sizes[search_type] = (settled(store) - before) / count
    server.stop()
    return sizes


def settled(store):
    if store.name == "SQLite":
        db = sqlite3.connect(store.file, timeout=30)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = db.execute("SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size").fetchone()[0]
        db.close()
        return size
    store.psql("VACUUM FULL")
    return store.size()


def show(name, empty, full):
    e50, e99, f50, f99 = (percentile(values, share) for values in (empty, full) for share in (0.5, 0.99))
    print(f"  {name:24} {e50:8.2f} {e99:8.2f} {f50:8.2f} {f99:8.2f}   {f50 / e50:5.2f} {f99 / e99:5.2f}")


def sweep(store, folder):
    """Measures reads and starts while old searches are removed."""
    server = started(store, folder, 90)
    server.key = store.key
    client, began, left = Client(server), time.time(), store.old_left()
    removed, starts, lists = left, [], []
    while left > 0 and time.time() - began < 300:
        for number in range(20):
            starts.append(client.start(number)[0])
            lists.append(client.timed("GET", "/v1/searches")[0])
        left = store.old_left()
    took = time.time() - began
    print(
        f"  {removed - left} of {OLD} old searches removed in {took:.0f} s meanwhile: start p50 {percentile(starts, 0.5):.2f} "
        f"p99 {percentile(starts, 0.99):.2f} ms, list p50 {percentile(lists, 0.5):.2f} p99 {percentile(lists, 0.99):.2f} ms"
    )
    server.stop()


def bench_store(store, folder):
    print(f"\n== {store.name}: {RUNS:,} searches against an empty store (ms, one client after the other)")
    empty, accounts = type(store)(folder), []
    real = real_bytes(empty, folder)
    empty.drop()
    empty = type(store)(folder)
    for each in (empty, store):
        server = started(each, folder, 0)
        accounts.append(uuid.UUID(server.new_key()))
        client = Client(server)
        for number in range(REQUESTS):
            client.start(number)
        server.stop()
    began, base = time.time(), settled(store)
    store.fill(accounts[1])
    filled, size = time.time() - began, store.size() - base
    sides, starts = [], []
    for each, account in zip((empty, store), accounts):
        server = started(each, folder, 0)
        server.key = each.key = Server.keys[each.url]
        sides.append((server, [dashed(text) for text in each.ids_of(account, REQUESTS)]))
        starts.append(server.listening_after * 1000)
    figures = measure(sides)
    memory, rates = sides[1][0].memory_mib("VmRSS"), [started_a_second(server) for server, _ in sides]
    for server, _ in sides:
        server.stop()
    empty.drop()
    print(f"  {'':24} {'empty':>17} {'full':>17}   {'ratio':>11}\n  {'':24} {'p50':>8} {'p99':>8} {'p50':>8} {'p99':>8}     p50   p99")
    for name, took in figures.items():
        show(name, *took)
    print(f"  start-up: empty {starts[0]:.0f} ms, full {starts[1]:.0f} ms; memory of the full one's server {memory:.0f} MiB")
    print(f"  searches of one module a second, by 8 clients on the same cores: empty {rates[0]:.0f}, full {rates[1]:.0f}")
    print(f"  {size / 1e9:.2f} GB for the synthetic ones (written in {filled:.0f} s):")
    for name, part in store.parts():
        print(f"    {name:32} {part / 1e6:9.1f} MB")
    print("  a real search takes, and a million of them: " + ", ".join(f"{kind} {size / 1024:.1f} KiB, {size / 1e3:.0f} GB" for kind, size in real.items()))
    sweep(store, folder)
    store.drop()


def bench_scale(folder):
    for store in (Sqlite, Postgres):
        bench_store(store(folder), folder)
