//! Slow clients.

use std::io::Write;
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
        config.body_timeout = LONG * 10;
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
fn a_body_that_dribbles_is_cut_off_by_its_deadline() {
    let server = TestServer::with(|config| config.body_timeout = SECOND);
    let mut client = server.connect();
    client.send(post("/", 60_000, ""));
    let dribble = client.dribble();
    assert_eq!(client.answer().status, 408);
    client.until_closed();
    dribble.join().unwrap();
}

#[test]
fn a_silent_connection_is_closed() {
    let server = TestServer::with(|config| {
        // Long enough that a pause of this test does not count as idle.
        config.idle_timeout = SECOND * 8;
        config.head_timeout = LONG * 10;
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
fn a_head_that_dribbles_is_cut_off_by_its_deadline() {
    let server = TestServer::with(|config| {
        config.idle_timeout = SECOND;
        config.head_timeout = SECOND * 2;
    });
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nX: ");
    let dribble = client.dribble();
    assert_eq!(client.until_closed(), b"");
    dribble.join().unwrap();
}

/// Sends as fast as possible until the connection breaks. Returns the number of bytes sent.
fn flood(client: &Client) -> std::thread::JoinHandle<usize> {
    let mut writer = client.stream().try_clone().unwrap();
    std::thread::spawn(move || {
        let block = [b'1'; 64 * 1024];
        let mut sent = 0;
        while let Ok(count) = writer.write(&block) {
            sent += count;
        }
        sent
    })
}

#[test]
fn a_head_without_end_is_cut_off_by_its_size() {
    let server = TestServer::with(|config| config.head_timeout = LONG * 10);
    let pieces = server.product.next_stream();
    let mut first = server.connect();
    first.send("GET / HTTP/1.1\r\nX: ");
    let mut behind_a_stream = server.connect();
    behind_a_stream.send(get("/stream") + "GET / HTTP/1.1\r\nX: ");
    assert_eq!(behind_a_stream.head().status, 200);
    for flood in [flood(&first), flood(&behind_a_stream)] {
        eventually("it is disconnected", || {
            // A stream keeps its connection open until its next write.
            let _ = pieces.send(b"piece".to_vec());
            flood.is_finished()
        });
        flood.join().unwrap();
    }
    eventually("both are gone", || server.running().load().connections == 0);
    assert_eq!(server.ask(&get("/")).status, 200);
}

/// A peer that goes on sending after the server has shut its direction down must not keep tiny_http reading.
#[test]
fn a_deadline_holds_for_a_sender_that_never_pauses() {
    let server = TestServer::with(|config| {
        config.body_timeout = SECOND;
        // Large enough that no size limit ends the connection.
        config.max_body_bytes = 64 * 1024 * 1024;
    });
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let flood = flood(&client);
    assert_eq!(client.answer().status, 408);
    flood.join().unwrap();
}

/// The request is dropped by the closing thread, where tiny_http reads the rest of its body.
#[test]
fn a_refused_body_that_never_ends_does_not_delay_other_connections() {
    let server = TestServer::new();
    let mut client = server.connect();
    client.send(post("/", 10_000_000_000, ""));
    let flood = flood(&client);
    assert_eq!(client.answer().status, 413);
    flood.join().unwrap();
    eventually("it is gone", || server.running().load().connections == 0);
    let mut next = server.connect();
    next.send(post("/", 10_000_000_000, ""));
    assert_eq!(next.answer().status, 413);
    assert_eq!(next.until_closed(), b"");
}

#[test]
fn readers_that_take_nothing_hold_no_request_worker_and_are_cut_off() {
    let server = TestServer::with(|config| {
        config.request_workers = 1;
        // Long enough that all are noticed before the first is disconnected.
        config.write_timeout = SECOND * 8;
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
    let server = TestServer::with(|config| config.stream_write_timeout = SECOND);
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

/// Disables all other timeouts that could end these connections.
fn server_that_notices() -> TestServer {
    TestServer::with(|config| {
        config.vanish_timeout = SECOND * 2;
        config.keepalive_after = SECOND;
        config.idle_timeout = LONG * 10;
        config.head_timeout = LONG * 20;
        config.stream_write_timeout = LONG * 10;
    })
}

#[test]
fn a_stream_to_a_reader_that_vanished_ends() {
    let server = server_that_notices();
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
fn connections_whose_peer_vanished_end() {
    let server = server_that_notices();
    let _pieces = server.product.next_stream();
    let mut quiet_stream = server.connect();
    quiet_stream.send(get("/stream"));
    quiet_stream.head();
    let mut idle = server.connect();
    idle.send(get("/"));
    idle.answer();
    let mut half = server.connect();
    half.send("GET / HTTP/1.1\r\nHo");
    eventually("all are seen", || server.running().load().connections == 3);
    for client in [&quiet_stream, &idle, &half] {
        vanish(client);
    }
    eventually("all are gone", || server.running().load().connections == 0);
}
