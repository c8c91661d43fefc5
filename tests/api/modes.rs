//! The three modes of a search, and what makes a repeated request safe.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::databases::databases;
use crate::support::folder::Folder;
use crate::support::modules::entry;
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
fn the_async_mode_answers_at_once_with_id_and_status() {
    // Silent sites keep it running during the test.
    let server = Setup::new().start();
    let answer = server.post(&json!({"type": "username", "query": "silent"}));
    assert_eq!(answer.status, 200);
    let body = answer.json();
    assert_eq!(keys(&body), ["run_id", "status"]);
    assert_eq!(body["status"], "running");
    let run_id = body["run_id"].as_str().unwrap();
    assert_eq!(answer.header("location"), Some(format!("/v1/searches/{run_id}").as_str()));
    assert_eq!(answer.header("x-run-id"), Some(run_id));
    let run = server.get(&format!("/v1/searches/{run_id}")).json();
    assert_eq!((&run["status"], &run["completed_at"]), (&json!("running"), &Value::Null));
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
fn a_preferred_wait_beyond_its_range_is_clamped_to_it() {
    let server = Setup::new().realistic().flag("--times=wait=2s").start();
    for (preferred, applied) in [
        ("wait=0", Some("wait=1")),
        ("wait=31", Some("wait=2")),
        ("wait=99999999999999999999999", Some("wait=2")),
        ("wait=2", Some("wait=2")),
        ("wait=soon", None),
    ] {
        let answer = server
            .request("POST", "/v1/searches")
            .key(&server.key)
            .header("Prefer", preferred)
            .json(&json!({"type": "username", "query": "silent", "wait": true}))
            .send();
        assert_eq!(answer.status, 200, "{preferred}: {answer}");
        assert_eq!(answer.header("preference-applied"), applied, "{preferred}: {answer}");
        assert_eq!(answer.json()["status"], "running", "{answer}");
    }
}

#[test]
fn the_address_of_a_run_has_the_path_of_the_base_url() {
    for (flag, root) in
        [("--base-url=https://x.example/search", "/search"), ("--base-url=https://x.example/", "")]
    {
        let server = Setup::new().flag(flag).start();
        for mode in ["query", "wait", "stream"] {
            let mut body = json!({"type": "username", "query": "alice", "modules": ["github"]});
            if mode != "query" {
                body[mode] = true.into();
            }
            let stream = server.post_stream(&body);
            let run = stream.header("x-run-id").unwrap();
            let want = format!("{root}/v1/searches/{run}");
            assert_eq!(stream.header("location"), Some(want.as_str()), "{mode}");
        }
    }
}

#[test]
fn null_members_count_as_missing() {
    let server = Setup::new().start();
    let body = json!({
        "type": "username", "query": "alice", "wait": null, "stream": null, "premium": null, "modules": null,
        "exclude_modules": null, "categories": null, "nsfw": null, "passive": null, "patient": null,
        "avatars": null, "time_budget": null
    });
    let first = server.post_once("nulls", &body);
    assert_eq!((first.status, keys(&first.json())), (200, vec!["run_id", "status"]), "{first}");
    assert_eq!(first.header("ratelimit-policy").map(|policies| policies.contains("stream")), Some(false));
    // The same request without these members, with the same key.
    let again = server.post_once("nulls", &json!({"type": "username", "query": "alice"}));
    assert_eq!((again.status, &again.json()["run_id"]), (200, &first.json()["run_id"]), "{again}");
    assert_eq!(server.get("/v1/credits").json()["credits_used"], 1);
}

#[test]
fn a_search_without_a_conclusion_fails_and_is_refunded() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let key = server.new_key("pro");
        let body = json!({"type": "username", "query": "blocked-everywhere", "wait": true});
        let answer = server.request("POST", "/v1/searches").key(&key).json(&body).send();
        let body = answer.json();
        assert_eq!(body["status"], "failed", "{answer}");
        assert_eq!(body["error"]["code"], "no_conclusion", "{answer}");
        let path = format!("/v1/searches/{}", body["run_id"].as_str().unwrap());
        let server = server.restart(&[]);
        let run = server.request("GET", &path).key(&key).send().json();
        assert_eq!((&run["status"], &run["credits_charged"]), (&json!("failed"), &json!(0)), "{run}");
        assert_eq!(run["error"]["code"], "no_conclusion");
        let credits = server.request("GET", "/v1/credits").key(&key).send().json();
        assert_eq!((&credits["credits_used"], &credits["credits_remaining"]), (&json!(0), &json!(100)));
    }
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

#[test]
fn an_idempotency_key_makes_one_run_and_one_charge() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let body = json!({"type": "username", "query": "alice"});
        let first = server.post_once("once", &body).json();
        server.finished(first["run_id"].as_str().unwrap());
        let again = server.post_once("once", &json!({"query": "alice", "wait": false, "type": "username"}));
        assert_eq!(again.status, 200, "{again}");
        assert_eq!(again.json()["run_id"], first["run_id"], "{}", database.name);
        assert_eq!(again.json()["status"], "completed", "the status is the run's own");
        server
            .post_once("once", &json!({"type": "username", "query": "bob"}))
            .is_error(422, "idempotency_mismatch");
        assert_eq!(server.get("/v1/credits").json()["credits_used"], 1);
        let other = server.post_once("twice", &body).json();
        assert_ne!(other["run_id"], first["run_id"]);

        // With stream=true the repeated request attaches to the run.
        let streamed = json!({"type": "username", "query": "carol", "stream": true});
        let ids: Vec<Value> = (0..2)
            .map(|_| {
                let stream = server
                    .request("POST", "/v1/searches")
                    .key(&server.key)
                    .header("Idempotency-Key", "streamed")
                    .json(&streamed)
                    .stream();
                let events = stream.all();
                assert_eq!(events.last().unwrap().event, "done");
                events[0].data["run_id"].clone()
            })
            .collect();
        assert_eq!(ids[0], ids[1]);
        assert_eq!(server.get("/v1/credits").json()["credits_used"], 3, "{}", database.name);
    }
}

#[test]
fn an_idempotency_key_is_known_after_its_module_was_removed() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let body = json!({"type": "username", "query": "alice", "modules": ["github"]});
        let first = server.post_once("once", &body).json();
        server.finished(first["run_id"].as_str().unwrap());
        let folder = Folder::new();
        let other = folder.path("catalog.json");
        let entry = json!([entry("other", "https://other.example.com/{query}")]);
        std::fs::write(&other, entry.to_string()).unwrap();
        let server = server.restart(&["--no-builtin", &format!("--catalog={other}")]);
        for mode in ["wait", "stream"] {
            let mut more = body.clone();
            more[mode] = true.into();
            server.post_once(mode, &more).is_error(400, "invalid_request");
        }
        let again = server.post_once("once", &body);
        assert_eq!((again.status, &again.json()["run_id"]), (200, &first["run_id"]), "{again}");
        let changed = json!({"type": "username", "query": "bob", "modules": ["github"]});
        server.post_once("once", &changed).is_error(422, "idempotency_mismatch");
        assert_eq!(server.get("/v1/credits").json()["credits_used"], 1, "{}", database.name);
    }
}
