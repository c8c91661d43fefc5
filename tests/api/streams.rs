//! Streams with many readers at once, and more of them than are allowed. `streams.txt` has all else.

use serde_json::{Value, json};

use crate::support::race;
use crate::support::server::{Event, Setup};

fn results(events: Vec<Event>) -> Vec<Value> {
    events.into_iter().filter(|event| event.event == "result").map(|event| event.data).collect()
}

#[test]
fn many_readers_of_a_live_run_see_the_same_results() {
    let server = Setup::new().realistic().start();
    let body = json!({"type": "username", "query": "everybody", "stream": true});
    let mut first = server.post_stream(&body);
    let path = format!("/v1/searches/{}/stream", first.header("x-run-id").unwrap());
    assert_eq!(first.next().unwrap().event, "run", "the run frame comes before anything is found");
    let all = race(20, |_| results(server.stream(&path).all()));
    let want = results(first.all());
    assert!(!want.is_empty());
    for seen in all {
        assert_eq!(seen, want);
    }
    assert_eq!(server.get("/v1/credits").json()["credits_used"], 1, "attaching is free");
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
