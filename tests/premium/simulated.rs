//! A simulated driver: the test sets its answers and sees its commands.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use sightline::net::browser::Webdriver;
use sightline::net::{BrowserConfig, NetConfig, RealBrowsers};

use super::lab;
use crate::support::awaited;
use crate::support::site::{Site, with_headers};

/// An answer to one command.
pub(super) enum Says {
    /// A session by the next number (`s1`, `s2`, …) without a way to empty contexts; a page that is there; nothing.
    AsUsual,
    /// Answers with this value.
    Value(Value),
    /// Answers with an error of this code.
    Refusal(&'static str),
}

/// The state of a page that is not loaded yet.
pub(super) fn nothing_yet() -> Says {
    Says::Value(json!({"stage": "none"}))
}

/// The simulated driver.
pub(super) struct Driver(Site);

impl Driver {
    /// Answers commands (`POST /session`), each on a thread of its own.
    pub(super) fn start(act: impl Fn(&str) -> Says + Send + Sync + 'static) -> Self {
        let sessions = AtomicUsize::new(0);
        Self(Site::start(move |stream, request| {
            let command = request.line().replace(" HTTP/1.1", "");
            let value = match act(&command) {
                Says::AsUsual => usual(&command, &sessions),
                Says::Value(value) => value,
                Says::Refusal(code) => {
                    let body = json!({"value": {"error": code, "message": "played"}}).to_string();
                    let answer = with_headers("Content-Type: application/json\r\n", body.as_bytes());
                    let answer = String::from_utf8(answer).unwrap().replacen("200 OK", "500 Refused", 1);
                    return drop(stream.write_all(answer.as_bytes()));
                }
            };
            let body = json!({"value": value}).to_string();
            let _ = stream.write_all(&with_headers("Content-Type: application/json\r\n", body.as_bytes()));
        }))
    }

    /// Creates browsers that use only this driver.
    pub(super) fn browsers(&self, net: NetConfig, sessions: usize) -> RealBrowsers {
        let endpoints = vec![self.endpoint()];
        RealBrowsers::start(&BrowserConfig { endpoints, ..lab::config(net, sessions) }).unwrap()
    }

    pub(super) fn endpoint(&self) -> Webdriver {
        lab::at(&self.0.url(""))
    }

    /// Returns all commands so far, in order.
    pub(super) fn commands(&self) -> Vec<String> {
        self.0.received().iter().map(|request| request.line().replace(" HTTP/1.1", "")).collect()
    }

    pub(super) fn count(&self, command: &str) -> usize {
        self.commands().iter().filter(|asked| *asked == command).count()
    }

    /// Returns the requested capabilities of each session so far.
    pub(super) fn wishes(&self) -> Vec<Value> {
        let received = self.0.received().into_iter();
        let wishes = received.filter(|request| request.line().starts_with("POST /session "));
        wishes.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
    }

    /// Waits for the first session and returns its requested capabilities.
    pub(super) fn first_wish(&self) -> Value {
        awaited("a session is wanted", || self.wishes().into_iter().next().ok_or("none"))
    }

    /// The egress proxy of the first session.
    pub(super) fn egress_proxy(&self) -> SocketAddr {
        let wish = self.first_wish();
        wish["capabilities"]["firstMatch"][0]["proxy"]["httpProxy"].as_str().unwrap().parse().unwrap()
    }
}

fn usual(command: &str, sessions: &AtomicUsize) -> Value {
    match command.split_once(' ').unwrap_or_default() {
        ("POST", "/session") => {
            let number = sessions.fetch_add(1, Ordering::SeqCst) + 1;
            json!({"sessionId": format!("s{number}"), "capabilities": {"browserName": "firefox"}})
        }
        ("GET", path) if path.ends_with("/window") => json!("w"),
        ("POST", path) if path.ends_with("/execute/sync") => json!({
            "stage": "page", "state": "complete", "status": 200, "isReady": true, "url": "http://a.example/u",
            "html": "<p>there"
        }),
        _ => Value::Null,
    }
}

/// A switch that a simulated driver reads.
#[derive(Clone, Default)]
pub(super) struct Switch(Arc<std::sync::atomic::AtomicBool>);

impl Switch {
    pub(super) fn turn_on(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
