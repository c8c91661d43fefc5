//! Clients that continue through every kill and every restart: they order searches, and read them until they have seen the end.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::{Request, Response};

use super::sightings::{Seen, Sightings};
use crate::support::chance::Chance;
use crate::support::server::PATIENCE;

/// The state that all clients share.
pub(crate) struct World {
    /// The port of the server; 0 while it is down.
    pub(crate) port: AtomicU16,
    pub(crate) key: String,
    pub(crate) sightings: Sightings,
    /// Accepted orders: the name that is searched, and the run.
    pub(crate) taken: Mutex<Vec<(String, String)>>,
    /// Unrepeatable orders whose answer was lost: they have no `Idempotency-Key`.
    pub(crate) unsure: Mutex<Vec<String>>,
    /// When the last kill was. From here on every request must succeed.
    pub(crate) over_since: OnceLock<Instant>,
    /// The number of active readers.
    pub(crate) readers: AtomicUsize,
    /// The number of requests without a complete answer.
    pub(crate) broken_off: AtomicUsize,
    /// The number of streams that a shutdown ended.
    pub(crate) announced: AtomicUsize,
}

impl World {
    pub(crate) fn new(key: String) -> Self {
        Self {
            port: AtomicU16::new(0),
            key,
            sightings: Sightings::default(),
            taken: Mutex::default(),
            unsure: Mutex::default(),
            over_since: OnceLock::new(),
            readers: AtomicUsize::new(0),
            broken_off: AtomicUsize::new(0),
            announced: AtomicUsize::new(0),
        }
    }

    /// Returns whether requests must succeed, which they need not between kills.
    fn is_patient(&self) -> bool {
        self.over_since.get().is_none_or(|since| since.elapsed() < PATIENCE)
    }
}

/// A search that is ordered, possibly several times.
#[derive(Clone)]
pub(crate) struct Order {
    name: String,
    body: String,
    idempotency_key: Option<String>,
}

impl Order {
    /// `number` determines how the answer is read, and whether the order may be repeated.
    pub(crate) fn new(name: String, number: usize) -> Self {
        let body =
            // Patient: a process that is stopped for seconds must not look like a site that became slower.
            json!({
                "type": "username", "query": name, "patient": true,
                "wait": number % 3 == 1, "stream": number % 3 == 2
            });
        let idempotency_key = (number % 5 != 4).then(|| format!("order of {name}"));
        Self { name, body: body.to_string(), idempotency_key }
    }
}

pub(crate) struct Client<'a> {
    world: &'a World,
    agent: Agent,
    chance: Chance,
    /// The number of modules that had ended when this client last saw it, by run.
    ended: HashMap<String, u64>,
}

