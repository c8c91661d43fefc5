//! All kinds of clients at once, against the real service. Afterwards all resources must be freed, and the runs and
//! charges must add up.
//!
//! `scripts/soak` runs it. `SIGHTLINE_TEST_SOAK_SECONDS` sets its duration (30 by default), `SIGHTLINE_TEST_SOAK_SEED`
//! the seed of its random numbers.

use std::collections::VecDeque;
use std::io::Write as _;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::fuzz::client_from;
use super::super::hostile_cases::{self, Case};
use super::super::kit::{Client, get};
use crate::outages::kit::has_no_faults_but_deleted_runs;
use crate::support::admin::{admin_of, figure};
use crate::support::chance::{Chance, setting};
use crate::support::databases::{TestDatabase, on_each_database};
use crate::support::server::{RequestBuilder, Server, Setup};

/// Number of concurrent clients.
const CLIENTS: u64 = 8;
/// tiny_http ends its idle threads for new connections at any time between two of them.
const SPARE_THREADS: usize = 2;
/// The pool opens further connections to the database when more are needed at once, and keeps them.
const SPARE_DESCRIPTORS: usize = 16;
/// Memory that the service may hold afterwards beyond what it held before. The cache of serialized runs may hold that much,
/// and the soak does not fill it.
const GROWTH_KIB: usize = 64 * 1024;
/// Time until everything is freed. A run that has ended stays in memory for a minute, an idle outgoing connection for less.
const SETTLING: Duration = Duration::from_secs(150);
/// Idle connections that a client holds open.
const MOST_PARKED: usize = 10;

on_each_database!(soak);

fn soak(database: &TestDatabase) {
    let server = Setup::new()
        .realistic()
        .database(&database.url)
        .flag("--check-timeout=2s")
        .flag("--run-timeout=6s")
        .flag("--times=keep-alive=1s")
        .flag("--plans=small=40:api:premium,unlimited=unlimited:api:premium")
        .start();
    let crew = Crew {
        poor: server.new_key("small"),
        hostile: hostile_cases::all().into_iter().filter(|case| !case.is_slow).collect(),
        server,
    };
    // Afterwards everything exists that is created on first use.
    crew.work(|| false);
    settle(&crew.server, |_| true);
    let before = Footprint::of(&crew.server);
    let until = Instant::now() + Duration::from_secs(setting("SIGHTLINE_TEST_SOAK_SECONDS", 30));
    crew.work(|| Instant::now() < until);
    let mut after = before;
    let is_back = settle(&crew.server, |server| {
        after = Footprint::of(server);
        after.is_back_to(&before)
    });
    println!("{}: before {before:?}, after {after:?}", database.name);
    assert!(is_back, "resources are not freed: {before:?}, {after:?}");
    let figures = ["sightline_http_overloaded_total", "sightline_http_accept_rebuilds_total"];
    assert_eq!(figures.map(|name| crew.server.figure(name)), [0.0, 0.0], "{figures:?}");
    let mut server = crew.server;
    assert_eq!(server.terminate().code(), Some(0));
    assert_eq!(database.number("SELECT count(*) FROM runs WHERE status = 'running'"), 0);
    let orphans =
        "SELECT count(*) FROM results WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = results.run)";
    assert_eq!(database.number(orphans), 0);
    has_no_faults_but_deleted_runs(|sql| database.number(sql));
}

/// Two accounts on one service: one has unlimited credits, the other a few.
struct Crew {
    server: Server,
    poor: String,
    hostile: Vec<Case>,
}

type Action = fn(&Crew, &mut Chance, &mut VecDeque<TcpStream>);

const ACTIONS: [Action; 9] = [
    Crew::wait,
    Crew::stream,
    Crew::leave_stream,
    Crew::leave_early,
    Crew::delete,
    Crew::read,
    Crew::be_hostile,
    Crew::be_deaf,
    Crew::spend,
];

