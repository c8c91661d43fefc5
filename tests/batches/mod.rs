//! Batches over the real binary: acceptance, progress and files.

mod accepting;
mod feeding;
mod files;

use serde_json::{Value, json};

use crate::support::awaited;
use crate::support::server::{Answer, Server};

fn post(server: &Server, key: &str, body: &Value) -> Answer {
    server.request("POST", "/v1/batches").key(key).json(body).send()
}

fn post_csv(server: &Server, parameters: &str, csv: &[u8]) -> Answer {
    let request = server.request("POST", &format!("/v1/batches{parameters}")).key(&server.key);
    request.header("Content-Type", "text/csv").body(csv).send()
}

/// Returns the body of a batch of usernames, each searched on one site.
fn names(names: &[&str]) -> Value {
    let search = |name: &&str| json!({"type": "username", "query": name, "modules": ["github"]});
    json!({"searches": names.iter().map(search).collect::<Vec<_>>()})
}

/// Starts a batch and returns its id.
fn accepted(server: &Server, body: &Value) -> String {
    let answer = post(server, &server.key, body);
    assert_eq!(answer.status, 201, "{answer}");
    answer.json()["batch_id"].as_str().unwrap().to_owned()
}

fn read(server: &Server, id: &str) -> Value {
    let answer = server.get(&format!("/v1/batches/{id}?limit=1000"));
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

/// Polls a batch until it ends.
fn ended(server: &Server, id: &str) -> Value {
    awaited("the batch ends", || {
        let batch = read(server, id);
        if batch["ended_at"].is_null() { Err(batch) } else { Ok(batch) }
    })
}
