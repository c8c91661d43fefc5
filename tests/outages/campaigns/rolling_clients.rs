//! Well-behaved clients: they send idempotency keys, and try again where they are told to or get no answer.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Response;

use crate::support::client::Wanted;
use crate::support::server::PATIENCE;

/// The way a client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habit {
    Polling,
    Waiting,
    Streaming,
}

/// The observations of one client.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) searches: usize,
    pub(super) requests: usize,
    /// Requests that were refused, cut off or not answered, and sent again.
    pub(super) retried: usize,
    /// Requests that were not answered within [`PATIENCE`], however often they were sent.
    pub(super) lost: usize,
    pub(super) streams_ended_by_shutdown: usize,
    /// Results that a client did not get in the end, or got twice under different ids.
    pub(super) results_lost: usize,
    pub(super) results_doubled: usize,
    pub(super) longest: Duration,
}

pub(super) struct Client {
    agent: Agent,
    base: String,
    key: String,
    habit: Habit,
    pub(super) record: Record,
}

impl Client {
    pub(super) fn new(proxy: SocketAddr, key: &str, habit: Habit) -> Self {
        let agent =
            Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).build();
        let base = format!("http://{proxy}/v1/searches");
        Self { agent: agent.into(), base, key: key.to_owned(), habit, record: Record::default() }
    }

    /// Runs one search from its start to its last result. It is patient, since an instance that is stopped must not
    /// look like a site that became slower.
    pub(super) fn search(&mut self, name: &str, expected: usize) {
        let began = Instant::now();
        let results = match self.habit {
            Habit::Polling | Habit::Waiting => self.order_and_poll(name),
            Habit::Streaming => self.stream_to_the_end(name),
        };
        self.record.searches += 1;
        self.record.longest = self.record.longest.max(began.elapsed());
        let Some(results) = results else { return };
        let ids: BTreeSet<u64> = results.iter().filter_map(|result| result["id"].as_u64()).collect();
        let values: BTreeSet<&str> = results.iter().filter_map(|result| result["source"].as_str()).collect();
        self.record.results_lost += expected.saturating_sub(values.len());
        self.record.results_doubled += ids.len().saturating_sub(values.len());
    }

    fn order_and_poll(&mut self, name: &str) -> Option<Vec<Value>> {
        let wait = self.habit == Habit::Waiting;
        let body = json!({"type": "username", "query": name, "patient": true, "wait": wait}).to_string();
        let mut answer = self.answered(|| order(name), Some(&body))?;
        let run = answer["run_id"].as_str().unwrap().to_owned();
        while answer["status"] == "running" {
            std::thread::sleep(Duration::from_millis(100));
            let path = format!("/{run}");
            answer = self.answered(|| (path.clone(), "GET", None), None)?;
        }
        assert_eq!(answer["status"], "completed", "{answer}");
        Some(answer["results"].as_array().unwrap().clone())
    }

    /// Sends a request until it is answered with 200.
    fn answered(
        &mut self,
        question: impl Fn() -> (String, &'static str, Option<String>),
        body: Option<&str>,
    ) -> Option<Value> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let (path, method, idempotency_key) = question();
            let text = self.sent(&path, method, idempotency_key.as_deref(), body).and_then(|mut answer| {
                // A response that is cut off does not count.
                answer.body_mut().read_to_string().ok()
            });
            match text {
                Some(text) => return Some(serde_json::from_str(&text).unwrap()),
                None => self.record.retried += 1,
            }
        }
        self.record.lost += 1;
        None
    }

    /// Returns the response if its status is 200. Otherwise waits as long as it is told to.
    fn sent(
        &mut self,
        path: &str,
        method: &str,
        idempotency_key: Option<&str>,
        body: Option<&str>,
    ) -> Option<Response<ureq::Body>> {
        self.record.requests += 1;
        let wanted = Wanted { method, path, idempotency_key, body };
        let answer = wanted.send(&self.agent, &self.base, &self.key);
        let told = match answer {
            Ok(answer) if answer.status() == 200 => return Some(answer),
            Ok(mut answer) => {
                // 409: the previous request is still under way; 502 to 504 come from the proxy.
                let status = answer.status().as_u16();
                let text = answer.body_mut().read_to_string().unwrap_or_default();
                assert!(matches!(status, 409 | 502..=504), "{method} {path}: {status} {text}");
                let told =
                    answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
                assert!(told.is_some(), "{status} does not say when to come again: {text}");
                told
            }
            Err(_) => None,
        };
        std::thread::sleep(told.map_or(Duration::from_millis(200), Duration::from_secs));
        None
    }

    fn stream_to_the_end(&mut self, name: &str) -> Option<Vec<Value>> {
        let body = json!({"type": "username", "query": name, "patient": true, "stream": true}).to_string();
        let end = Instant::now() + PATIENCE * 2;
        let mut run: Option<String> = None;
        let mut results: Vec<Value> = Vec::new();
        while Instant::now() < end {
            let sent = match &run {
                None => self.sent("", "POST", Some(name), Some(&body)),
                Some(run) => self.sent(&format!("/{run}/stream"), "GET", None, None),
            };
            let Some(answer) = sent else {
                self.record.retried += 1;
                continue;
            };
            if let Some(id) = answer.headers().get("x-run-id") {
                run = Some(id.to_str().unwrap().to_owned());
            }
            if self.read_stream(answer, &mut results) {
                return Some(results);
            }
            self.record.retried += 1;
        }
        self.record.lost += 1;
        None
    }

    /// Returns whether the stream came to its `done` frame. A result is known by its id; a repeated one replaces it.
    fn read_stream(&mut self, answer: Response<ureq::Body>, results: &mut Vec<Value>) -> bool {
        let mut event = String::new();
        for line in BufReader::new(answer.into_body().into_reader()).lines() {
            let Ok(line) = line else { return false };
            if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut event);
            }
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let data: Value = serde_json::from_str(data).unwrap();
            match event.as_str() {
                "result" => match results.iter_mut().find(|known| known["id"] == data["id"]) {
                    Some(known) => {
                        assert_eq!(known["source"], data["source"], "an id came to mean something else");
                        *known = data;
                    }
                    None => results.push(data),
                },
                "done" => {
                    assert_eq!(data["status"], "completed", "{data}");
                    return true;
                }
                "error" => {
                    assert_eq!(data["error"], "server_shutdown", "{data}");
                    self.record.streams_ended_by_shutdown += 1;
                    std::thread::sleep(Duration::from_secs(data["retry_after"].as_u64().unwrap()));
                }
                _ => {}
            }
        }
        false
    }
}

fn order(name: &str) -> (String, &'static str, Option<String>) {
    (String::new(), "POST", Some(name.to_owned()))
}
