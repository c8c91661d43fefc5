//! Clients that continue through every kill and restart: they order searches, and read them until they have seen the end.
//! What one client has seen, every later one must see.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::{Request, Response};

use crate::support::awaited;
use crate::support::chance::Chance;
use crate::support::server::PATIENCE;

/// The results that clients have seen of one run.
#[derive(Debug, Default, Clone)]
pub(crate) struct Seen {
    /// The members of each result that never change, by its id.
    pub(crate) results: BTreeMap<u64, Value>,
    /// The terminal status and the number of results.
    pub(crate) end: Option<(String, u64)>,
}

impl Seen {
    fn newest(&self) -> u64 {
        self.results.keys().next_back().copied().unwrap_or(0)
    }
}

/// The state that all clients share. A contradiction fails the test.
pub(crate) struct World {
    /// The port of the server; 0 while it is down.
    pub(crate) port: AtomicU16,
    key: String,
    seen: Mutex<HashMap<String, Seen>>,
    /// The runs of accepted orders by the name that is searched.
    pub(crate) taken: Mutex<BTreeMap<String, String>>,
    /// Unrepeatable orders whose answer was lost: they have no `Idempotency-Key`.
    pub(crate) unsure: Mutex<Vec<String>>,
    /// When the last disturbance was. From here on every request must succeed.
    over_since: OnceLock<Instant>,
    /// The number of streams that a shutdown ended.
    pub(crate) announced: AtomicUsize,
}

/// Ends the orders even if the test fails.
struct Over<'a>(&'a World);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let _ = self.0.over_since.set(Instant::now());
    }
}

impl World {
    pub(crate) fn new(key: String) -> Self {
        Self {
            port: AtomicU16::new(0),
            key,
            seen: Mutex::default(),
            taken: Mutex::default(),
            unsure: Mutex::default(),
            over_since: OnceLock::new(),
            announced: AtomicUsize::new(0),
        }
    }

    /// Lets clients search while `disturb` runs, and read to the end what they have ordered. `order` returns the order of a
    /// client with a number.
    pub(crate) fn while_disturbed<T>(
        &self,
        clients: usize,
        order: impl Fn(usize, usize) -> Order + Sync,
        disturb: impl FnOnce() -> T,
    ) -> T {
        thread::scope(|scope| {
            let order = &order;
            for client in 0..clients {
                scope.spawn(move || {
                    let mut reader = Client::new(self, client as u64);
                    for number in 0.. {
                        if self.over_since.get().is_some() {
                            return;
                        }
                        reader.search(&order(client, number));
                    }
                });
            }
            let _over = Over(self);
            disturb()
        })
    }

    /// Returns what clients have seen of a run so far.
    pub(crate) fn seen(&self, run: &str) -> Seen {
        self.seen.lock().get(run).cloned().unwrap_or_default()
    }

    fn result(&self, run: &str, result: &Value) {
        // Sources, and what they add, may grow.
        let lasting = ["type", "entity_type", "platform", "value", "source", "created_at"];
        let (id, lasting) = (result["id"].as_u64().unwrap(), json!(lasting.map(|field| &result[field])));
        let mut all = self.seen.lock();
        let seen = all.entry(run.to_owned()).or_default();
        assert!(seen.end.as_ref().is_none_or(|(_, total)| id <= *total), "run {run} had ended: {result}");
        let before = seen.results.entry(id).or_insert_with(|| lasting.clone());
        assert_eq!(*before, lasting, "id {id} of run {run} came to mean something else");
    }

    /// Records all results of a run so far; `before` is what clients had seen when the request was sent.
    pub(crate) fn whole(&self, run: &str, shown: &Value, before: &Seen) {
        let results = shown["results"].as_array().unwrap();
        results.iter().for_each(|result| self.result(run, result));
        assert!(results.iter().map(|result| result["id"].as_u64().unwrap()).eq(1..=results.len() as u64));
        assert_eq!(shown["total_results"], results.len(), "run {run}");
        assert!(results.len() as u64 >= before.newest(), "run {run}: {before:?} had been seen: {shown}");
        self.status(run, shown, before);
    }

    fn status(&self, run: &str, shown: &Value, before: &Seen) {
        if shown["status"] == "running" {
            assert_eq!(before.end, None, "run {run} had ended");
            return;
        }
        let end = (shown["status"].as_str().unwrap().to_owned(), shown["total_results"].as_u64().unwrap());
        let mut all = self.seen.lock();
        let seen = all.entry(run.to_owned()).or_default();
        assert_eq!(*seen.end.get_or_insert_with(|| end.clone()), end, "run {run} ended in two ways");
        assert!(seen.newest() <= end.1, "run {run} ended with {} results: {seen:?}", end.1);
    }
}

/// A search that is ordered, possibly several times.
pub(crate) struct Order {
    name: String,
    body: String,
    idempotency_key: Option<String>,
}

impl Order {
    /// `mode` determines how the answer is read.
    pub(crate) fn new(name: String, mode: usize, is_repeatable: bool) -> Self {
        // Patient: a process that is stopped for seconds must not look like a site that became slower.
        let body = json!({
            "type": "username", "query": name, "patient": true, "wait": mode % 3 == 1, "stream": mode % 3 == 2
        });
        let idempotency_key = is_repeatable.then(|| format!("order of {name}"));
        Self { name, body: body.to_string(), idempotency_key }
    }
}

struct Client<'a> {
    world: &'a World,
    agent: Agent,
    chance: Chance,
    /// The number of modules that had ended when this client last saw it, by run.
    ended: HashMap<String, u64>,
}

