//! Connections to hostile peers, and their answers' heads.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use sightline::modules::probe::{Phase, ProbeError, Request};

use super::{get, lab, send, within};
use crate::support::site::{Site, closed_port, drip, flood, hold, ok};

/// A deadline that is long enough for the first bytes even on a busy machine.
const TIME_FOR_A_PHASE: Duration = Duration::from_secs(8);

#[test]
fn failed_connections_and_early_ends_can_be_retried() {
    let refused = format!("http://127.0.0.1:{}/", closed_port());
    let unread = Site::talking(|stream| drop(stream.shutdown(Shutdown::Both)));
    let after_request = Site::start(|_, _| {});
    let in_the_head = Site::saying("HTTP/1.1 200 OK\r\nContent-Ty");
    for url in [refused, unread.url("/"), after_request.url("/"), in_the_head.url("/")] {
        let error = send(&lab(), &get(&url)).unwrap_err();
        assert!(matches!(error, ProbeError::Connect(_)) && error.is_connection_error(), "{url}: {error:?}");
    }
    // The prober itself does not retry.
    assert_eq!((unread.connections(), after_request.connections()), (1, 1));
}

#[test]
fn what_is_not_http_is_a_protocol_error() {
    for answer in [
        &b"SSH-2.0-OpenSSH_9.9\r\n"[..],
        b"220 mail.example ESMTP\r\n\r\n",
        b"<html>hello</html>\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 000 No\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/x 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: lots\r\n\r\n",
        // Lines that contradict each other about the answer's end.
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length : 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\x01\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\x01\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
        b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\x04\0\x10\0\0",
    ] {
        let site = Site::saying(answer);
        let error = send(&lab(), &get(&site.url("/"))).unwrap_err();
        assert!(matches!(error, ProbeError::Protocol(_)), "{:?}: {error:?}", String::from_utf8_lossy(answer));
    }
}

#[test]
fn an_odd_head_is_read_as_browsers_read_it() {
    const END: &str = "\r\nX-After: yes\r\nContent-Length: 2\r\n\r\nok";
    let after_status = |lines: &[u8]| [b"HTTP/1.1 404 No\r\nX-Before: 1\r\n", lines, END.as_bytes()].concat();
    let with_status = |line: &[u8]| [line, END.as_bytes()].concat();
    for (bytes, name, value) in [
        (
            after_status(b"PHP Warning: PHP Startup: Unable to load 'x.so' in Unknown on line 0"),
            "php warning",
            None,
        ),
        (after_status(b"garbage line"), "garbage line", None),
        (after_status(b": no name"), "", None),
        (after_status(b"X-Caf\xe9: 1"), "x-caf\u{e9}", None),
        (after_status(b"X(A): 1"), "x(a)", None),
        (after_status(b"garbage\r\n\tand more: of it"), "x-before", Some("1")),
        (after_status(b"X-A : b"), "x-a", Some("b")),
        (after_status(b"X-A\t:\tb\t"), "x-a", Some("b")),
        (after_status(b"X-A: a\r\n\tb\r\n   c"), "x-a", Some("a b c")),
        (after_status(b"X-A:\r\n a"), "x-a", Some("a")),
        (after_status(b"X-A: a\x01\x7fb"), "x-a", Some("a  b")),
        (after_status(b"X-A: a\rb"), "x-a", Some("a b")),
        (after_status(b"Set-Cookie: a=\x01b"), "set-cookie", None),
        (after_status(b"Location: /a\x01\xe9b"), "location", Some("/a%01%E9b")),
        (after_status(b"X-A: 1\nX-B: 2"), "x-b", Some("2")),
        (after_status(b"Content-Length: 2"), "content-length", Some("2")),
        (after_status(b"Content-Length: 2, 2"), "x-before", Some("1")),
        (with_status(b"HTTP/1.1 404"), "x-before", None),
        (with_status(b"HTTP/1.1  404   No"), "x-before", None),
        (with_status(b"http/1.1 404 No\x01\xff"), "x-before", None),
        (with_status(b"HTTP/2.0 404 No"), "x-before", None),
        (with_status(b"HTTP/2 404"), "x-before", None),
        (with_status(b"HTTP/1.1 404 No\r\n X-Before: 1"), "x-before", None),
        (with_status(b"\r\n\r\nHTTP/1.1 404 No"), "x-before", None),
        (with_status(b"HTTP/1.1 100 Continue\r\nServer: x\r\n\r\nHTTP/1.1 404 No"), "server", None),
    ] {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        // Neither the parts in which it arrives count, nor whether the connection stays open.
        for parts in [1, 7] {
            let bytes = bytes.clone();
            let site = Site::start(move |stream, _| {
                for part in bytes.chunks(bytes.len().div_ceil(parts)) {
                    stream.write_all(part).unwrap();
                }
                hold(stream);
            });
            let answer = send(&lab(), &get(&site.url("/"))).unwrap_or_else(|e| panic!("{shown}: {e}"));
            assert_eq!((answer.status, answer.body.as_slice()), (404, &b"ok"[..]), "{shown}");
            assert_eq!((answer.header(name), answer.header("x-after")), (value, Some("yes")), "{shown}");
        }
    }
}

