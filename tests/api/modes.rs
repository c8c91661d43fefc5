//! The three modes of a search, and what makes a repeated request safe.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::databases::databases;
use crate::support::server::{Server, Setup, run_ids};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn is_timestamp(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.len() == 24 && text.ends_with('Z') && text.parse::<jiff::Timestamp>().is_ok()
}

#[test]
fn all_three_types_complete_on_both_databases_and_are_the_same_read_later() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        for (search_type, query) in
            [("username", "everybody"), ("email", "everybody@example.com"), ("domain", "everybody.com")]
        {
            let run_id = server.search(search_type, query);
            let run = server.finished(&run_id);
            assert_eq!(run["run_id"], json!(run_id));
            assert_eq!(run["type"], json!(search_type));
            assert_eq!(run["query"], json!(query));
            assert_eq!(run["status"], "completed", "{}: {run}", database.name);
            assert!(run["total_results"].as_u64().unwrap() > 5, "{run}");
            assert_eq!(run["progress"]["modules_completed"], run["progress"]["modules_total"]);
            assert!(is_timestamp(&run["completed_at"]), "{run}");
            assert_eq!((&run["error"], &run["credits_charged"]), (&Value::Null, &json!(1)));
            assert_eq!(run["sandbox"], true, "a simulated run says so wherever it is read");
            for (index, result) in run["results"].as_array().unwrap().iter().enumerate() {
                assert_eq!(result["id"], index + 1, "ids are sequential");
                let confidence = result["confidence"].as_f64().unwrap();
                assert!(
                    confidence > 0.0 && confidence <= 1.0 && is_timestamp(&result["created_at"]),
                    "{result}"
                );
            }
            let coverage = &run["coverage"];
            assert_eq!(coverage["checked"], run["progress"]["modules_total"]);
            assert_eq!(coverage["hit"], run["progress"]["modules_with_hits"]);
        }
        let before = runs(&server);
        let server = server.restart(&[]);
        assert_eq!(
            before,
            runs(&server),
            "{}: a run read from the store differs from the live one",
            database.name
        );
    }
}

fn runs(server: &Server) -> Vec<Value> {
    let ids = run_ids(&server.get("/v1/searches").json());
    ids.iter().map(|id| server.get(&format!("/v1/searches/{id}")).json()).collect()
}

#[test]
fn the_sync_mode_answers_with_results_or_after_the_preferred_wait_with_running() {
    let server = Setup::new().start();
    let answer = server.post(&json!({"type": "username", "query": "everybody", "wait": true}));
    assert_eq!(answer.status, 200, "{answer}");
    let body = answer.json();
    assert_eq!(keys(&body), ["run_id", "status", "total_results", "results", "coverage"]);
    assert_eq!(body["status"], "completed");
    assert_eq!(answer.header("x-run-id"), body["run_id"].as_str());
    let run = server.finished(body["run_id"].as_str().unwrap());
    assert_eq!(run["results"], body["results"]);

    let slow = Setup::new().realistic().start();
    let began = Instant::now();
    let answer = slow
        .request("POST", "/v1/searches")
        .key(&slow.key)
        .header("Prefer", "wait=1")
        .json(&json!({"type": "username", "query": "alice", "wait": true}))
        .send();
    assert!(began.elapsed() >= Duration::from_secs(1), "it answered before the wait was over");
    assert_eq!(keys(&answer.json()), ["run_id", "status"], "{answer}");
    assert_eq!(answer.json()["status"], "running");
    assert_eq!(answer.header("retry-after"), Some("2"));
    assert_eq!(answer.header("preference-applied"), Some("wait=1"));
}

#[test]
fn a_stream_or_wait_over_the_limit_is_refused_before_it_is_charged() {
    let server = Setup::new().realistic().flag("--max-streams=1").start();
    let first = server.post_stream(&json!({"type": "username", "query": "alice", "stream": true}));
    for mode in ["stream", "wait"] {
        let refused = server.post(&json!({"type": "username", "query": "bob", mode: true}));
        refused.is_error(503, "overloaded");
        assert!(refused.header("retry-after").is_some(), "{refused}");
    }
    assert_eq!(server.get("/v1/credits").json()["credits_used"], 1, "only the first search is charged");
    assert_eq!(server.get("/v1/searches").json()["count"], 1);
    first.all();
}
