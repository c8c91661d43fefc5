//! SIGTERM: new work is refused, clients are told, and searches are released, in time.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::process::ExitStatus;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::kit::{BEFORE, DURING, Scene, ended};
use super::network::behind_a_relay;
use super::servers::StuckStatements;
use crate::support::databases::databases;
use crate::support::private_postgres::PrivatePostgres;
use crate::support::process::signal;
use crate::support::server::{Server, Setup};
use crate::support::{awaited, eventually};

fn refuses_connections(server: &Server) -> bool {
    let refused = |error: std::io::Error| error.kind() == ErrorKind::ConnectionRefused;
    TcpStream::connect(server.address).is_err_and(refused)
}

/// Waits for the end of the process. Returns its exit status.
fn exit_status(server: &mut Server) -> ExitStatus {
    awaited("the process ends", || server.child.try_wait().unwrap().ok_or_else(|| server.log()))
}

#[test]
fn a_shutdown_is_announced_and_the_search_resumed_elsewhere_at_once() {
    for database in databases() {
        let mut scene = Scene::with(|setup| setup.database(&database.url).flag("--drain-timeout=1h"));
        let stream =
            scene.server.request("GET", &format!("/v1/searches/{}/stream", scene.run)).key(&scene.key);
        let stream = stream.stream();
        let reader = thread::spawn(move || stream.all());
        let body = json!({"type": "username", "query": "waiting", "wait": true});
        let waited = thread::scope(|scope| {
            let server = &scene.server;
            let waiter =
                scope.spawn(|| server.request("POST", "/v1/searches").key(&scene.key).json(&body).send());
            eventually("the waiting one is under way", || scene.site.asked_by("waiting") == BEFORE + DURING);
            signal(server.child.id(), "TERM");
            waiter.join().unwrap()
        });
        assert_eq!((waited.status, &waited.json()["status"]), (200, &json!("running")), "{waited}");
        assert!(waited.header("retry-after").is_some(), "{waited}");
        let mut events = reader.join().unwrap();
        let last = events.pop().unwrap();
        assert_eq!(last.event.as_str(), "error", "{last:?}");
        assert_eq!(last.data["error"], "server_shutdown", "{last:?}");
        assert_eq!(last.data["run_id"], json!(scene.run), "{last:?}");
        for field in ["status", "message", "request_id"] {
            assert!(!last.data[field].is_null(), "{field}: {last:?}");
        }
        let before: Vec<Value> =
            events.into_iter().filter(|event| event.event == "result").map(|event| event.data).collect();
        assert_eq!(before.len(), BEFORE);
        assert!(last.data["retry_after"].as_u64().is_some_and(|seconds| seconds > 0), "{last:?}");
        eventually("nothing new is taken", || refuses_connections(&scene.server));
        assert_eq!(exit_status(&mut scene.server).code(), Some(0));

        // The search is released, with everything that was known.
        let held = "SELECT count(*) FROM runs WHERE status = 'running' AND owner IS NOT NULL";
        assert_eq!(database.number(held), 0, "{}", database.name);
        assert_eq!(database.number("SELECT count(*) FROM runs WHERE status = 'running'"), 2);
        scene.site.open_all();
        let next = Setup::real().flags(&scene.site.flags(BEFORE, DURING)).database(&database.url).start();
        for run in [&json!(scene.run), &waited.json()["run_id"]] {
            let run = ended(&next, &scene.key, run.as_str().unwrap());
            let shown = (&run["status"], &run["total_results"]);
            assert_eq!(shown, (&json!("completed"), &json!(BEFORE + DURING)), "{}", database.name);
        }
        let results = ended(&next, &scene.key, &scene.run)["results"].take();
        assert_eq!(results.as_array().unwrap()[..BEFORE], before, "results keep their ids");
        let stream = next.request("GET", &format!("/v1/searches/{}/stream", scene.run)).key(&scene.key);
        let streamed = stream.stream().all();
        assert_eq!(streamed.last().unwrap().event, "done");
        let again = streamed.into_iter().filter(|event| event.event == "result").map(|event| event.data);
        assert_eq!(Value::from_iter(again), results, "streams of an ended search have the same results");
        // Sites that have answered are not asked again; those under way are.
        let again = scene.site.asked_again("alice");
        assert_eq!(again.len(), DURING, "{}: {again:?}", database.name);
        let credits: Value = next.request("GET", "/v1/credits").key(&scene.key).send().json();
        assert_eq!(credits["credits_used"], 2);
    }
}

/// Nothing can be stored or released, and threads that try are stuck: the process ends all the same, and another
/// instance takes the search over when its lease expires.
#[test]
fn a_stalled_database_does_not_delay_a_shutdown() {
    let postgres = PrivatePostgres::start();
    let mut scene = Scene::with(|setup| setup.database(&postgres.url("postgres")).flag("--drain-timeout=2s"));
    let stuck = StuckStatements::on(&postgres);
    // The driver's, and the maintenance thread's.
    stuck.wait_for(2);
    let pause = postgres.pause();
    let began = Instant::now();
    signal(scene.server.child.id(), "TERM");
    let status = exit_status(&mut scene.server);
    println!("ended {:?} after the signal, with 2 s to drain and no database", began.elapsed());
    assert_eq!(status.code(), Some(0));
    // The statements, which are cancelled after 12 s, did not end it.
    assert!(scene.server.log().contains("the drain timeout is over"), "{}", scene.server.log());
    drop(pause);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    for second in ["TERM", "INT"] {
        let (_database, relay, url) = behind_a_relay();
        let mut scene = Scene::with(|setup| setup.database(&url).flag("--drain-timeout=1h"));
        relay.freeze(true);
        signal(scene.server.child.id(), "TERM");
        eventually("nothing new is taken", || refuses_connections(&scene.server));
        assert_eq!(scene.server.child.try_wait().unwrap(), None, "it waits for its database");
        signal(scene.server.child.id(), second);
        assert_eq!(exit_status(&mut scene.server).code(), Some(130));
    }
}
