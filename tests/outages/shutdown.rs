//! SIGTERM: nothing new is taken, everyone is told, searches are let go of, in time.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::kit::{BEFORE, DURING, Scene, ended};
use super::network::behind_a_relay;
use super::servers::StuckStatements;
use crate::support::databases::databases;
use crate::support::eventually;
use crate::support::private_postgres::PrivatePostgres;
use crate::support::server::{Server, Setup};

fn signal(server: &Server, name: &str) {
    let id = server.child.id().to_string();
    assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
}

fn refuses_connections(server: &Server) -> bool {
    let refused = |error: std::io::Error| error.kind() == ErrorKind::ConnectionRefused;
    TcpStream::connect(server.address).is_err_and(refused)
}

/// The exit status, which comes before `limit` or the test fails.
fn exit_within(server: &mut Server, limit: Duration) -> ExitStatus {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = server.child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < end, "still there after {limit:?}\n{}", server.log());
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn everyone_is_told_and_the_search_goes_on_elsewhere_at_once() {
    for database in databases() {
        let mut scene = Scene::with(|setup| setup.database(&database.url).flag("--drain-timeout=20s"));
        let stream =
            scene.server.request("GET", &format!("/v1/searches/{}/stream", scene.run)).key(&scene.key);
        let stream = stream.stream();
        let reader = thread::spawn(move || stream.all());
        let body = json!({"type": "username", "query": "waiting", "wait": true});
        let waited = thread::scope(|scope| {
            let server = &scene.server;
            let waiter =
                scope.spawn(|| server.request("POST", "/v1/searches").key(&scene.key).json(&body).send());
            eventually("the waiting one is under way", || scene.site.asked("waiting") == BEFORE + DURING);
            signal(server, "TERM");
            waiter.join().unwrap()
        });
        assert_eq!((waited.status, &waited.json()["status"]), (200, &json!("running")), "{waited}");
        assert!(waited.header("retry-after").is_some(), "{waited}");
        let last = reader.join().unwrap().pop().unwrap();
        assert_eq!(
            (last.event.as_str(), &last.data["error"]),
            ("error", &json!("server_shutdown")),
            "{last:?}"
        );
        assert!(last.data["retry_after"].as_u64().is_some_and(|seconds| seconds > 0), "{last:?}");
        eventually("nothing new is taken", || refuses_connections(&scene.server));
        assert_eq!(exit_within(&mut scene.server, Duration::from_secs(20)).code(), Some(0));

        // Let go of, with all that was known.
        let held = "SELECT count(*) FROM runs WHERE status = 'running' AND owner IS NOT NULL";
        assert_eq!(database.number(held), 0, "{}", database.name);
        assert_eq!(database.number("SELECT count(*) FROM runs WHERE status = 'running'"), 2);
        scene.site.open();
        let next = Setup::real().flags(&scene.site.flags(BEFORE, DURING)).database(&database.url).start();
        for run in [&json!(scene.run), &waited.json()["run_id"]] {
            let run = ended(&next, &scene.key, run.as_str().unwrap());
            let shown = (&run["status"], &run["total_results"]);
            assert_eq!(shown, (&json!("completed"), &json!(BEFORE + DURING)), "{}", database.name);
        }
        // What had ended is not asked again; what was under way has to be.
        let again = scene.site.asked_again("alice");
        assert_eq!(again.len(), DURING, "{}: {again:?}", database.name);
        let credits: Value = next.request("GET", "/v1/credits").key(&scene.key).send().json();
        assert_eq!(credits["credits_used"], 2);
    }
}

/// Nothing can be stored or let go of, and those who try it are stuck: the end comes all the same, and what is left
/// is taken over by its lease.
#[test]
fn a_database_that_stands_still_holds_up_no_end() {
    let postgres = PrivatePostgres::start();
    let mut scene = Scene::with(|setup| setup.database(&postgres.url("postgres")).flag("--drain-timeout=2s"));
    let stuck = StuckStatements::on(&postgres);
    // The driver's, and the housekeeper's.
    stuck.wait_for(2);
    let pause = postgres.pause();
    let began = Instant::now();
    signal(&scene.server, "TERM");
    // A statement is given up after 12 s.
    let status = exit_within(&mut scene.server, Duration::from_secs(8));
    println!("ended {:?} after the signal, with 2 s to drain and no database", began.elapsed());
    assert_eq!(status.code(), Some(0));
    drop(pause);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    for second in ["TERM", "INT"] {
        let (_database, relay, url) = behind_a_relay();
        let mut scene = Scene::with(|setup| setup.database(&url).flag("--drain-timeout=1h"));
        relay.freeze(true);
        signal(&scene.server, "TERM");
        eventually("nothing new is taken", || refuses_connections(&scene.server));
        assert_eq!(scene.server.child.try_wait().unwrap(), None, "it waits for its database");
        signal(&scene.server, second);
        assert_eq!(exit_within(&mut scene.server, Duration::from_secs(5)).code(), Some(130));
    }
}