impl<'a> Client<'a> {
    fn new(world: &'a World, seed: u64) -> Self {
        let agent = Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE));
        Self { world, agent: agent.build().into(), chance: Chance::new(seed), ended: HashMap::new() }
    }

    /// Sends the order until it is accepted, and reads the run in different ways until its end was seen. Looks now and then at
    /// the runs of others. The answer of an unrepeatable order may be lost.
    fn search(&mut self, order: &Order) {
        let run = loop {
            if let Some(run) = self.ordered(order) {
                break run;
            }
            if order.idempotency_key.is_none() {
                return self.world.unsure.lock().push(order.name.clone());
            }
            self.must_still_wait(&order.name);
        };
        self.world.taken.lock().insert(order.name.clone(), run.clone());
        while !self.look(&run, order) {
            self.must_still_wait(&run);
        }
        let others: Vec<String> = self.world.taken.lock().values().cloned().collect();
        let other = self.chance.below(others.len());
        self.poll(&others[other]);
    }

    /// Asserts that requests need not succeed yet, as between kills.
    fn must_still_wait(&self, what: &str) {
        let is_patient = self.world.over_since.get().is_none_or(|since| since.elapsed() < PATIENCE);
        assert!(is_patient, "{what} does not end: {:?}", self.world.seen(what));
    }

    /// Sends the order once, and reads the answer as far as it comes.
    fn ordered(&mut self, order: &Order) -> Option<String> {
        let answer = self.send("POST", "", order.idempotency_key.as_deref(), Some(&order.body))?;
        let run = answer.headers().get("x-run-id").unwrap().to_str().unwrap().to_owned();
        if answer.headers()["content-type"] == "text/event-stream" {
            self.read_stream(&run, answer);
            return Some(run);
        }
        // A client must not rely on an answer that was cut off in its head.
        let shown = read(answer)?;
        assert_eq!(shown["run_id"], *run);
        // An order without a wait is answered without results, even if the answer is late.
        if shown.get("results").is_some() {
            self.world.whole(&run, &shown, &Seen::default());
        }
        Some(run)
    }

    /// Reads the run once. Returns whether it has ended.
    fn look(&mut self, run: &str, order: &Order) -> bool {
        match self.chance.below(8) {
            0..3 => match self.send("GET", &format!("/{run}/stream"), None, None) {
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
        let before = self.world.seen(run);
        let answer = self.send("GET", &format!("/{run}"), None, None);
        let Some(shown) = answer.and_then(read) else { return false };
        self.world.whole(run, &shown, &before);
        self.progress(run, &shown["progress"]);
        if shown["status"] != "running" {
            return true;
        }
        // The pause that a client should make between two polls.
        thread::sleep(Duration::from_millis(self.chance.below(1000) as u64));
        false
    }

    /// Reads a stream until it breaks, counting only whole frames. Returns whether it had a `done` frame.
    fn read_stream(&mut self, run: &str, stream: Response<ureq::Body>) -> bool {
        let (mut event, mut data, mut newest) = (String::new(), Value::Null, 0);
        for line in BufReader::new(stream.into_body().into_reader()).lines().map_while(Result::ok) {
            if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut event);
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = serde_json::from_str(text).unwrap();
            } else if line.is_empty() && self.frame(run, &event, &data, &mut newest) {
                return true;
            }
        }
        false
    }

    /// Checks a frame; `newest` is the newest result of this stream. Returns whether it was the last frame.
    fn frame(&mut self, run: &str, event: &str, data: &Value, newest: &mut u64) -> bool {
        match event {
            "result" => {
                let id = data["id"].as_u64().unwrap();
                assert!(id <= *newest + 1, "run {run}: {id} after {newest}");
                *newest = id.max(*newest);
                self.world.result(run, data);
            }
            "done" => {
                assert_eq!(data["total_results"], *newest, "run {run}: {data}");
                self.world.status(run, data, &Seen::default());
                self.progress(run, data);
            }
            "progress" => self.progress(run, data),
            "error" if data["error"] == "server_shutdown" => {
                self.world.announced.fetch_add(1, Ordering::Relaxed);
            }
            "run" | "" => {}
            other => panic!("run {run}: {other} {data}"),
        }
        event == "done"
    }

    /// Checks that a module which this client has seen as ended stays so, even if the server was killed since.
    fn progress(&mut self, run: &str, data: &Value) {
        let now = data["modules_completed"].as_u64().unwrap();
        let before = self.ended.insert(run.to_owned(), now).unwrap_or(0);
        assert!(now >= before, "run {run}: {before} modules had ended, and now {now}: {data}");
    }

    /// Sends a request below `/v1/searches` once the server is up, and returns the answer if its status is 200.
    fn send(
        &self,
        method: &str,
        below: &str,
        idempotency_key: Option<&str>,
        body: Option<&str>,
    ) -> Option<Response<ureq::Body>> {
        let port = awaited("the server comes back", || match self.world.port.load(Ordering::SeqCst) {
            0 => Err("it is down"),
            port => Ok(port),
        });
        let uri = format!("http://127.0.0.1:{port}/v1/searches{below}");
        let mut request = Request::builder().method(method).uri(uri);
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
        let mut answer = answer.ok()?;
        // 409 means that the first request is still in progress. 502 and 504 come from a proxy.
        let status = answer.status().as_u16();
        if status != 200 {
            let text = answer.body_mut().read_to_string().unwrap_or_default();
            assert!(matches!(status, 409 | 502..=504), "{method} {below}: {status} {text}");
            assert!(answer.headers().contains_key("retry-after"), "when to come again: {text}");
            thread::sleep(Duration::from_millis(100));
        }
        (status == 200).then_some(answer)
    }
}

/// Returns the body of an answer, unless it was cut off.
fn read(mut answer: Response<ureq::Body>) -> Option<Value> {
    serde_json::from_str(&answer.body_mut().read_to_string().ok()?).ok()
}
