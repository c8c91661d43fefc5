//! A table of hostile clients. Each gets the expected answers, and none affects another.

use std::net::Shutdown;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::hostile_cases::{self, Case, End, SMUGGLED};
use super::kit::{Client, LONG, TestServer, get, post, run_alone};
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
        // The refusals of tiny_http do not have the header, but the connection is closed.
        if *status >= 400 && answer.header("Server").is_none() && case.end == End::Closed {
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
}

#[test]
fn hostile_clients_get_their_answers() {
    let cases = hostile_cases::all();
    assert!(cases.len() >= 110);
    // The server closes connections only after this time, which is long enough for a busy machine.
    let server = TestServer::with(|config| config.idle_timeout = Duration::from_secs(5));
    std::thread::scope(|scope| {
        for case in &cases {
            scope.spawn(|| play(&server, case));
        }
        scope.spawn(|| disconnect_without_a_request(&server));
        for _ in 0..20 {
            assert_eq!(server.ask(&get("/valid")).status, 200);
        }
    });
    let seen = server.product.seen.lock().unwrap();
    assert!(!seen.iter().any(|request| request.contains("smuggled")), "{seen:?}");
    let load = server.running().load();
    assert_eq!((load.refused_total, load.rebuilds_total), (0, 0));
}

/// Connects and disconnects, with or without a reset.
fn disconnect_without_a_request(server: &TestServer) {
    for round in 0..200 {
        let client = server.connect();
        if round % 2 == 0 {
            socket2::SockRef::from(client.stream()).set_linger(Some(Duration::ZERO)).unwrap();
        }
    }
}

/// Where such a request is dropped, tiny_http allocates a buffer of the announced size. Above the memory of the machine that
/// would abort the process, and above the address space it panics.
#[test]
fn no_announced_length_ends_the_process() {
    run_alone("hostile::lengths_in_a_process_of_their_own");
}

#[test]
#[ignore = "may end its process: run by no_announced_length_ends_the_process"]
fn lengths_in_a_process_of_their_own() {
    let server = TestServer::with(|config| config.idle_timeout = Duration::from_secs(1));
    let mut clients = Vec::new();
    for length in [1_000_000_000, 1_000_000_000_000, 1_000_000_000_000_000, i64::MAX as u64, u64::MAX] {
        for _ in 0..3 {
            let mut client = server.connect();
            client.send(post("/a", length, "abc"));
            clients.push(client);
        }
    }
    // The shortest can be allocated, and is waited for.
    for client in &mut clients[..3] {
        assert_eq!(client.answer().status, 413);
    }
    eventually("no thread reads a body", || server.running().load().streams_open == 0);
    assert_eq!(server.ask(&get("/valid")).status, 200);
}

/// Requests that wait for an earlier one of their connection, to be served or refused, are limited in number.
#[test]
fn endless_requests_on_one_connection_are_not_kept() {
    const SENT: usize = 6000;
    let server = TestServer::with(|config| {
        (config.request_workers, config.request_queue) = (1, 1);
        config.idle_timeout = Duration::from_secs(4);
    });
    let pieces = server.product.next_stream();
    let mut client = server.connect();
    client.send(get("/stream") + &get("/").repeat(SENT));
    let mut refused = 0;
    eventually("no more are refused", || {
        let before = std::mem::replace(&mut refused, server.running().load().refused_total);
        refused > 1024 && before == refused
    });
    drop(pieces);
    let said = String::from_utf8(client.until_closed()).unwrap();
    let answered = said.matches("HTTP/1.1 503").count();
    assert!((1024..1100).contains(&answered), "{answered} of {SENT}");
}

#[test]
fn five_hundred_slow_clients_stop_nobody() {
    run_alone("hostile::a_crowd_in_a_process_of_its_own");
}

#[test]
#[ignore = "raises the limit on descriptors of its process: run by five_hundred_slow_clients_stop_nobody"]
fn a_crowd_in_a_process_of_its_own() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = current.map(|soft| soft.max(maximum.unwrap_or(u64::MAX).min(4096)));
    setrlimit(Resource::Nofile, Rlimit { current: raised, maximum }).unwrap();
    // On a busy machine they come one after the other, and none must be given up meanwhile.
    let server = TestServer::with(|config| {
        config.request_workers = 2;
        (config.body_timeout, config.idle_timeout, config.peer_timeout) = (LONG, LONG, LONG);
    });
    let kinds = [
        "GET / HTTP/1.1\r\nHo".to_owned(),
        post("/", 5000, "only the beginning"),
        // Refused, and its body never comes.
        "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n".to_owned(),
        // A reader that takes nothing.
        get("/big?3000000"),
        String::new(),
    ];
    let mut crowd: Vec<Client> = Vec::new();
    for index in 0..500 {
        let mut client = server.connect();
        client.send(&kinds[index % kinds.len()]);
        crowd.push(client);
    }
    eventually("bodies and readers are waited for", || server.running().load().streams_open >= 300);
    for _ in 0..20 {
        assert_eq!(server.ask(&get("/valid")).status, 200);
        assert_eq!(server.ask("GET /without-host HTTP/1.1\r\n\r\n").status, 400);
    }
    assert!(server.running().load().streams_open > 0, "they are still waited for");
}
