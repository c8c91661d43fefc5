//! Connections to hostile peers, and their answers' heads.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;
use sightline::modules::probe::{ProbeError, Request};
use sightline::modules::reason::Reason;

use super::{get, lab, send, within};
use crate::support::eventually;
use crate::support::site::{Site, closed_port, drip, flood, hold, ok};

/// A deadline that is long enough for the first bytes even on a busy machine.
const TIME_FOR_A_PHASE: Duration = Duration::from_secs(8);

#[test]
fn failed_connections_and_early_ends_can_be_retried() {
    let refused = format!("http://127.0.0.1:{}/", closed_port());
    let unread = Site::talking(|stream| drop(stream.shutdown(Shutdown::Both)));
    let after_request = Site::start(|_, _| {});
    for url in [refused, unread.url("/"), after_request.url("/")] {
        let error = send(&lab(), &get(&url)).unwrap_err();
        assert!(
            matches!(error, ProbeError { reason: Reason::Connect, .. }) && error.is_connection_error(),
            "{url}: {error:?}"
        );
    }
    // The prober itself does not retry.
    assert_eq!((unread.connections(), after_request.connections()), (1, 1));
}

#[test]
fn answers_are_read_as_browsers_read_them() {
    for line in include_str!("answers.txt").lines().skip_while(|line| !line.is_empty()) {
        let Some((end, rest)) = line.split_once(' ').filter(|_| !line.starts_with('#')) else { continue };
        let parts = serde_json::Deserializer::from_str(rest).into_iter().collect::<Result<Vec<Value>, _>>();
        let parts = parts.unwrap_or_else(|error| panic!("{error}: {line}"));
        let bytes = parts.last().unwrap().as_str().unwrap();
        let bytes = bytes.replace("{{404}}", "HTTP/1.1 404 No\r\nX-Before: 1\r\n");
        let bytes = bytes.replace("{{end}}", "\r\nX-After: yes\r\nContent-Length: 2\r\n\r\nok");
        let bytes: Vec<u8> = bytes.chars().map(|byte| u8::try_from(byte).unwrap()).collect();
        // Neither the parts in which it arrives count, nor whether the connection stays open after a whole answer.
        let stays_open = end == "404";
        for parts_sent in [1, 7] {
            let bytes = bytes.clone();
            let site = Site::start(move |stream, _| {
                for part in bytes.chunks(bytes.len().div_ceil(parts_sent)) {
                    let _ = stream.write_all(part);
                }
                if stays_open {
                    hold(stream);
                }
            });
            match send(&lab(), &get(&site.url("/"))) {
                Ok(answer) => {
                    let [body, headers, _] = &parts[..] else { panic!("{line}: {answer:?}") };
                    let found = (answer.status.to_string(), String::from_utf8_lossy(&answer.body));
                    assert_eq!(found, (end.to_owned(), body.as_str().unwrap().into()), "{line}");
                    assert!(!answer.truncated, "{line}");
                    for (name, value) in headers.as_object().unwrap() {
                        assert_eq!(answer.header(name), value.as_str(), "{line}");
                    }
                }
                Err(error) => {
                    let is_right = match end {
                        "protocol" => matches!(error, ProbeError { reason: Reason::Protocol, .. }),
                        "connect" => matches!(error, ProbeError { reason: Reason::Connect, .. }),
                        "body" => {
                            matches!(error, ProbeError { reason: Reason::Body, .. })
                                && !error.is_connection_error()
                        }
                        _ => false,
                    };
                    assert!(is_right, "{line}: {error:?}");
                }
            }
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
        assert!(matches!(error, ProbeError { reason: Reason::Protocol, .. }), "{error:?}");
    }
    let (tell, told) = std::sync::mpsc::channel();
    let site = Site::start(move |stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nX: ").unwrap();
        let _ = tell.send(flood(stream, &[b'a'; 64 * 1024], 100 << 20));
    });
    let error = send(&lab(), &get(&site.url("/"))).unwrap_err();
    assert!(matches!(error, ProbeError { reason: Reason::Protocol, .. }), "{error:?}");
    assert!(told.recv().unwrap() < 50 << 20, "it was not read to the end");
}

/// Returns whether the peer has read all that was sent to it: its queue, in the row of its socket, is empty.
fn has_read(stream: &TcpStream) -> bool {
    let [peer, own] = [stream.peer_addr(), stream.local_addr()].map(|end| end.unwrap().port());
    let ends = format!(" 0100007F:{peer:04X} 0100007F:{own:04X} ");
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let socket = sockets.lines().find(|line| line.contains(&ends)).unwrap();
    socket.split_whitespace().nth(4).unwrap().ends_with(":00000000")
}

#[test]
fn a_large_head_within_the_limit_is_read() {
    let (value, body) = ("a".repeat(25_000), "b".repeat(60_000));
    let rest = format!("X-Long: {value}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let site = Site::start(move |stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n").unwrap();
        // The rest comes after that was read, together with the body.
        eventually("the first line is read", || has_read(stream));
        stream.write_all(rest.as_bytes()).unwrap();
    });
    let answer = send(&lab(), &get(&site.url("/"))).unwrap();
    assert_eq!((answer.header("x-long").map(str::len), answer.body.len()), (Some(25_000), 60_000));
}

#[test]
fn informational_responses_without_end_are_given_up() {
    let endless = Site::start(|stream, _| {
        flood(stream, b"HTTP/1.1 102 Processing\r\n\r\n", usize::MAX);
    });
    assert!(within(&lab(), &get(&endless.url("/")), Duration::from_secs(1)).is_err());
}

#[test]
fn the_deadline_holds_whatever_the_peer_does() {
    let peers = [
        (Reason::TimeoutFirstByte, Site::talking(hold)),
        (Reason::TimeoutFirstByte, dripping(b"", b"HTTP/1.1 200 OK\r\nX: ", b"a")),
        (Reason::TimeoutBody, dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"", b"a")),
        (
            Reason::TimeoutBody,
            dripping(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"", b"1\r\na\r\n"),
        ),
        (
            Reason::TimeoutBody,
            dripping(
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
                b"\x1f\x8b\x08\x08\0\0\0\0\0\x03",
                b"a",
            ),
        ),
        (
            Reason::TimeoutBody,
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
                assert_eq!(error, ProbeError::late(*phase));
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
    assert!(error.reason.is_timeout(), "{error:?}");
    assert!(site.connections() >= 2, "{}", site.connections());
}

#[test]
fn a_deadline_in_the_past_is_a_timeout() {
    let site = Site::saying(ok(""));
    let error = within(&lab(), &get(&site.url("/")), Duration::ZERO);
    assert!(error.as_ref().is_err_and(|error| error.reason.is_timeout()), "{error:?}");
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
    assert_eq!(error, ProbeError::late(Reason::TimeoutFirstByte));
    drop(release);
}