impl<'a> Client<'a> {
    pub(crate) fn new(world: &'a World, seed: u64) -> Self {
        let agent = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE));
        Self { world, agent: agent.build().into(), chance: Chance::new(seed), ended: HashMap::new() }
    }

    /// Sends the order until it is accepted. Returns the run, or `None` if the answer of an unrepeatable order was
    /// lost.
    pub(crate) fn order(&mut self, order: &Order) -> Option<String> {
        loop {
            if let Some(run) = self.ordered(order) {
                self.world.taken.lock().push((order.name.clone(), run.clone()));
                return Some(run);
            }
            if order.idempotency_key.is_none() {
                self.world.unsure.lock().push(order.name.clone());
                return None;
            }
            assert!(self.world.is_patient(), "{} could not be ordered", order.name);
        }
    }

    /// Sends the order once, and reads the answer as far as it comes.
    fn ordered(&mut self, order: &Order) -> Option<String> {
        let answer = self.send("POST", "/searches", order.idempotency_key.as_deref(), Some(&order.body))?;
        let run = answer.headers().get("x-run-id").unwrap().to_str().unwrap().to_owned();
        if answer.headers()["content-type"] == "text/event-stream" {
            self.read_stream(&run, answer);
        } else if let Some(shown) = self.text(answer) {
            assert_eq!(shown["run_id"], *run);
            // An order without a wait is answered without results, even if the answer is late.
            if shown.get("results").is_some() {
                self.world.sightings.whole(&run, &shown, &Seen::default());
            }
        } else {
            // The answer was cut off in its head, so a client must not rely on it.
            return None;
        }
        Some(run)
    }

    /// Reads the run in different ways until the end was seen.
    pub(crate) fn follow(&mut self, run: &str, order: &Order) {
        while !self.look(run, order) {
            self.must_still_wait(run);
        }
    }

    /// Polls a run that nobody may have followed, since the answer to its order was lost, until it has ended.
    pub(crate) fn wait_for(&mut self, run: &str) {
        while !self.poll(run) {
            self.must_still_wait(run);
        }
    }

    fn must_still_wait(&self, run: &str) {
        assert!(self.world.is_patient(), "run {run} does not end: {:?}", self.world.sightings.of(run));
    }

    /// Reads the run once. Returns whether it has ended.
    fn look(&mut self, run: &str, order: &Order) -> bool {
        match self.chance.below(8) {
            0..3 => match self.send("GET", &format!("/searches/{run}/stream"), None, None) {
                Some(stream) => self.read_stream(run, stream),
                None => false,
            },
            3 if order.idempotency_key.is_some() => {
                assert!(self.ordered(order).is_none_or(|again| again == run), "ordered twice: {run}");
                false
            }
            _ => self.poll(run),
        }
    }

    fn poll(&mut self, run: &str) -> bool {
        let before = self.world.sightings.of(run);
        let answer = self.send("GET", &format!("/searches/{run}"), None, None);
        let Some(shown) = answer.and_then(|answer| self.text(answer)) else { return false };
        self.world.sightings.whole(run, &shown, &before);
        self.progress(run, &shown["progress"]);
        if shown["status"] != "running" {
            return true;
        }
        // The pause that a client should make between two polls.
        std::thread::sleep(Duration::from_millis(self.chance.below(1000) as u64));
        false
    }

    /// Reads a stream until it breaks, counting only whole frames. Returns whether it had a `done` frame.
    fn read_stream(&mut self, run: &str, stream: Response<ureq::Body>) -> bool {
        let (mut event, mut data, mut newest) = (String::new(), Value::Null, 0);
        for line in BufReader::new(stream.into_body().into_reader()).lines() {
            let Ok(line) = line else { break };
            if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut event);
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = serde_json::from_str(text).unwrap();
            } else if line.is_empty() && self.frame(run, &event, &data, &mut newest) {
                return true;
            }
        }
        self.world.broken_off.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Checks a frame; `newest` is the newest result of this stream. Returns whether it was the last frame.
    fn frame(&mut self, run: &str, event: &str, data: &Value, newest: &mut u64) -> bool {
        match event {
            "result" => {
                let id = data["id"].as_u64().unwrap();
                assert!(id <= *newest + 1, "run {run}: {id} after {newest}");
                *newest = id.max(*newest);
                self.world.sightings.result(run, data);
            }
            "done" => {
                assert_eq!(data["total_results"], *newest, "run {run}: {data}");
                self.world.sightings.status(run, data, &Seen::default());
                self.progress(run, data);
                return true;
            }
            "progress" => self.progress(run, data),
            "error" if data["error"] == "server_shutdown" => {
                self.world.announced.fetch_add(1, Ordering::Relaxed);
            }
            "run" | "" => {}
            other => panic!("run {run}: {other} {data}"),
        }
        false
    }

    /// Checks that a module which this client has seen as ended stays so, even if the server was killed since.
    fn progress(&mut self, run: &str, data: &Value) {
        let now = data["modules_completed"].as_u64().unwrap();
        let before = self.ended.insert(run.to_owned(), now).unwrap_or(0);
        assert!(now >= before, "run {run}: {before} modules had ended, and now {now}: {data}");
    }

    /// Returns the body of an answer, unless it was cut off.
    fn text(&self, mut answer: Response<ureq::Body>) -> Option<Value> {
        let text = answer.body_mut().read_to_string();
        let whole = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        if whole.is_none() {
            self.world.broken_off.fetch_add(1, Ordering::Relaxed);
        }
        whole
    }

    /// Sends a request and returns the answer if its status is 200.
    fn send(
        &mut self,
        method: &str,
        path: &str,
        idempotency_key: Option<&str>,
        body: Option<&str>,
    ) -> Option<Response<ureq::Body>> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.address()));
        request = request.header("Authorization", format!("Bearer {}", self.world.key));
        if let Some(key) = idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        let answer = match body {
            Some(body) => {
                let request = request.header("Content-Type", "application/json");
                self.agent.run(request.body(body.to_owned()).unwrap())
            }
            None => self.agent.run(request.body(()).unwrap()),
        };
        match answer {
            Ok(answer) if answer.status() == 200 => Some(answer),
            Ok(mut answer) => {
                // 409 means that the first request is still in progress. 502 and 504 come from a proxy.
                let status = answer.status().as_u16();
                let text = answer.body_mut().read_to_string().unwrap_or_default();
                assert!(matches!(status, 409 | 502..=504), "{method} {path}: {status} {text}");
                assert!(
                    answer.headers().contains_key("retry-after"),
                    "it does not say when to come again: {text}"
                );
                std::thread::sleep(Duration::from_millis(100));
                None
            }
            Err(_) => {
                self.world.broken_off.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Returns the document at a path, from a server that is not killed any more.
    pub(crate) fn get(&mut self, path: &str) -> Value {
        let answer = self.send("GET", path, None, None);
        answer.and_then(|answer| self.text(answer)).unwrap_or_else(|| panic!("no answer: {path}"))
    }

    /// Returns the address of the API, after waiting for the server.
    fn address(&self) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.world.port.load(Ordering::SeqCst) {
                0 => std::thread::sleep(Duration::from_millis(10)),
                port => return format!("http://127.0.0.1:{port}/v1"),
            }
            assert!(Instant::now() < end, "the server does not come back");
        }
    }
}