impl Crew {
    /// Lets all clients do each action once, in an order of their own, and then any while `goes_on`.
    fn work(&self, goes_on: impl Fn() -> bool + Sync) {
        let seed = setting("SIGHTLINE_TEST_SOAK_SEED", 1).wrapping_mul(1000);
        let goes_on = &goes_on;
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                scope.spawn(move || {
                    let (mut chance, mut parked) = (Chance::new(seed + client), VecDeque::new());
                    for number in 0..ACTIONS.len() {
                        ACTIONS[(number + client as usize) % ACTIONS.len()](self, &mut chance, &mut parked);
                    }
                    while goes_on() {
                        ACTIONS[chance.below(ACTIONS.len())](self, &mut chance, &mut parked);
                    }
                });
            }
        });
    }

    fn ask(&self, method: &str, path: &str) -> RequestBuilder<'_> {
        self.server.request(method, path).key(&self.server.key)
    }

    /// Returns a search whose name determines its outcome.
    fn search(chance: &mut Chance, mode: &str) -> Value {
        let fates = ["everybody", "nobody", "alice", "robert", "blocked", "broken", "limited", "silent"];
        let name = format!("{}{}", chance.pick(&fates), chance.below(100_000));
        let (kind, query) = match chance.below(8) {
            0 => ("domain", format!("{name}.com")),
            1 => ("email", format!("{name}@example.com")),
            _ => ("username", name),
        };
        json!({"type": kind, "query": query, mode: true})
    }

    fn start(&self, chance: &mut Chance) -> String {
        let answer = self.ask("POST", "/v1/searches").json(&Self::search(chance, "patient")).send();
        assert_eq!(answer.status, 200, "{answer}");
        format!("/v1/searches/{}", answer.json()["run_id"].as_str().unwrap())
    }

    fn wait(&self, chance: &mut Chance, _: &mut VecDeque<TcpStream>) {
        let answer = self.ask("POST", "/v1/searches").json(&Self::search(chance, "wait")).send();
        assert_eq!(answer.status, 200, "{answer}");
        let run = self.server.finished(answer.json()["run_id"].as_str().unwrap());
        assert_eq!(run["total_results"], run["results"].as_array().unwrap().len(), "{run}");
    }

    /// Two readers of a run see the same end.
    fn stream(&self, chance: &mut Chance, _: &mut VecDeque<TcpStream>) {
        let stream = self.ask("POST", "/v1/searches").json(&Self::search(chance, "stream")).stream();
        let run = stream.header("x-run-id").unwrap().to_owned();
        let attached = self.ask("GET", &format!("/v1/searches/{run}/stream")).stream();
        let (one, other) = (stream.all().pop().unwrap(), attached.all().pop().unwrap());
        assert_eq!((one.event.as_str(), &one), ("done", &other));
    }

    fn leave_stream(&self, chance: &mut Chance, _: &mut VecDeque<TcpStream>) {
        let mut stream = self.ask("GET", &format!("{}/stream", self.start(chance))).stream();
        (0..chance.below(5)).for_each(|_| drop(stream.next()));
    }

    /// Disconnects in the request or before the answer. The search may have started or not.
    fn leave_early(&self, chance: &mut Chance, parked: &mut VecDeque<TcpStream>) {
        let mode = chance.pick(&["stream", "wait", "patient"]);
        let body = Self::search(chance, mode).to_string();
        let head = format!("X-API-Key: {}\r\nContent-Type: application/json\r\n", self.server.key);
        let length = body.len();
        let request =
            format!("POST /v1/searches HTTP/1.1\r\nHost: a\r\n{head}Content-Length: {length}\r\n\r\n{body}");
        let said = if chance.below(2) == 0 { chance.below(request.len()) } else { request.len() };
        self.say(&request.as_bytes()[..said], chance, parked);
    }

    /// Sends bytes, and then disconnects in some way or holds the connection. It has an address of its own, since the server
    /// remembers severed connections by theirs.
    fn say(&self, bytes: &[u8], chance: &mut Chance, parked: &mut VecDeque<TcpStream>) {
        let address = 2 + chance.below((1 << 24) - 3) as u64;
        let mut socket = client_from(address, self.server.address).reader.into_inner();
        let _ = socket.write_all(bytes);
        match chance.below(3) {
            0 => {}
            1 => drop(socket.shutdown(Shutdown::Write)),
            _ => parked.push_back(socket),
        }
        if parked.len() > MOST_PARKED {
            parked.pop_front();
        }
    }

    fn delete(&self, chance: &mut Chance, _: &mut VecDeque<TcpStream>) {
        let path = self.start(chance);
        if chance.below(2) == 0 {
            self.server.finished(path.rsplit('/').next().unwrap());
        }
        assert_eq!(self.ask("DELETE", &path).send().status, 204);
        self.ask("GET", &path).send().is_error(404, "not_found");
    }

    /// Sends many requests on one connection.
    fn read(&self, chance: &mut Chance, _: &mut VecDeque<TcpStream>) {
        let mut client = Client::connect(self.server.address);
        let run = self.start(chance);
        for _ in 0..1 + chance.below(20) {
            let path = chance.pick(&["/v1/health", "/v1/me", "/v1/searches?limit=100", "/v1/modules", &run]);
            let form = chance.pick(&["", "Accept-Encoding: gzip\r\n"]);
            let key = &self.server.key;
            client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\n{form}\r\n"));
            assert_eq!(client.answer().status, 200, "{path}");
        }
    }

    fn be_hostile(&self, chance: &mut Chance, parked: &mut VecDeque<TcpStream>) {
        for _ in 0..5 {
            let case = &self.hostile[chance.below(self.hostile.len())];
            self.say(&case.sent, chance, parked);
        }
    }

    /// Requests more than a socket's buffers hold, as many as may be pipelined, and reads nothing.
    fn be_deaf(&self, chance: &mut Chance, parked: &mut VecDeque<TcpStream>) {
        let key = &self.server.key;
        let request = format!("GET /v1/modules HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\n\r\n");
        self.say(request.repeat(12).as_bytes(), chance, parked);
    }

    fn spend(&self, chance: &mut Chance, _: &mut VecDeque<TcpStream>) {
        let request = self.server.request("POST", "/v1/searches").key(&self.poor);
        let answer = request.json(&Self::search(chance, "patient")).send();
        if answer.status != 200 {
            answer.is_error(402, "insufficient_credits");
        }
    }
}

