//! Slow clients.

use std::time::Duration;

use socket2::{SockFilter, SockRef};

use super::kit::{Client, LONG, TestServer, get, pattern, post};
use crate::support::eventually;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn stalled_bodies_do_not_block_other_requests() {
    let server = TestServer::with(|config| {
        config.request_workers = 2;
        // The bodies are completed in the end, however slow the machine is.
        (config.body_timeout, config.idle_timeout) = (LONG * 10, LONG * 10);
    });
    let mut stalled: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for client in &mut stalled {
        client.send(post("/slow", 5000, "only the beginning"));
    }
    assert_eq!(server.ask(&get("/")).status, 200);
    assert_eq!(server.ask(&post("/", 3, "abc")).status, 200, "a small body needs no thread");
    for client in &mut stalled {
        client.send("x".repeat(5000 - 18));
    }
    for client in &mut stalled {
        assert_eq!(client.answer().status, 200);
    }
}

#[test]
fn a_silent_connection_is_closed() {
    let server = TestServer::with(|config| {
        // Long enough that a pause of this test does not count as idle.
        config.idle_timeout = SECOND * 8;
    });
    let mut silent = server.connect();
    let mut half = server.connect();
    half.send("GET / HTTP/1.1\r\nHo");
    let mut idle = server.connect();
    idle.send(get("/"));
    assert_eq!(idle.answer().status, 200);
    for client in [&mut silent, &mut half, &mut idle] {
        assert_eq!(client.until_closed(), b"");
    }
    assert_eq!(server.ask(&get("/")).status, 200, "accept() has a time limit, too");
}

#[test]
fn readers_that_take_nothing_hold_no_request_worker_and_are_cut_off() {
    let server = TestServer::with(|config| {
        config.request_workers = 1;
        // Long enough that all are noticed before the first is disconnected.
        config.peer_timeout = SECOND * 8;
    });
    let mut deaf: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for client in &mut deaf {
        client.send(get("/big?3000000"));
    }
    eventually("all are on threads of their own", || server.running().load().streams_open == 4);
    assert_eq!(server.ask(&get("/")).status, 200);
    eventually("the readers are disconnected", || server.running().load().streams_open == 0);
    for client in &mut deaf {
        assert!(client.until_closed().len() < 3_000_000);
    }
}

#[test]
fn a_slow_reader_gets_its_answer_whole() {
    let server = TestServer::new();
    let mut client = server.connect();
    client.send(get("/big?4000000"));
    eventually("it is on a thread of its own", || server.running().load().streams_open == 1);
    assert!(client.answer().body == pattern(4_000_000));
    client.send(get("/next"));
    assert_eq!(client.answer().status, 200);
}

#[test]
fn a_stream_reader_that_takes_nothing_is_cut_off() {
    let server = TestServer::with(|config| config.peer_timeout = SECOND * 2);
    let pieces = server.product.next_stream();
    let mut client = server.connect();
    client.send(get("/stream"));
    client.head();
    for _ in 0..200 {
        let _ = pieces.send(vec![b'x'; 100_000]);
    }
    eventually("the stream ends", || *server.product.stream_ends.lock().unwrap() == [false]);
    eventually("its thread ends", || server.running().load().streams_open == 0);
}

/// Makes the client's side drop everything that it receives, as if the machine were gone: it neither acknowledges nor
/// resets.
fn vanish(client: &Client) {
    const RETURN: u16 = 0x06;
    let drop_all = SockFilter::new(RETURN, 0, 0, 0);
    SockRef::from(client.stream()).attach_filter(&[drop_all]).unwrap();
}

#[test]
fn a_stream_to_a_reader_that_vanished_ends() {
    let server = TestServer::with(|config| config.peer_timeout = SECOND * 2);
    let pieces = server.product.next_stream();
    let mut client = server.connect();
    client.send(get("/stream"));
    client.head();
    vanish(&client);
    eventually("the stream ends", || {
        // Few and small enough to fit into the socket's buffer.
        let _ = pieces.send(b"anyone?".to_vec());
        *server.product.stream_ends.lock().unwrap() == [false]
    });
    eventually("its thread ends", || server.running().load().streams_open == 0);
}

#[test]
fn a_413_reaches_a_client_that_sends_its_whole_body_first() {
    let server = TestServer::new();
    let mut client = server.connect();
    client.send(post("/a", 500_000, &"a".repeat(500_000)));
    assert_eq!(client.answer().status, 413);
    client.send(get("/next"));
    assert_eq!(client.answer().status, 200);
}
