//! Clients that take their time.

use std::io::Write;
use std::time::Duration;

use sightline::http::StreamEnd;
use socket2::{SockFilter, SockRef};

use super::kit::{Client, House, LONG, get, pattern, post};
use crate::support::eventually;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn stalled_bodies_do_not_block_other_requests() {
    let house = House::with(|config| {
        config.request_workers = 2;
        config.body_workers = 2;
    });
    let mut stalled: Vec<_> = (0..20).map(|_| house.connect()).collect();
    for client in &mut stalled {
        client.send(post("/slow", 5000, "only the beginning"));
    }
    assert_eq!(house.ask(&get("/")).status, 200);
    assert_eq!(house.ask(&post("/", 3, "abc")).status, 200, "a small body goes another way");
    for client in &mut stalled {
        client.send("x".repeat(5000 - 18));
    }
    for client in &mut stalled {
        assert_eq!(client.answer().status, 200);
    }
}

#[test]
fn a_body_that_does_not_come_is_answered_408() {
    let house = House::with(|config| config.body_timeout = SECOND);
    for request in [
        post("/", 5000, "stalls"),
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab".to_owned(),
        // It would grow for ever in tiny_http.
        format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{}", "1".repeat(10_000)),
    ] {
        let mut client = house.connect();
        client.send(&request);
        let answer = client.answer();
        assert_eq!((answer.status, answer.header("Connection")), (408, Some("close")));
        assert_eq!(client.until_closed(), b"");
    }
    assert!(house.product.seen.lock().unwrap().is_empty());
}

#[test]
fn a_body_that_dribbles_is_cut_off_by_its_deadline() {
    let house = House::with(|config| config.body_timeout = SECOND);
    let mut client = house.connect();
    client.send(post("/", 60_000, ""));
    let mut writer = client.stream().try_clone().unwrap();
    let dribble = std::thread::spawn(move || {
        while writer.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    assert_eq!(client.answer().status, 408);
    client.until_closed();
    dribble.join().unwrap();
}

#[test]
fn a_silent_connection_is_closed() {
    let house = House::with(|config| {
        // So long that no pause of ours between two words passes for silence.
        config.idle_timeout = SECOND * 3;
        config.head_timeout = LONG * 10;
    });
    let mut silent = house.connect();
    let mut half = house.connect();
    half.send("GET / HTTP/1.1\r\nHo");
    let mut idle = house.connect();
    idle.send(get("/"));
    assert_eq!(idle.answer().status, 200);
    for client in [&mut silent, &mut half, &mut idle] {
        assert_eq!(client.until_closed(), b"");
    }
    assert_eq!(house.ask(&get("/")).status, 200, "accept() has a time limit, too");
}

#[test]
fn a_head_that_dribbles_is_cut_off_by_its_deadline() {
    let house = House::with(|config| {
        config.idle_timeout = SECOND;
        config.head_timeout = SECOND * 2;
    });
    let mut client = house.connect();
    client.send("GET / HTTP/1.1\r\nX: ");
    let mut writer = client.stream().try_clone().unwrap();
    let dribble = std::thread::spawn(move || {
        while writer.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    assert_eq!(client.until_closed(), b"");
    dribble.join().unwrap();
}

#[test]
fn readers_that_take_nothing_hold_no_request_worker_and_are_cut_off() {
    let house = House::with(|config| {
        config.request_workers = 1;
        // The first is cut off long after the last has been noticed.
        config.write_timeout = SECOND * 8;
    });
    let mut deaf: Vec<_> = (0..4).map(|_| house.connect()).collect();
    for client in &mut deaf {
        client.send(get("/big?3000000"));
    }
    eventually("all are on threads of their own", || house.server().load().streams_open == 4);
    assert_eq!(house.ask(&get("/")).status, 200);
    eventually("they are cut off", || house.server().load().streams_open == 0);
    for client in &mut deaf {
        assert!(client.until_closed().len() < 3_000_000);
    }
}

#[test]
fn a_slow_reader_gets_its_answer_whole() {
    let house = House::new();
    let mut client = house.connect();
    client.send(get("/big?4000000"));
    eventually("it is on a thread of its own", || house.server().load().streams_open == 1);
    assert!(client.answer().body == pattern(4_000_000));
    client.send(get("/next"));
    assert_eq!(client.answer().status, 200);
}

#[test]
fn a_stream_reader_that_takes_nothing_is_cut_off() {
    let house = House::with(|config| config.stream_write_timeout = SECOND);
    let pieces = house.product.next_stream();
    let mut client = house.connect();
    client.send(get("/stream"));
    client.head();
    for _ in 0..200 {
        let _ = pieces.send(vec![b'x'; 100_000]);
    }
    eventually("the stream ends", || *house.product.stream_ends.lock().unwrap() == [StreamEnd::ReaderGone]);
    eventually("its thread ends", || house.server().load().streams_open == 0);
}

/// From here on the client's kernel loses all that comes for it, as if the machine were gone: nothing is
/// acknowledged, and nothing is reset.
fn vanish(client: &Client) {
    const RETURN: u16 = 0x06;
    let drop_all = SockFilter::new(RETURN, 0, 0, 0);
    SockRef::from(client.stream()).attach_filter(&[drop_all]).unwrap();
}

/// All else that could end these connections is out of the way.
fn house_that_notices() -> House {
    House::with(|config| {
        config.vanish_timeout = SECOND * 2;
        config.keepalive_after = SECOND;
        config.idle_timeout = LONG * 10;
        config.head_timeout = LONG * 20;
        config.stream_write_timeout = LONG * 10;
    })
}

#[test]
fn a_stream_to_a_reader_that_vanished_ends() {
    let house = house_that_notices();
    let pieces = house.product.next_stream();
    let mut client = house.connect();
    client.send(get("/stream"));
    client.head();
    vanish(&client);
    eventually("the stream notices", || {
        // Few and small: they all fit into the socket's buffer.
        let _ = pieces.send(b"anyone?".to_vec());
        *house.product.stream_ends.lock().unwrap() == [StreamEnd::ReaderGone]
    });
    eventually("its thread ends", || house.server().load().streams_open == 0);
}

#[test]
fn connections_whose_peer_vanished_end_without_a_word_being_said() {
    let house = house_that_notices();
    let _pieces = house.product.next_stream();
    let mut quiet_stream = house.connect();
    quiet_stream.send(get("/stream"));
    quiet_stream.head();
    let mut idle = house.connect();
    idle.send(get("/"));
    idle.answer();
    let mut half = house.connect();
    half.send("GET / HTTP/1.1\r\nHo");
    eventually("all are seen", || house.server().load().connections == 3);
    for client in [&quiet_stream, &idle, &half] {
        vanish(client);
    }
    eventually("all are gone", || house.server().load().connections == 0);
}