/// Resources of the service's process.
#[derive(Debug, Clone, Copy)]
struct Footprint {
    threads: usize,
    descriptors: usize,
    /// Private memory. Pages of files do not count, since the system can reclaim them.
    anonymous_kib: usize,
}

impl Footprint {
    fn of(server: &Server) -> Self {
        let process = format!("/proc/{}", server.child.id());
        let count = |folder: &str| std::fs::read_dir(format!("{process}/{folder}")).unwrap().count();
        Self { threads: count("task"), descriptors: count("fd"), anonymous_kib: server.of_process("RssAnon") }
    }

    fn is_back_to(&self, before: &Self) -> bool {
        self.threads <= before.threads + SPARE_THREADS
            && self.descriptors <= before.descriptors + SPARE_DESCRIPTORS
            && self.anonymous_kib <= before.anonymous_kib + GROWTH_KIB
    }
}

/// Waits until the service is idle and `is_so`, at most for [`SETTLING`]. It uses one connection, since new ones keep the
/// threads of tiny_http alive.
fn settle(server: &Server, mut is_so: impl FnMut(&Server) -> bool) -> bool {
    const BUSY: [&str; 5] =
        ["runs_driven", "runs_waiting", "check_workers_busy", "http_long_threads", "http_queue_length"];
    let until = Instant::now() + SETTLING;
    let mut client = Client::connect(admin_of(server));
    while Instant::now() < until {
        client.send(get("/metrics"));
        let page = String::from_utf8(client.answer().body).unwrap();
        let is_idle = |name: &&str| figure(&page, &format!("sightline_{name}")).unwrap() == 0.0;
        if BUSY.iter().all(is_idle) && is_so(server) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    false
}
