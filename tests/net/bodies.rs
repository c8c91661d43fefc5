//! Bodies: framing, decompression, limits.

use std::io::Write;
use std::sync::mpsc;

use flate2::Compression;
use flate2::write::GzEncoder;
use sightline::modules::probe::{ProbeError, Request, Response};
use sightline::modules::reason::Reason;

use super::{get, lab, send};
use crate::support::site::{Site, flood, ok, with_headers};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn answer_to(bytes: impl Into<Vec<u8>>) -> Result<Response, ProbeError> {
    let site = Site::saying(bytes);
    send(&lab(), &get(&site.url("/")))
}

fn encoded(encoding: &str, body: &[u8]) -> Result<Response, ProbeError> {
    answer_to(with_headers(&format!("Content-Encoding: {encoding}\r\n"), body))
}

#[test]
fn compressed_bodies_are_decoded() {
    let text = b"hello, gzip ".repeat(100);
    let followed_by = |bytes: &[u8]| [&gzip(&text), bytes].concat();
    for (encoding, body, expected) in [
        ("gzip", gzip(&text), text.as_slice()),
        ("GZIP", gzip(&text), &text),
        ("x-gzip", gzip(&text), &text),
        // As in Chromium, what follows the first one is ignored.
        ("gzip", [gzip(b"one "), gzip(b"two")].concat(), b"one "),
        ("gzip", followed_by(b"\n"), &text),
        ("gzip", followed_by(&[0; 5000]), &text),
        ("gzip", followed_by(b"\x1f"), &text),
        ("gzip", followed_by(b"\x1f\x8b\x01<!-- served by cache -->"), &text),
        ("gzip, gzip", gzip(&gzip(&text)), &text),
        ("gzip\r\nContent-Encoding: gzip", gzip(&gzip(&text)), &text),
        ("identity, gzip,", gzip(&text), &text),
        ("none", b"plain".to_vec(), b"plain"),
        ("text/html", b"plain".to_vec(), b"plain"),
        ("zstd", Vec::new(), b""),
        ("gzip", Vec::new(), b""),
        ("br", Vec::new(), b""),
        ("identity", b"plain".to_vec(), b"plain"),
        ("utf-8", b"plain".to_vec(), b"plain"),
    ] {
        let answer = encoded(encoding, &body).unwrap_or_else(|e| panic!("{encoding}: {e}"));
        assert_eq!((answer.body.as_slice(), answer.truncated), (expected, false), "{encoding}");
    }
    assert_eq!(transferred("gzip, chunked", &gzip(&text)).unwrap().body, text);
}

/// Returns the answer to a request whose body was sent in one chunk, with these transfer codings.
fn transferred(codings: &str, body: &[u8]) -> Result<Response, ProbeError> {
    let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {codings}\r\n\r\n{:x}\r\n", body.len());
    answer_to([head.as_bytes(), body, b"\r\n0\r\n\r\n"].concat())
}

#[test]
fn undecodable_content_is_an_error() {
    let whole = gzip(&b"hello, gzip ".repeat(100));
    let mut wrong_sum = whole.clone();
    let at = whole.len() - 6;
    wrong_sum[at] ^= 1;
    for (encoding, body) in [
        ("gzip", &whole[..whole.len() / 2]),
        ("gzip", &whole[..5]),
        ("gzip", &wrong_sum),
        ("gzip", b"<html>not gzip</html>"),
        ("gzip, gzip", &whole),
        ("gzip, gzip, gzip, gzip, gzip", &whole),
    ] {
        let error = encoded(encoding, body).unwrap_err();
        assert!(matches!(error, ProbeError { reason: Reason::Body, .. }), "{encoding} {body:?}: {error:?}");
    }
    for encoding in ["zstd", "deflate", "gzip, zstd", "compress", "br", "dcb", "none-such"] {
        let why = encoded(encoding, b"<h1>readable by chance</h1>").unwrap_err().to_string();
        let name = encoding.strip_prefix("gzip, ").unwrap_or(encoding);
        assert_eq!(why, format!("body: its content coding `{name}` is not known"));
    }
    let why = transferred("none-such, chunked", b"<h1>readable by chance</h1>").unwrap_err().to_string();
    assert_eq!(why, "body: its content coding `none-such` is not known");
}

#[test]
fn a_compression_bomb_is_cut_at_the_decoded_limit() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..100 {
        encoder.write_all(&[0; 1 << 20]).unwrap();
    }
    let answer = encoded("gzip", &encoder.finish().unwrap()).unwrap();
    assert_eq!((answer.body.len(), answer.truncated), (1 << 20, true));
    assert!(answer.body.capacity() <= 4 << 20, "{}", answer.body.capacity());
}

/// Endless bytes around a body: trailers, chunk heads around single bytes, interim answers.
#[test]
fn every_byte_of_an_answer_counts_against_the_limit() {
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let trailers = [CHUNKED, b"2\r\nok\r\n0\r\n"].concat();
    let many: Vec<u8> = b"X-Trailer: value\r\n".repeat(1000);
    for (name, first, endless) in [
        ("trailers", trailers.clone(), many),
        ("one trailer", [&trailers[..], b"X: "].concat(), vec![b'a'; 16 * 1024]),
        ("chunk heads", CHUNKED.to_vec(), b"000000000000001\r\na\r\n".repeat(1000)),
        ("one chunk head", [CHUNKED, b"1;"].concat(), vec![b'a'; 16 * 1024]),
        ("interim answers", Vec::new(), b"HTTP/1.1 102 Processing\r\n\r\n".repeat(1000)),
    ] {
        let (tell, told) = mpsc::channel();
        let site = Site::start(move |stream, _| {
            stream.write_all(&first).unwrap();
            let _ = tell.send(flood(stream, &endless, 500 << 20));
        });
        let error = send(&lab(), &get(&site.url("/"))).unwrap_err();
        let is_told = matches!(
            error,
            ProbeError { reason: Reason::Body, .. } | ProbeError { reason: Reason::Protocol, .. }
        );
        assert!(is_told && !error.is_connection_error(), "{name}: {error:?}");
        // The sent bytes include those in the sockets' buffers, which the prober has not received.
        let sent = told.recv().unwrap();
        assert!(sent < 40 << 20, "{name}: {sent}");
        assert_eq!(site.connections(), 1, "{name}");
    }
}

#[test]
fn no_more_bytes_are_read_than_requested() {
    let (tell, told) = mpsc::channel();
    let site = Site::start(move |stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 52428800\r\n\r\n").unwrap();
        let _ = tell.send(flood(stream, &[b'a'; 64 * 1024], 50 << 20));
    });
    let answer = send(&lab(), &Request { body_limit: 10_000, ..get(&site.url("/")) }).unwrap();
    assert_eq!((answer.body.len(), answer.truncated), (10_000, true));
    assert!(told.recv().unwrap() < 50 << 20, "the rest was left unread");

    for (limit, truncated, length) in [(4, true, 4), (5, false, 5), (6, false, 5), (0, true, 0)] {
        let site = Site::saying(ok("hello"));
        let answer = send(&lab(), &Request { body_limit: limit, ..get(&site.url("/")) }).unwrap();
        assert_eq!((answer.body.len(), answer.truncated), (length, truncated), "{limit}");
    }
}
