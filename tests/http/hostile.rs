//! A table of hostile clients. Each gets the expected answers, none affects another, and all resources are freed.

use std::net::Shutdown;
use std::time::Duration;

use socket2::SockRef;

use super::hostile_cases::{Case, End, SMUGGLED, quick, slow};
use super::kit::{TestServer, get, run_alone};
use crate::support::eventually;

/// Plays one client to its end.
fn play(server: &TestServer, case: &Case) {
    let name = &case.name;
    let mut client = server.connect();
    client.try_send(&case.sent);
    if case.half_close {
        let _ = client.stream().shutdown(Shutdown::Write);
    }
    for (index, status) in case.answers.iter().enumerate() {
        let answer = client.answer();
        assert_eq!(answer.status, *status, "answer {index} to {name:?}");
        if *status >= 400 && answer.header("Server").is_none() {
            // The refusals of tiny_http do not have the header, but the connection is closed.
            assert_eq!(answer.header("Connection"), Some("close"), "{name:?}");
        }
    }
    match case.end {
        End::Kept => {
            client.send(get("/next"));
            assert_eq!(client.answer().header("X-Path"), Some("/next"), "after {name:?}");
        }
        End::Closed => {
            let rest = String::from_utf8(client.until_closed()).unwrap();
            // tiny_http may have begun to parse bytes that follow a refused request, and refuse them.
            let is_refusal = rest.starts_with("HTTP/1.1 400 ") && rest.matches("HTTP/1.").count() == 1;
            let may_refuse = case.sent.ends_with(SMUGGLED.as_bytes());
            assert!(rest.is_empty() || may_refuse && is_refusal, "after {name:?}: {rest}");
        }
    }
    let seen = server.product.seen.lock().unwrap();
    assert!(!seen.iter().any(|request| request.contains("smuggled")), "{name:?}: {seen:?}");
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn the_table_of_hostile_clients() {
    run_alone("hostile::in_a_process_of_its_own");
}

#[test]
#[ignore = "counts the threads and descriptors of its process: run by the_table_of_hostile_clients"]
fn in_a_process_of_its_own() {
    let (quick, slow) = (quick(), slow());
    assert!(quick.len() + slow.len() >= 60);
    let server = TestServer::new();
    assert_eq!(server.ask(&get("/valid")).status, 200);
    eventually("the first connection is closed", || server.running().load().connections == 0);
    let before = (threads(), descriptors());

    for case in &quick {
        play(&server, case);
        assert_eq!(server.ask(&get("/valid")).status, 200, "after {:?}", case.name);
    }
    disconnect_without_a_request(&server);
    assert_eq!(server.ask(&get("/valid")).status, 200);
    let load = server.running().load();
    assert_eq!((load.refused_total, load.rebuilds_total), (0, 0));

    let impatient = TestServer::with(|config| {
        // Long enough that each client has sent what it sends, also on a busy machine.
        config.idle_timeout = Duration::from_secs(6);
        config.head_timeout = Duration::from_secs(8);
        config.body_timeout = Duration::from_secs(5);
        config.write_timeout = Duration::from_secs(8);
    });
    std::thread::scope(|scope| {
        for case in &slow {
            scope.spawn(|| play(&impatient, case));
        }
        scope.spawn(|| without_reading(&impatient));
    });
    assert_eq!(impatient.ask(&get("/valid")).status, 200);
    drop(impatient);

    // The threads and sockets of this server end with it.
    let mut now = (0, 0);
    let is_as_before = || {
        now = (threads(), descriptors());
        now.0 <= before.0 && now.1 <= before.1
    };
    let is_over = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        eventually("threads and descriptors are as before", is_as_before);
    }));
    assert!(is_over.is_ok(), "threads and descriptors: {before:?} before, {now:?} after");
}

/// Connects and disconnects, with or without a reset.
fn disconnect_without_a_request(server: &TestServer) {
    for round in 0..200 {
        let client = server.connect();
        if round % 2 == 0 {
            SockRef::from(client.stream()).set_linger(Some(Duration::ZERO)).unwrap();
        }
    }
}

/// Requests large answers, reads nothing, and keeps its connections open until the server closes them.
fn without_reading(server: &TestServer) {
    let mut clients: Vec<_> = (0..10).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send(get("/big?3000000"));
    }
    eventually("the slow readers are noticed", || server.running().load().streams_open > 0);
    eventually("the slow readers are disconnected", || server.running().load().streams_open == 0);
    for client in &mut clients {
        assert!(client.until_closed().len() < 3_000_000);
    }
}