#[test]
fn too_many_headers_are_an_error() {
    let many = "X-Header: value\r\n".repeat(10_000);
    let few_but_long = format!("X-Long: {}\r\n", "a".repeat(40_000));
    for headers in [many, few_but_long] {
        let site = Site::saying(format!("HTTP/1.1 200 OK\r\n{headers}\r\n"));
        let error = send(&lab(), &get(&site.url("/"))).unwrap_err();
        assert!(matches!(error, ProbeError::Protocol(_)), "{error:?}");
    }
    let (tell, told) = std::sync::mpsc::channel();
    let site = Site::start(move |stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nX: ").unwrap();
        let _ = tell.send(flood(stream, &[b'a'; 64 * 1024], 100 << 20));
    });
    let error = send(&lab(), &get(&site.url("/"))).unwrap_err();
    assert!(matches!(error, ProbeError::Protocol(_)), "{error:?}");
    assert!(told.recv().unwrap() < 50 << 20, "it was not read to the end");
}

#[test]
fn a_large_head_within_the_limit_is_read() {
    let value = "a".repeat(25_000);
    let site = Site::saying(format!("HTTP/1.1 200 OK\r\nX-Long: {value}\r\nContent-Length: 2\r\n\r\nok"));
    let answer = send(&lab(), &get(&site.url("/"))).unwrap();
    assert_eq!((answer.header("x-long").map(str::len), answer.body.as_slice()), (Some(25_000), &b"ok"[..]));
}

#[test]
fn header_values_need_not_be_utf8() {
    let site = Site::saying(
        &b"HTTP/1.1 404 \xff\r\nX-A: caf\xe9 \xf0\x9f\r\nX-A: two\r\nX-EMPTY:\r\nContent-Length: 0\r\n\r\n"[..],
    );
    let answer = send(&lab(), &get(&site.url("/"))).unwrap();
    assert_eq!(
        (answer.status, answer.header("x-a"), answer.header("x-empty")),
        (404, Some("caf\u{fffd} \u{fffd}"), Some(""))
    );
    assert_eq!(answer.headers.iter().filter(|(name, _)| name == "x-a").count(), 2);
}

#[test]
fn informational_responses_are_skipped() {
    let informational = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    let site = Site::saying(format!("{informational}HTTP/1.1 203 Fine\r\nContent-Length: 2\r\n\r\nok"));
    let answer = send(&lab(), &get(&site.url("/"))).unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (203, &b"ok"[..]));

    let endless = Site::start(|stream, _| {
        flood(stream, b"HTTP/1.1 102 Processing\r\n\r\n", usize::MAX);
    });
    assert!(within(&lab(), &get(&endless.url("/")), Duration::from_secs(1)).is_err());
}

#[test]
fn the_deadline_holds_whatever_the_peer_does() {
    let peers = [
        (Phase::FirstByte, Site::talking(hold)),
        (Phase::FirstByte, dripping(b"", b"HTTP/1.1 200 OK\r\nX: ", b"a")),
        (Phase::Body, dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"", b"a")),
        (Phase::Body, dripping(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"", b"1\r\na\r\n")),
        (
            Phase::Body,
            dripping(
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
                b"\x1f\x8b\x08\x08\0\0\0\0\0\x03",
                b"a",
            ),
        ),
        (
            Phase::Body,
            dripping(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n",
                b"",
                b"A: b\r\n",
            ),
        ),
    ];
    let prober = lab();
    std::thread::scope(|scope| {
        for (phase, peer) in &peers {
            scope.spawn(|| {
                let error = within(&prober, &get(&peer.url("/")), TIME_FOR_A_PHASE).unwrap_err();
                assert_eq!(error, ProbeError::Timeout(*phase));
            });
        }
    });
}

/// Sends `first` at once, then `slow` and endlessly `endless` byte by byte.
fn dripping(first: &'static [u8], slow: &'static [u8], endless: &'static [u8]) -> Site {
    Site::start(move |stream, _| {
        stream.write_all(first).unwrap();
        drip(stream, slow.iter().chain(endless.iter().cycle()).copied());
    })
}

/// Each hop is quick, but the chain of hops is not.
#[test]
fn the_deadline_spans_all_hops() {
    let site = dripping(b"HTTP/1.1 302 F\r\nLocation: /", b"\r\n\r\n", b"");
    let request = Request { max_redirects: 200, ..get(&site.url("/")) };
    let error = within(&lab(), &request, TIME_FOR_A_PHASE).unwrap_err();
    assert!(matches!(error.of_last_hop(), ProbeError::Timeout(_)), "{error:?}");
    assert!(site.connections() >= 2, "{}", site.connections());
}

#[test]
fn a_deadline_in_the_past_is_a_timeout() {
    let site = Site::saying(ok(""));
    let error = within(&lab(), &get(&site.url("/")), Duration::ZERO);
    assert!(matches!(error, Err(ProbeError::Timeout(_))), "{error:?}");
}

/// The peer does not read the body of the request.
#[test]
fn a_peer_that_does_not_read_times_out_at_the_deadline() {
    let (release, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let site = Site::talking(move |_: &mut TcpStream| {
        let _ = gate.lock().unwrap().recv();
    });
    let body = Some(("text/plain".to_owned(), vec![0; 64 << 20]));
    let request =
        Request { method: sightline::modules::definition::Method::Post, body, ..get(&site.url("/")) };
    let error = within(&lab(), &request, TIME_FOR_A_PHASE).unwrap_err();
    assert_eq!(error, ProbeError::Timeout(Phase::FirstByte));
    drop(release);
}
