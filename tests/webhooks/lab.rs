//! Servers that may send to loopback addresses, and requests to their webhooks.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::support::awaited;
use crate::support::databases::TestDatabase;
use crate::support::server::{Answer, Server, Setup};

/// The text of a key for the secrets of webhooks.
pub(crate) const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n";

/// Returns the flag with a key file, which PostgreSQL needs. All tests share the file, which is written once.
pub(crate) fn key_flag() -> String {
    static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("webhooks-{}.key", std::process::id()));
        std::fs::write(&path, KEY).unwrap();
        path
    });
    format!("--secret-key-file={}", PATH.display())
}

/// Returns a server that may send to loopback addresses.
pub(crate) fn lab(database: &TestDatabase) -> Setup {
    Setup::new().database(&database.url).flag("--allow-private-targets").flag(&key_flag())
}

pub(crate) fn create(server: &Server, url: &str) -> Value {
    let answer =
        send(server, "POST", "", Some(&json!({"url": url, "events": ["run.completed", "run.failed"]})));
    assert_eq!(answer.status, 201, "{answer}");
    answer.json()
}

/// Sends a request to an address below `/v1/webhooks`.
pub(crate) fn send(server: &Server, method: &str, below: &str, body: Option<&Value>) -> Answer {
    server.call(method, &format!("/v1/webhooks{below}"), body)
}

pub(crate) fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

/// Sends a test message and returns the id of its delivery.
pub(crate) fn test(server: &Server, webhook: &Value) -> String {
    let answer = send(server, "POST", &format!("/{}/test", id(webhook)), None);
    assert_eq!(answer.status, 202, "{answer}");
    id(&answer.json()).to_owned()
}

pub(crate) fn deliveries(server: &Server, webhook: &Value) -> Vec<Value> {
    let answer = send(server, "GET", &format!("/{}/deliveries?limit=100", id(webhook)), None);
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()["deliveries"].as_array().unwrap().clone()
}

/// Waits until an attempt of the delivery has ended, and returns the delivery.
pub(crate) fn attempted(server: &Server, webhook: &Value, delivery: &str) -> Value {
    awaited("an attempt has ended", || {
        let all = deliveries(server, webhook);
        let found = all.iter().find(|one| id(one) == delivery).unwrap().clone();
        if found["attempts"] == 0 { Err(found) } else { Ok(found) }
    })
}
