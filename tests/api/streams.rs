//! Streams, event by event.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use crate::support::databases::databases;
use crate::support::race;
use crate::support::server::{Event, EventStream, Server, Setup};

fn start(server: &Server, query: &str) -> EventStream {
    // A stream takes precedence over a wait.
    let body = json!({"type": "username", "query": query, "wait": true, "stream": true});
    let stream = server.post_stream(&body);
    assert_eq!(stream.status, 200);
    stream
}

fn attach(server: &Server, run: &str, parameters: &str) -> EventStream {
    let path = format!("/v1/searches/{run}/stream{parameters}");
    // This header is ignored.
    let stream = server.request("GET", &path).key(&server.key).header("Last-Event-ID", "5").stream();
    assert_eq!(stream.status, 200);
    let location = format!("/v1/searches/{run}");
    assert_eq!((stream.header("x-run-id"), stream.header("location")), (Some(run), Some(location.as_str())));
    stream
}

fn results(events: &[Event]) -> Vec<Value> {
    events.iter().filter(|event| event.event == "result").map(|event| event.data.clone()).collect()
}

fn named<'a>(events: &'a [Event], name: &str) -> Vec<&'a Event> {
    events.iter().filter(|event| event.event == name).collect()
}

#[test]
fn a_stream_is_run_then_results_and_progress_then_done() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let stream = start(&server, "everybody");
        for (name, value) in [
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache, no-transform"),
            ("x-accel-buffering", "no"),
            ("connection", "close"),
        ] {
            assert_eq!(stream.header(name).map(str::to_ascii_lowercase).as_deref(), Some(value), "{name}");
        }
        let run_id = stream.header("x-run-id").unwrap().to_owned();
        let events = stream.all();

        let (first, last) = (&events[0], events.last().unwrap());
        assert_eq!(first.event, "run");
        assert_eq!(
            first.data,
            json!({"run_id": run_id, "type": "username", "query": "everybody", "status": "running"})
        );
        assert_eq!((named(&events, "run").len(), named(&events, "done").len()), (1, 1));
        assert_eq!(last.event, "done");

        let run = server.finished(&run_id);
        assert_eq!(
            Value::Array(results(&events)),
            run["results"],
            "{}: the stream's results are the run's",
            database.name
        );
        let mut completed = 0;
        let mut statuses: BTreeMap<String, Value> = BTreeMap::new();
        for progress in named(&events, "progress") {
            let now = progress.data["modules_completed"].as_u64().unwrap();
            assert!(now > completed, "the completed count advances: {progress:?}");
            completed = now;
            for (module, outcome) in progress.data["module_status"].as_object().unwrap() {
                assert!(
                    statuses.insert(module.clone(), outcome.clone()).is_none(),
                    "{module} is reported twice"
                );
            }
            assert_eq!(progress.data["coverage"]["checked"], now);
        }
        let modules = server.get(&format!("/v1/searches/{run_id}/modules")).json();
        let want: BTreeMap<String, Value> = modules["modules"]
            .as_array()
            .unwrap()
            .iter()
            .map(|module| (module["module"].as_str().unwrap().to_owned(), module["status"].clone()))
            .collect();
        assert_eq!(statuses, want, "every module's outcome is told once");
        for field in ["run_id", "status", "total_results"] {
            assert_eq!(last.data[field], run[field]);
        }
        for field in ["modules_total", "modules_completed", "modules_with_hits"] {
            assert_eq!(last.data[field], run["progress"][field]);
        }
        assert_eq!(&last.data["coverage"], &run["coverage"]);
        assert_eq!(last.data["results_available"], true);
        assert_eq!(last.data["error"], Value::Null);
    }
}

#[test]
fn attaching_replays_everything_whether_the_run_is_live_or_stored() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let first = start(&server, "everybody").all();
        let run_id = first[0].data["run_id"].as_str().unwrap().to_owned();
        let again = attach(&server, &run_id, "").all();
        assert_eq!(results(&first), results(&again));
        assert_eq!((&again[0], again.last()), (&first[0], first.last()));

        let server = server.restart(&[]);
        let stored = attach(&server, &run_id, "").all();
        assert_eq!(results(&first), results(&stored), "{}", database.name);
        assert_eq!((&stored[0], stored.last()), (&first[0], first.last()));

        let count = results(&first).len();
        let rest = attach(&server, &run_id, &format!("?after={}", count - 2)).all();
        assert_eq!(results(&rest), results(&first)[count - 2..]);
        assert_eq!(results(&attach(&server, &run_id, "?after=4294967295").all()).len(), 0);
    }
}

#[test]
fn many_readers_of_a_live_run_see_the_same_results() {
    let server = Setup::new().realistic().start();
    let mut first = start(&server, "everybody");
    let run_id = first.header("x-run-id").unwrap().to_owned();
    assert_eq!(first.next().unwrap().event, "run", "the run frame comes before anything is found");
    let all = race(20, |_| results(&attach(&server, &run_id, "").all()));
    let want = results(&first.all());
    assert!(!want.is_empty());
    for seen in all {
        assert_eq!(seen, want);
    }
    assert_eq!(server.get("/v1/credits").json()["credits_used"], 1, "attaching is free");
}

#[test]
fn a_stream_ends_with_reconnect_at_its_longest_duration() {
    let server = Setup::new().realistic().flag("--times=stream=1s").start();
    let mut stream = start(&server, "everybody");
    let run_id = stream.header("x-run-id").unwrap().to_owned();
    let (mut seen, mut reconnects) = (HashSet::new(), 0);
    loop {
        let events = stream.all();
        for result in results(&events) {
            seen.insert(result["id"].as_u64().unwrap());
        }
        let last = events.last().unwrap();
        if last.event == "done" {
            assert_eq!(last.data["total_results"], seen.len());
            break;
        }
        assert_eq!(last.event, "reconnect", "{last:?}");
        assert_eq!(
            last.data,
            json!({"run_id": run_id, "status": "running", "reason": "stream_timeout", "retry_after": 1})
        );
        reconnects += 1;
        stream = attach(&server, &run_id, "");
    }
    assert!(reconnects > 0, "the run was too short to show anything");
}

#[test]
fn a_quiet_stream_gets_comments() {
    let server = Setup::new().realistic().flag("--times=keep-alive=50ms").start();
    let mut stream = start(&server, "alice");
    let mut comments = 0;
    while let Some(event) = stream.next() {
        comments += usize::from(event.event.is_empty());
    }
    assert!(comments > 0, "seconds of silence without a comment");
}
