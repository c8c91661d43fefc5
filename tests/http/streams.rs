//! Streams and waits.

use std::time::{Duration, Instant};

use super::kit::{TestServer, get};
use crate::support::eventually;

#[test]
fn a_stream_comes_piece_by_piece_and_then_ends() {
    let server = TestServer::closing();
    let pieces = server.product.next_stream();
    let mut client = server.connect();
    client.send(get("/stream"));
    let head = client.head();
    assert_eq!(head.status, 200);
    assert_eq!(head.header("Transfer-Encoding"), Some("chunked"));
    assert_eq!(head.header("Connection"), Some("close"));
    assert_eq!(head.header("Content-Type"), Some("text/event-stream"));
    // Each piece is sent only after the one before has arrived.
    for piece in [&b"first"[..], &[b'x'; 5000], b"\r\n\r\n"] {
        pieces.send(piece.to_vec()).unwrap();
        assert_eq!(client.piece().unwrap(), piece);
    }
    drop(pieces);
    assert_eq!(client.piece(), None);
    // The client keeps its side open, so that only the server can close the connection.
    assert_eq!(client.until_closed(), b"");
    eventually("the stream's thread ends", || server.running().load().streams_open == 0);
}

#[test]
fn a_stream_to_http_1_0_ends_with_the_connection() {
    let server = TestServer::closing();
    for headers in ["", "Connection: keep-alive\r\n"] {
        let pieces = server.product.next_stream();
        let mut client = server.connect();
        client.send(format!("GET /stream HTTP/1.0\r\n{headers}\r\n"));
        let head = client.head();
        assert_eq!((head.header("Transfer-Encoding"), head.header("Connection")), (None, Some("close")));
        pieces.send(b"one".to_vec()).unwrap();
        pieces.send(b"two".to_vec()).unwrap();
        drop(pieces);
        assert_eq!(client.until_closed(), b"onetwo", "{headers:?}");
    }
}

#[test]
fn head_of_a_stream_has_no_body() {
    let server = TestServer::closing();
    let _pieces = server.product.next_stream();
    let mut client = server.connect();
    client.send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.head().status, 200);
    assert_eq!(client.until_closed(), b"");
}

#[test]
fn a_stream_that_breaks_does_not_look_complete() {
    let server = TestServer::closing();
    let mut client = server.connect();
    client.send(get("/stream-panic"));
    client.head();
    assert_eq!(client.piece().unwrap(), b"begun");
    eventually("the stream's thread ends", || server.running().load().streams_open == 0);
    client.send(get("/next"));
    assert_eq!(client.until_closed(), b"", "neither a last chunk nor another answer");
}

#[test]
fn streams_over_the_limit_are_refused_until_others_end() {
    let server = TestServer::with(|config| config.max_streams = 2);
    let feeds = [server.product.next_stream(), server.product.next_stream()];
    let mut readers = [server.connect(), server.connect()];
    for reader in &mut readers {
        reader.send(get("/stream"));
        assert_eq!(reader.head().status, 200);
    }
    let mut third = server.connect();
    for path in ["/stream", "/later"] {
        let _unused = server.product.next_stream();
        third.send(get(path));
        let refused = third.answer();
        assert_eq!((refused.status, refused.text()), (503, "Overloaded { retry_after: 5s } GET"));
        assert_eq!(refused.header("Retry-After"), Some("5"));
    }
    assert_eq!(server.running().load().refused_total, 2);
    // The connection and plain requests still work.
    third.send(get("/plain"));
    assert_eq!(third.answer().status, 200);
    drop(feeds);
    eventually("all threads are free", || server.running().load().streams_open == 0);
    server.product.streams.lock().unwrap().clear();
    let again = server.product.next_stream();
    drop(again);
    third.send(get("/stream"));
    assert_eq!(third.head().status, 200);
}

#[test]
fn waits_hold_no_request_worker() {
    let server = TestServer::with(|config| config.request_workers = 2);
    let mut waiting: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for client in &mut waiting {
        client.send(get("/later"));
    }
    server.product.gate.wait_for_arrivals(20);
    assert_eq!(server.ask(&get("/")).status, 200);
    assert_eq!(server.running().load().streams_open, 20);
    server.product.gate.open();
    for client in &mut waiting {
        assert_eq!(client.answer().text(), "later");
        // The connection stays open after a wait.
        client.send(get("/next"));
        assert_eq!(client.answer().status, 200);
    }
}

/// For tiny_http the connection is idle while its request waits.
#[test]
fn a_late_answer_announces_the_end_of_the_connection() {
    // Long enough that a pause of this test before its request does not count.
    let idle = Duration::from_secs(15);
    let server = TestServer::with(|config| config.idle_timeout = idle);
    let mut client = server.connect();
    client.send(get("/later"));
    server.product.gate.wait_for_arrivals(1);
    // The server's idle time began before the request was sent.
    let begun = Instant::now();
    eventually("a third of the idle time is over", || begun.elapsed() > idle / 3);
    server.product.gate.open();
    let answer = client.answer();
    assert_eq!((answer.text(), answer.header("Connection")), ("later", Some("close")));
}
