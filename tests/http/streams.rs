//! Streams and waits.

use std::time::{Duration, Instant};

use sightline::http::StreamEnd;

use super::kit::{House, get};
use crate::support::eventually;

#[test]
fn a_stream_comes_piece_by_piece_and_then_the_connection_is_closed() {
    let house = House::new();
    let pieces = house.product.next_stream();
    let mut client = house.connect();
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
    // The client keeps its side open: it is the server that closes.
    assert_eq!(client.until_closed(), b"");
    eventually("the stream's thread ends", || house.server().load().streams_open == 0);
}

/// What waiting for an acknowledgement costs.
const HELD_BACK: Duration = Duration::from_millis(40);

/// Who waits for acknowledgements does so in every round; the machine's own pauses fall into some.
fn median(mut rounds: Vec<Duration>) -> Duration {
    rounds.sort();
    rounds[rounds.len() / 2]
}

/// On a connection that has gone to and fro for a while, Nagle's algorithm holds a stream's first piece back
/// until the head is acknowledged, for which the client's kernel takes [`HELD_BACK`]. How slow the machine is now is
/// measured by what comes before.
#[test]
fn a_streams_first_piece_does_not_wait_for_an_acknowledgement() {
    let rounds = 25;
    let house = House::new();
    let (mut to_and_fro, mut first_pieces) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let pieces = house.product.next_stream();
        pieces.send(b"a piece".to_vec()).unwrap();
        let mut client = house.connect();
        let begun = Instant::now();
        for _ in 0..30 {
            client.send(get("/"));
            client.answer();
        }
        to_and_fro.push(begun.elapsed());
        let begun = Instant::now();
        client.send(get("/stream"));
        client.head();
        client.piece().unwrap();
        first_pieces.push(begun.elapsed());
    }
    let (first_piece, to_and_fro) = (median(first_pieces), median(to_and_fro));
    assert!(first_piece < HELD_BACK / 3 || first_piece < to_and_fro, "{first_piece:?}, {to_and_fro:?}");
}

/// The same for answers: each is one write.
#[test]
fn answers_on_one_connection_do_not_wait_for_acknowledgements() {
    let rounds = 100;
    let house = House::new();
    let mut client = house.connect();
    for size in [100, 3000, 30_000] {
        let request = get(&format!("/big?{size}"));
        let (mut on_one, mut on_many) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let begun = Instant::now();
            client.send(&request);
            assert_eq!(client.answer().body.len(), size);
            on_one.push(begun.elapsed());
            let begun = Instant::now();
            house.ask(&request);
            on_many.push(begun.elapsed());
        }
        let (on_one, on_many) = (median(on_one), median(on_many));
        assert!(on_one < HELD_BACK / 2 || on_one < on_many, "{size}: {on_one:?}, {on_many:?}");
    }
}

#[test]
fn a_stream_to_http_1_0_ends_with_the_connection() {
    let house = House::new();
    for headers in ["", "Connection: keep-alive\r\n"] {
        let pieces = house.product.next_stream();
        let mut client = house.connect();
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
fn a_request_behind_a_stream_is_not_served() {
    let house = House::new();
    let pieces = house.product.next_stream();
    let mut client = house.connect();
    client.send(get("/stream") + &get("/behind"));
    client.head();
    drop(pieces);
    assert_eq!(client.piece(), None);
    assert_eq!(client.until_closed(), b"");
    assert!(house.product.seen.lock().unwrap().is_empty());
}

#[test]
fn head_of_a_stream_has_no_body() {
    let house = House::new();
    let _pieces = house.product.next_stream();
    let mut client = house.connect();
    client.send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.head().status, 200);
    assert_eq!(client.until_closed(), b"");
}

#[test]
fn a_stream_that_breaks_does_not_look_complete() {
    let house = House::new();
    let mut client = house.connect();
    client.send(get("/stream-panic"));
    client.head();
    assert_eq!(client.piece().unwrap(), b"begun");
    assert_eq!(client.until_closed(), b"", "no last chunk");
    eventually("the stream's thread ends", || house.server().load().streams_open == 0);
}

#[test]
fn a_reader_that_went_away_ends_its_stream() {
    let house = House::new();
    let pieces = house.product.next_stream();
    let mut client = house.connect();
    client.send(get("/stream"));
    client.head();
    drop(client);
    eventually("the stream notices", || {
        let _ = pieces.send(b"anyone?".to_vec());
        *house.product.stream_ends.lock().unwrap() == [StreamEnd::ReaderGone]
    });
    eventually("the stream's thread ends", || house.server().load().streams_open == 0);
}

#[test]
fn streams_over_the_limit_are_refused_and_places_come_free() {
    let house = House::with(|config| config.max_streams = 2);
    let feeds = [house.product.next_stream(), house.product.next_stream()];
    let mut readers = [house.connect(), house.connect()];
    for reader in &mut readers {
        reader.send(get("/stream"));
        assert_eq!(reader.head().status, 200);
    }
    let mut third = house.connect();
    for path in ["/stream", "/later"] {
        let _unused = house.product.next_stream();
        third.send(get(path));
        let refused = third.answer();
        assert_eq!((refused.status, refused.text()), (503, "Overloaded { retry_after: 5s } GET"));
        assert_eq!(refused.header("Retry-After"), Some("5"));
    }
    assert_eq!(house.server().load().refused_total, 2);
    // The connection and the plain requests are fine.
    third.send(get("/plain"));
    assert_eq!(third.answer().status, 200);
    drop(feeds);
    eventually("the places come free", || house.server().load().streams_open == 0);
    house.product.streams.lock().unwrap().clear();
    let again = house.product.next_stream();
    drop(again);
    third.send(get("/stream"));
    assert_eq!(third.head().status, 200);
}

#[test]
fn waits_hold_no_request_worker() {
    let house = House::with(|config| config.request_workers = 2);
    let mut waiting: Vec<_> = (0..20).map(|_| house.connect()).collect();
    for client in &mut waiting {
        client.send(get("/later"));
    }
    house.product.gate.wait_for_arrivals(20);
    assert_eq!(house.ask(&get("/")).status, 200);
    assert_eq!(house.server().load().streams_open, 20);
    house.product.gate.open();
    for client in &mut waiting {
        assert_eq!(client.answer().text(), "later");
        // A wait leaves the connection as it was.
        client.send(get("/next"));
        assert_eq!(client.answer().status, 200);
    }
}

/// The connection has been idle, as tiny_http sees it, while its request waited.
#[test]
fn an_answer_that_comes_after_the_idle_time_says_that_the_connection_ends() {
    let idle = Duration::from_secs(2);
    let house = House::with(|config| config.idle_timeout = idle);
    let mut client = house.connect();
    client.send(get("/later"));
    house.product.gate.wait_for_arrivals(1);
    // The server's own clock began before the request was here.
    let begun = Instant::now();
    eventually("the idle time is over", || begun.elapsed() > idle * 5 / 4);
    house.product.gate.open();
    let answer = client.answer();
    assert_eq!((answer.text(), answer.header("Connection")), ("later", Some("close")));
}

#[test]
fn a_stream_thread_works_on_a_stack_of_32_kib() {
    let house = House::with(|config| config.stream_stack_bytes = 32 * 1024);
    let pieces = house.product.next_stream();
    let mut client = house.connect();
    client.send(get("/stream"));
    client.head();
    pieces.send(vec![b'x'; 100_000]).unwrap();
    drop(pieces);
    assert_eq!(client.piece().unwrap().len(), 100_000);
    assert_eq!(client.piece(), None);
}
