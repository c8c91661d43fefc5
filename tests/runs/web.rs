//! A simulated web on which the id of a module determines the behaviour of its site.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use serde_json::Value;
use sightline::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use sightline::modules::reason::Reason;

/// Returns the email addresses on `list-NUMBER`; some sources write them with capitals.
pub(super) fn listed(number: usize) -> Vec<String> {
    let named = (1..=12usize)
        .filter(|address| !(number + address).is_multiple_of(3) || number.is_multiple_of(*address));
    let written = |address: usize| match (number + address) % 2 {
        0 => format!("user{address}@example.com"),
        _ => format!("USER{address}@Example.com"),
    };
    named.map(written).collect()
}

/// A web on which the id of a module determines the behaviour of its site: `ok-…` hits, `miss-…` misses, `shy-…` misses
/// but blocks the check of `bob`, `panic-…` panics, `limit-…` answers 429 with `Retry-After`, `limited-…` does so on a
/// host `first…`, `hang-…` never answers, `gate-…` answers when the gate is open, `list-…` lists email addresses (see
/// [`listed`]), and `gatelist-…` does so when the gate is open. `profile-…` sites have the profiles that a test gives them.
#[derive(Default)]
pub(crate) struct PlayedWeb {
    pub(super) gate_open: Mutex<bool>,
    pub(super) opened: Condvar,
    /// The answers of the `profile-…` sites, by module and query. Other names are not found there.
    pub(super) profiles: Mutex<HashMap<(String, String), Value>>,
    /// The modules of all requests, in their order.
    pub(super) asked: Mutex<Vec<String>>,
    /// The hosts of all requests.
    pub(super) hosts: Mutex<HashSet<String>>,
    pub(super) at_gate: AtomicUsize,
    /// Whether the network of this process fails, so that no name resolves.
    pub(super) down: AtomicBool,
}

impl PlayedWeb {
    pub(super) fn open_gate(&self) {
        *self.gate_open.lock() = true;
        self.opened.notify_all();
    }

    /// Returns the number of requests to all modules.
    pub(super) fn total(&self) -> usize {
        self.asked.lock().len()
    }

    pub(super) fn asked(&self, module: &str) -> usize {
        self.asked.lock().iter().filter(|asked| *asked == module).count()
    }

    fn pass_gate(&self) {
        self.at_gate.fetch_add(1, Ordering::SeqCst);
        let mut open = self.gate_open.lock();
        while !*open {
            self.opened.wait(&mut open);
        }
    }

    fn answer(&self, request: &Request, deadline: Instant) -> Result<Response, ProbeError> {
        if self.down.load(Ordering::SeqCst) {
            return Err(Reason::Dns.because("no answer"));
        }
        let module = &*request.trace.module;
        let status = match module.split('-').next().unwrap() {
            "ok" => 200,
            "shy" if &*request.trace.query == "bob" => 403,
            "miss" | "shy" => 404,
            "panic" => panic!("a module breaks"),
            "limit" => 429,
            "limited" if request.url.host_str().is_some_and(|host| host.starts_with("first")) => 429,
            "limited" => 200,
            "hang" => {
                std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
                return Err(ProbeError::late(Reason::TimeoutFirstByte));
            }
            "list" => 200,
            "profile" => {
                let name = (module.to_owned(), request.trace.query.to_string());
                return Ok(profile(request, self.profiles.lock().get(&name)));
            }
            "gate" | "gatelist" => {
                self.pass_gate();
                200
            }
            other => panic!("{other}"),
        };
        Ok(Response {
            status,
            final_url: request.url.clone(),
            headers: if status == 429 { vec![("retry-after".into(), "60".into())] } else { vec![] },
            body: match module.rsplit_once("list-") {
                Some((_, number)) => Value::from(listed(number.parse().unwrap())).to_string().into_bytes(),
                None => format!("profile of {}", request.trace.query).into_bytes(),
            },
            truncated: false,
        })
    }
}

fn profile(request: &Request, profile: Option<&Value>) -> Response {
    Response {
        status: if profile.is_some() { 200 } else { 404 },
        final_url: request.url.clone(),
        headers: vec![],
        body: profile.unwrap_or(&Value::Null).to_string().into_bytes(),
        truncated: false,
    }
}

impl Prober for PlayedWeb {
    fn send(&self, request: &Request, _: &mut CookieJar, deadline: Instant) -> Result<Response, ProbeError> {
        self.hosts.lock().insert(request.url.host_str().unwrap().to_owned());
        self.asked.lock().push(request.trace.module.to_string());
        self.answer(request, deadline)
    }
}
