//! Reuse of connections and of TLS sessions.

use std::io::Write;
use std::net::Shutdown;
use std::sync::mpsc;

use rustls::HandshakeKind;
use sightline::modules::definition::Method;
use sightline::modules::probe::{ProbeError, Request};
use sightline::modules::reason::Reason;

use super::tls::{tls_talking, trusting};
use super::{get, lab, send};
use crate::support::site::{Site, hold, ok, read_request, with_headers};

/// Answers all requests of each connection.
fn keeping(answer: impl Into<Vec<u8>>) -> Site {
    let answer = answer.into();
    Site::talking(move |stream| while read_request(stream).is_some() && stream.write_all(&answer).is_ok() {})
}

#[test]
fn a_further_request_uses_the_connection_that_the_last_one_left() {
    let plain = keeping(ok("yes"));
    let secure =
        tls_talking(
            "site.pem",
            |tls| while read_request(tls).is_some() && tls.write_all(&ok("yes")).is_ok() {},
        );
    let chunked = keeping("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n");
    let secure_url = format!("https://localhost:{}/", secure.addr.port());
    for (site, url) in [(&plain, plain.url("/")), (&secure, secure_url), (&chunked, chunked.url("/"))] {
        let prober = trusting();
        for _ in 0..3 {
            let answer = send(&prober, &get(&url)).unwrap();
            assert_eq!((answer.status, answer.body.as_slice()), (200, &b"yes"[..]));
        }
        assert_eq!(site.connections(), 1, "{url}");
        // Each prober has its own connections.
        send(&trusting(), &get(&url)).unwrap();
        assert_eq!(site.connections(), 2, "{url}");
    }
}

#[test]
fn another_name_of_the_same_address_gets_its_own_connection() {
    let site = keeping(ok("yes"));
    let prober = lab();
    for host in ["localhost", "127.0.0.1", "localhost", "127.0.0.1"] {
        send(&prober, &get(&format!("http://{host}:{}/", site.addr.port()))).unwrap();
    }
    assert_eq!(site.connections(), 2);
}

#[test]
fn a_new_connection_resumes_the_session() {
    let (kinds, seen) = mpsc::channel();
    let site = tls_talking("site.pem", move |tls| {
        if read_request(tls).is_some() {
            kinds.send(tls.conn.handshake_kind()).unwrap();
            let _ = tls.write_all(&with_headers("Connection: close\r\n", b"yes"));
        }
    });
    let prober = trusting();
    for _ in 0..3 {
        send(&prober, &get(&format!("https://localhost:{}/", site.addr.port()))).unwrap();
    }
    assert_eq!(site.connections(), 3);
    let full = seen.recv().unwrap();
    assert!(!matches!(full, None | Some(HandshakeKind::Resumed)), "{full:?}");
    assert_eq!([seen.recv().unwrap(), seen.recv().unwrap()], [Some(HandshakeKind::Resumed); 2]);
}

#[test]
fn a_connection_that_the_server_closed_leads_to_no_error() {
    // The server reads the second request of a connection before it closes it, so that the prober cannot know.
    let site = Site::talking(|stream| {
        if read_request(stream).is_some() && stream.write_all(&ok("yes")).is_ok() {
            read_request(stream);
        }
    });
    let prober = lab();
    for connections in 1..=3 {
        assert_eq!(send(&prober, &get(&site.url("/"))).unwrap().body, b"yes");
        assert_eq!(site.connections(), connections);
    }
}

#[test]
fn a_request_that_must_not_be_repeated_gets_a_new_connection() {
    let site = keeping(ok("yes"));
    let prober = lab();
    let post = Request { method: Method::Post, ..get(&site.url("/")) };
    for (request, connections) in
        [(get(&site.url("/")), 1), (post.clone(), 2), (post, 3), (get(&site.url("/")), 3)]
    {
        send(&prober, &request).unwrap();
        assert_eq!(site.connections(), connections);
    }
}

#[test]
fn a_request_whose_answer_had_begun_is_not_repeated() {
    let site = Site::talking(|stream| {
        if read_request(stream).is_some() && stream.write_all(&ok("yes")).is_ok() {
            read_request(stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Le");
        }
    });
    let prober = lab();
    send(&prober, &get(&site.url("/"))).unwrap();
    let error = send(&prober, &get(&site.url("/"))).unwrap_err();
    assert!(matches!(error, ProbeError { reason: Reason::Connect, .. }), "{error:?}");
    assert_eq!(site.connections(), 1);
}

#[test]
fn a_connection_in_an_unclear_state_is_not_used_again() {
    let long = ok(&"a".repeat(5000));
    let extra = [ok("yes"), b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".to_vec()].concat();
    let ended = "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nyes".into();
    let broken = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec();
    for (name, answer, is_answer) in [
        ("unread body", long, true),
        ("more than the body", extra, true),
        ("connection: close", with_headers("Connection: close\r\n", b"yes"), true),
        ("HTTP/1.0", ended, true),
        ("invalid body", broken, false),
    ] {
        let site = keeping(answer);
        let prober = lab();
        let request = Request { body_limit: 1000, ..get(&site.url("/")) };
        for connections in 1..=2 {
            let answer = send(&prober, &request);
            assert_eq!(answer.is_ok(), is_answer, "{name}: {answer:?}");
            assert!(answer.is_err() || answer.is_ok_and(|answer| !answer.body.starts_with(b"evil")));
            assert_eq!(site.connections(), connections, "{name}");
        }
    }
}

#[test]
fn a_redirect_within_a_host_uses_one_connection() {
    let site = Site::talking(|stream| {
        while let Some(request) = read_request(stream) {
            let answer = match request.path() {
                "/end" => ok("end"),
                _ => crate::support::site::to(302, "/end"),
            };
            let _ = stream.write_all(&answer);
        }
    });
    let request = Request { max_redirects: 1, ..get(&site.url("/start")) };
    assert_eq!(send(&lab(), &request).unwrap().body, b"end");
    assert_eq!(site.connections(), 1);
}

#[test]
fn the_body_of_a_redirect_is_not_waited_for() {
    let site = Site::talking(|stream| {
        let Some(request) = read_request(stream) else { return };
        if request.path() == "/end" {
            let _ = stream.write_all(&ok("end"));
            return;
        }
        let _ = stream.write_all(b"HTTP/1.1 302 Found\r\nLocation: /end\r\nContent-Length: 9\r\n\r\nnever");
        hold(stream);
        let _ = stream.shutdown(Shutdown::Both);
    });
    let request = Request { max_redirects: 1, ..get(&site.url("/start")) };
    assert_eq!(send(&lab(), &request).unwrap().body, b"end");
    assert_eq!(site.connections(), 2);
}
