//! What two readers could understand differently is refused, and nothing after it is believed.

use std::net::SocketAddr;

use super::kit::{Client, House, get, post};

/// After the head comes what would be a second request to someone who reads it another way.
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

fn is_refused(house: &House, head: &str, status: u16) {
    let mut client = house.connect();
    client.try_send(format!("{head}{SMUGGLED}"));
    let answer = client.answer();
    assert_eq!(answer.status, status, "{head:?}");
    assert_eq!(answer.header("Connection"), Some("close"), "{head:?}");
    // tiny_http may have begun to read what follows as a request, and say itself that it is none.
    let rest = String::from_utf8(client.until_closed()).unwrap();
    assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 400 "), "{head:?}: {rest}");
    assert_eq!(rest.matches("HTTP/1.1").count(), usize::from(!rest.is_empty()), "{head:?}: {rest}");
    assert!(house.product.seen.lock().unwrap().is_empty(), "{head:?}");
}

#[test]
fn unsound_heads_are_answered_400_and_end_the_connection() {
    let house = House::new();
    for line in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 0\r\nContent-Length: 40",
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: +7",
        "Content-Length: -1",
        "Content-Length: abc",
        "Content-Length: 0x10",
        "Content-Length: 1, 1",
        "Content-Length:",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: chunked\r\nConnection: upgrade\r\nUpgrade: x",
        "Host: b",
        "X: a\0b",
        "X: a\rb",
        "X: a\nb: c",
        "X: \x7f",
        "X(y): z",
    ] {
        is_refused(&house, &format!("POST /a HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n"), 400);
    }
    is_refused(&house, "GET /a HTTP/1.1\r\n\r\n", 400);
    is_refused(&house, "GET /a HTTP/1.1\r\nHost: a/b\r\n\r\n", 400);
    is_refused(&house, "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
    is_refused(&house, "GET /a HTTP/0.9\r\nHost: a\r\n\r\n", 400);
}

#[test]
fn unsound_targets_are_answered_400_and_end_the_connection() {
    let house = House::new();
    for target in ["a", "*", "/%", "/%zz", "/a#b", "ftp://a/", "http:///", "http://u@h/", "\u{7f}"] {
        is_refused(&house, &format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
    }
    is_refused(&house, "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400);
    is_refused(&house, "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400);
}

#[test]
fn heads_over_the_limits_are_answered_and_end_the_connection() {
    let house = House::new();
    let long = "a".repeat(8 * 1024);
    is_refused(&house, &format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
    is_refused(&house, &format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "a".repeat(33 * 1024)), 431);
    is_refused(&house, &format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(100)), 431);
}

#[test]
fn broken_chunks_are_answered_400() {
    let house = House::new();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for body in ["x\r\n", "3\r\nabcd\r\n", "-1\r\n", "1\nabc", "3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n"] {
        is_refused(&house, &format!("{head}{body}"), 400);
    }
}

#[test]
fn chunks_that_break_off_are_not_taken_for_a_body() {
    let house = House::new();
    let mut client = house.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc");
    client.stream().shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.answer().status, 400);
    assert!(house.product.seen.lock().unwrap().is_empty());
}

#[test]
fn what_follows_a_chunked_body_is_not_believed() {
    let house = House::new();
    let mut client = house.connect();
    let request = "POST /first HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    client.send(format!("{request}{SMUGGLED}"));
    assert_eq!(client.answer().status, 200);
    assert_eq!(client.until_closed(), b"");
    assert_eq!(*house.product.seen.lock().unwrap(), ["POST /first"]);
}

#[test]
fn a_body_over_the_limit_is_answered_413_without_being_waited_for() {
    let house = House::new();
    for length in [64 * 1024 + 1, 1_000_000, 10_000_000_000] {
        let mut client = house.connect();
        client.send(post("/a", length, ""));
        let answer = client.answer();
        assert_eq!((answer.status, answer.header("Connection")), (413, Some("close")), "{length}");
        assert_eq!(client.until_closed(), b"");
    }
    let mut chunked = house.connect();
    chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    chunked.try_send(format!("fffff\r\n{}", "a".repeat(64 * 1024 + 1)));
    assert_eq!(chunked.answer().status, 413);
    assert!(house.product.seen.lock().unwrap().is_empty());
}

#[test]
fn a_413_reaches_a_client_that_sends_its_whole_body_first() {
    let house = House::new();
    let mut client = house.connect();
    client.send(post("/a", 500_000, &"a".repeat(500_000)));
    assert_eq!(client.answer().status, 413);
}

/// tiny_http gets a buffer of the announced size when such a request is dropped: up to 10^12 a lazy allocator
/// may grant it, above the process would abort, and above the address space the size itself panics.
#[test]
fn no_announced_length_ends_the_process() {
    let house = House::new();
    for length in [
        "100000000000",
        "1000000000000000",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
    ] {
        let mut client = house.connect();
        client.send(post("/a", length.parse().unwrap(), "abc"));
        assert_eq!(client.answer().status, 413, "{length}");
        drop(client);
        assert_eq!(house.ask(&get("/")).status, 200, "after {length}");
    }
    is_refused(
        &House::new(),
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        413,
    );
}

/// A connection that was closed is remembered for a moment, lest its last words pass for a new one's first: a
/// new one from the same port must be told from it.
#[test]
fn a_new_connection_from_the_port_of_a_closed_one_is_served() {
    use socket2::{Domain, Protocol, Socket, Type};

    let house = House::new();
    let from_port = |port: u16| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], port)).into()).unwrap();
        socket.connect(&house.address.into()).map(|()| Client::over(socket.into()))
    };
    let (mut port, mut reused) = (0, 0);
    for round in 0..40 {
        // The client's kernel may hold the old connection a little longer: then another port will do.
        let Ok(mut client) = from_port(port) else {
            port = 0;
            continue;
        };
        reused += u32::from(port != 0);
        port = client.stream().local_addr().unwrap().port();
        client.send(get("/sound"));
        assert_eq!(client.answer().status, 200, "{round}");
        client.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
        assert_eq!(client.answer().status, 400, "{round}");
        client.until_closed();
    }
    assert!(reused > 0);
}

/// Whatever comes is answered or cut off, and the next client is served.
#[test]
fn damaged_requests_hurt_nobody_else() {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};

    let house = House::new();
    let whole = "POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nabc\
                 POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let damage = (0..whole.len(), any::<u8>(), 0..3u8);
    let mut runner = TestRunner::new(Config { cases: 300, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&proptest::collection::vec(damage, 1..4), |damages| {
        let mut bytes = whole.as_bytes().to_vec();
        for (place, byte, kind) in damages {
            let place = place.min(bytes.len() - 1);
            match kind {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => drop(bytes.drain(place..(place + usize::from(byte % 16)).min(bytes.len() - 1))),
            }
        }
        let mut client = house.connect();
        client.try_send(&bytes);
        let _ = client.stream().shutdown(std::net::Shutdown::Write);
        let said = String::from_utf8_lossy(&client.until_closed()).into_owned();
        let statuses: Vec<_> =
            said.match_indices("HTTP/1.1 ").filter_map(|(at, _)| said.get(at + 9..at + 12)).collect();
        let known = ["200", "400", "413", "417"];
        prop_assert!(statuses.iter().all(|status| known.contains(status)), "{}", said);
        prop_assert_eq!(house.ask(&get("/sound")).status, 200);
        Ok(())
    });
    outcome.unwrap();
}
