//! The actions of the soak's clients, and their records.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;

use serde_json::{Value, json};

use super::super::chance::Chance;
use super::super::hostile_cases;
use super::super::kit::Client;
use crate::support::awaited;
use crate::support::server::{Answer, Event, RequestBuilder, Server, run_ids};

/// The record of a client.
#[derive(Default)]
pub(crate) struct Log {
    /// Runs that any client has started.
    pub(crate) known: BTreeSet<String>,
    pub(crate) deleted: BTreeSet<String>,
    /// Idempotency keys and bodies of searches whose client disconnected before the answer.
    unknown: Vec<(String, Value)>,
    /// A run of the first account that is not deleted.
    readable: Option<String>,
    /// Number of times each action was done.
    done: BTreeMap<&'static str, usize>,
}

impl Log {
    pub(crate) fn absorb(&mut self, other: Self) {
        self.known.extend(other.known);
        self.deleted.extend(other.deleted);
        self.unknown.extend(other.unknown);
        for (what, times) in other.done {
            *self.done.entry(what).or_default() += times;
        }
    }

    pub(crate) fn summary(&self) -> String {
        format!("{} runs, {} of them deleted; {:?}", self.known.len(), self.deleted.len(), self.done)
    }

    /// Asserts that every action was done.
    pub(crate) fn must_be_varied(&self) {
        for (what, _) in ACTIONS {
            assert!(self.done.contains_key(what), "never {what}: {:?}", self.done);
        }
    }

    fn knows(&mut self, run: &Value) -> String {
        let run = run.as_str().unwrap().to_owned();
        self.known.insert(run.clone());
        run
    }
}

/// Idle connections that are held open. The oldest are dropped when there are too many.
#[derive(Default)]
pub(crate) struct Parked(VecDeque<TcpStream>);

impl Parked {
    fn add(&mut self, socket: TcpStream) {
        self.0.push_back(socket);
        if self.0.len() > 10 {
            self.0.pop_front();
        }
    }
}

/// Two accounts on one service: one has unlimited credits, the other a few.
pub(crate) struct Crew {
    pub(crate) server: Server,
    rich: String,
    poor: String,
    hostile: Vec<hostile_cases::Case>,
    modules: Vec<String>,
}

type Action = fn(&Crew, &mut Chance, &mut Log, &mut Parked);

const ACTIONS: [(&str, Action); 11] = [
    ("polled", Crew::poll),
    ("waited", Crew::wait),
    ("streamed", Crew::stream),
    ("left a stream", Crew::leave_stream),
    ("left before the answer", Crew::leave_early),
    ("deleted", Crew::delete),
    ("read", Crew::read),
    ("were hostile", Crew::be_hostile),
    ("said half", Crew::say_half),
    ("did not read", Crew::be_deaf),
    ("spent the last credit", Crew::spend),
];

impl Crew {
    /// The plan `small` must be among the server's.
    pub(crate) fn new(server: Server) -> Self {
        let (rich, poor) = (server.key.clone(), server.new_key("small"));
        let catalog = server.get("/v1/modules").json();
        let modules = catalog["modules"].as_array().unwrap().iter();
        let modules = modules.filter(|module| module["enabled"] == true);
        let modules = modules.filter(|module| module["type"] == "username" && module["premium"] == false);
        let modules = modules.map(|module| module["id"].as_str().unwrap().to_owned()).collect();
        Self { server, rich, poor, hostile: hostile_cases::quick(), modules }
    }

    /// Uses each mode once, and starts enough searches to keep every check worker busy, so that everything that is created
    /// on first use exists afterwards.
    pub(crate) fn warm_up(&self) -> Log {
        let log = Mutex::new(Log::default());
        std::thread::scope(|scope| {
            for client in 0..8 {
                let log = &log;
                scope.spawn(move || {
                    let (mut chance, mut own) = (Chance::new(client), Log::default());
                    for action in [Self::poll, Self::wait, Self::stream, Self::read] {
                        action(self, &mut chance, &mut own, &mut Parked::default());
                    }
                    let whole = json!({"type": "username", "query": format!("alice{client}"), "wait": true});
                    let answer = self.ask("POST", "/v1/searches").json(&whole).send();
                    own.knows(&answer.json()["run_id"]);
                    log.lock().unwrap().absorb(own);
                });
            }
        });
        log.into_inner().unwrap()
    }

    /// Does this client's share of one round of all actions. Each action is done once, however slow the machine is.
    pub(crate) fn begin(
        &self,
        client: u64,
        clients: u64,
        chance: &mut Chance,
        log: &mut Log,
        parked: &mut Parked,
    ) {
        for number in (0..ACTIONS.len()).filter(|number| *number as u64 % clients == client) {
            self.play(number, chance, log, parked);
        }
    }

    pub(crate) fn act(&self, chance: &mut Chance, log: &mut Log, parked: &mut Parked) {
        self.play(chance.below(ACTIONS.len()), chance, log, parked);
    }

    fn play(&self, number: usize, chance: &mut Chance, log: &mut Log, parked: &mut Parked) {
        let (what, action) = ACTIONS[number];
        action(self, chance, log, parked);
        *log.done.entry(what).or_default() += 1;
    }

    /// Repeats the searches whose client disconnected. Each must be exactly one run.
    pub(crate) fn resolve_unknown(&self, log: &mut Log) {
        for (key, body) in std::mem::take(&mut log.unknown) {
            // Only the head of a stream is read.
            let answer = awaited("the request is no longer in flight", || {
                let request = self.ask("POST", "/v1/searches").header("Idempotency-Key", &key);
                let answer = request.json(&body).stream();
                if answer.status == 409 { Err(&body) } else { Ok(answer) }
            });
            assert_eq!(answer.status, 200, "{body}");
            log.knows(&answer.header("x-run-id").unwrap().into());
        }
    }

    /// Lists all runs of both accounts. Returns the credits that both have used.
    pub(crate) fn what_the_api_says(&self, log: &Log) -> u64 {
        let (mut listed, mut used, mut charged) = (BTreeSet::new(), 0, 0);
        for key in [&self.rich, &self.poor] {
            let credits = self.server.request("GET", "/v1/credits").key(key).send().json();
            used += credits["credits_used"].as_u64().unwrap();
            let mut cursor = String::new();
            loop {
                let path = format!("/v1/searches?limit=100{cursor}");
                let page = self.server.request("GET", &path).key(key).send().json();
                for run in page["searches"].as_array().unwrap() {
                    assert_ne!(run["status"], "running", "{run}");
                    charged += run["credits_charged"].as_u64().unwrap();
                }
                listed.extend(run_ids(&page));
                let Some(next) = page["next_cursor"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
        }
        let expected: BTreeSet<String> = log.known.difference(&log.deleted).cloned().collect();
        assert_eq!(listed, expected, "the list has the runs that were started and not deleted");
        // The cost of a deleted run is not given back.
        assert!(charged <= used && used <= charged + log.deleted.len() as u64, "{charged} {used}");
        used
    }

    fn ask(&self, method: &str, path: &str) -> RequestBuilder<'_> {
        self.server.request(method, path).key(&self.rich)
    }

    /// Returns a search of some size. Its name determines its outcome.
    fn search(&self, chance: &mut Chance) -> Value {
        let fate = chance.pick(&[
            "everybody",
            "nobody",
            "alice",
            "robert",
            "blocked",
            "broken",
            "limited",
            "silent",
        ]);
        let name = format!("{fate}{}", chance.below(100_000));
        match chance.below(8) {
            0 => json!({"type": "domain", "query": format!("{name}.com")}),
            1 => json!({"type": "email", "query": format!("{name}@example.com")}),
            _ => {
                let most = self.modules.len();
                let modules: BTreeSet<&String> =
                    (0..1 + chance.below(25)).map(|_| &self.modules[chance.below(most)]).collect();
                json!({"type": "username", "query": name, "modules": modules})
            }
        }
    }

    fn is_whole(run: &Value) {
        assert!(["completed", "failed"].contains(&run["status"].as_str().unwrap()), "{run}");
        assert_eq!(run["total_results"], run["results"].as_array().unwrap().len(), "{run}");
    }

    fn start(&self, chance: &mut Chance, log: &mut Log) -> String {
        let answer = self.ask("POST", "/v1/searches").json(&self.search(chance)).send();
        assert_eq!(answer.status, 200, "{answer}");
        log.knows(&answer.json()["run_id"])
    }

    fn poll(&self, chance: &mut Chance, log: &mut Log, _: &mut Parked) {
        let run = self.start(chance, log);
        Self::is_whole(&self.server.finished(&run));
        log.readable = Some(run);
    }

    fn wait(&self, chance: &mut Chance, log: &mut Log, _: &mut Parked) {
        let mut body = self.search(chance);
        body["wait"] = true.into();
        let answer = self.ask("POST", "/v1/searches").json(&body).send();
        assert_eq!(answer.status, 200, "{answer}");
        let run = log.knows(&answer.json()["run_id"]);
        if answer.json()["status"] != "running" {
            Self::is_whole(&answer.json());
        }
        Self::is_whole(&self.server.finished(&run));
    }

    fn stream(&self, chance: &mut Chance, log: &mut Log, _: &mut Parked) {
        let mut body = self.search(chance);
        body["stream"] = true.into();
        let stream = self.ask("POST", "/v1/searches").json(&body).stream();
        assert_eq!(stream.status, 200);
        let run = log.knows(&Value::from(stream.header("x-run-id").unwrap()));
        let attached = self.ask("GET", &format!("/v1/searches/{run}/stream")).stream();
        let results = |events: Vec<Event>| -> Vec<Value> {
            let done = events.last().unwrap();
            assert_eq!(done.event, "done", "{events:?}");
            // The newest version of each id counts: a result is sent again when another module finds it, too.
            let results: BTreeMap<u64, Value> = events
                .iter()
                .filter(|event| event.event == "result")
                .map(|event| (event.data["id"].as_u64().unwrap(), event.data.clone()))
                .collect();
            assert_eq!(done.data["total_results"], results.len(), "{done:?}");
            results.into_values().collect()
        };
        assert_eq!(results(stream.all()), results(attached.all()));
    }

    fn leave_stream(&self, chance: &mut Chance, log: &mut Log, _: &mut Parked) {
        let run = self.start(chance, log);
        let mut stream = self.ask("GET", &format!("/v1/searches/{run}/stream")).stream();
        for _ in 0..chance.below(5) {
            stream.next();
        }
    }

    /// The search may have started or not. Its idempotency key is sent again later.
    fn leave_early(&self, chance: &mut Chance, log: &mut Log, _: &mut Parked) {
        let mut body = self.search(chance);
        if let Some(mode) = ["stream", "wait"].get(chance.below(3)) {
            body[*mode] = true.into();
        }
        let key = uuid::Uuid::new_v4().to_string();
        let text = body.to_string();
        let mut socket = TcpStream::connect(self.server.address).unwrap();
        let request = format!(
            "POST /v1/searches HTTP/1.1\r\nHost: a\r\nX-API-Key: {}\r\nIdempotency-Key: {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
            self.rich,
            text.len()
        );
        let said = request.len() - if chance.below(4) == 0 { chance.below(text.len()) } else { 0 };
        socket.write_all(&request.as_bytes()[..said]).unwrap();
        if chance.below(2) == 0 {
            let _ = socket.shutdown(Shutdown::Both);
        }
        log.unknown.push((key, body));
    }

    fn delete(&self, chance: &mut Chance, log: &mut Log, _: &mut Parked) {
        let run = self.start(chance, log);
        let path = format!("/v1/searches/{run}");
        if chance.below(2) == 0 {
            self.server.finished(&run);
        }
        let answer = self.ask("DELETE", &path).send();
        assert_eq!(answer.status, 204, "{answer}");
        log.deleted.insert(run);
        self.ask("GET", &path).send().is_error(404, "not_found");
    }

    /// Sends many requests on one connection.
    fn read(&self, chance: &mut Chance, log: &mut Log, _: &mut Parked) {
        let mut client = Client::connect(self.server.address);
        for _ in 0..1 + chance.below(20) {
            let run = log.readable.as_ref().map(|run| format!("/v1/searches/{run}"));
            let modules = run.as_ref().map(|run| format!("{run}/modules"));
            let path = chance.pick(&[
                "/v1/health",
                "/v1/capabilities",
                "/v1/me",
                "/v1/credits",
                "/v1/searches?limit=100",
                "/v1/modules",
                run.as_deref().unwrap_or("/v1/me"),
                modules.as_deref().unwrap_or("/v1/me"),
            ]);
            let form = chance.pick(&["", "Accept-Encoding: gzip\r\n"]);
            client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\nX-API-Key: {}\r\n{form}\r\n", self.rich));
            assert_eq!(client.answer().status, 200, "{path}");
        }
    }

    fn be_hostile(&self, chance: &mut Chance, _: &mut Log, parked: &mut Parked) {
        for _ in 0..5 {
            let case = &self.hostile[chance.below(self.hostile.len())];
            let mut socket = TcpStream::connect(self.server.address).unwrap();
            let _ = socket.write_all(&case.sent);
            match chance.below(3) {
                0 => {}
                1 => drop(socket.shutdown(Shutdown::Write)),
                _ => parked.add(socket),
            }
        }
    }

    fn say_half(&self, chance: &mut Chance, _: &mut Log, parked: &mut Parked) {
        let mut socket = TcpStream::connect(self.server.address).unwrap();
        let whole = "POST /v1/searches HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n{\"type\":";
        socket.write_all(&whole.as_bytes()[..chance.below(whole.len() + 1)]).unwrap();
        parked.add(socket);
    }

    /// Requests more than a socket's buffers hold, and reads nothing.
    fn be_deaf(&self, _: &mut Chance, _: &mut Log, parked: &mut Parked) {
        let mut socket = TcpStream::connect(self.server.address).unwrap();
        let request = format!("GET /v1/modules HTTP/1.1\r\nHost: a\r\nX-API-Key: {}\r\n\r\n", self.rich);
        // As many as may be pipelined.
        let _ = socket.write_all(request.repeat(12).as_bytes());
        parked.add(socket);
    }

    fn spend(&self, chance: &mut Chance, log: &mut Log, _: &mut Parked) {
        let answer: Answer =
            self.server.request("POST", "/v1/searches").key(&self.poor).json(&self.search(chance)).send();
        match answer.status {
            200 => drop(log.knows(&answer.json()["run_id"])),
            _ => drop(answer.is_error(402, "insufficient_credits")),
        }
    }
}
