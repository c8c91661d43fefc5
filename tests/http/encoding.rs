//! Compressed answers.

use std::io::Read as _;

use flate2::read::GzDecoder;

use super::kit::{Answer, TestServer, get, json_text};

fn unpacked(body: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(body).read_to_end(&mut plain).unwrap();
    plain
}

fn asked(server: &TestServer, method: &str, path: &str, accepted: &str) -> Answer {
    let mut client = server.connect();
    client.send(format!("{method} {path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {accepted}\r\n\r\n"));
    let answer = if method == "HEAD" { client.head() } else { client.answer() };
    // The whole answer was read: the next answer begins right after it.
    client.send(get("/next"));
    assert_eq!(client.answer().header("X-Path"), Some("/next"));
    answer
}

#[test]
fn large_json_is_compressed_for_clients_that_accept_it_and_tagged_accordingly() {
    let server = TestServer::new();
    for path in ["/json?20000", "/json-later?20000"] {
        server.product.gate.open();
        let plain = server.ask(&get(path));
        assert_eq!((plain.header("Content-Encoding"), plain.header("Vary")), (None, Some("Accept-Encoding")));
        assert_eq!((plain.header("ETag"), plain.text()), (Some("\"tag\""), json_text(20_000).as_str()));
        let packed = asked(&server, "GET", path, "br, gzip;q=0.5");
        assert_eq!(packed.header("Content-Encoding"), Some("gzip"));
        assert_eq!(packed.header("Vary"), Some("Accept-Encoding"));
        assert_eq!(packed.header("ETag"), Some("W/\"tag\""));
        assert!(packed.body.len() < 10_000 && unpacked(&packed.body) == plain.body, "{path}");
        let head = asked(&server, "HEAD", path, "gzip");
        for name in ["Content-Length", "Content-Encoding", "ETag", "Vary", "Content-Type"] {
            assert_eq!(head.header(name), packed.header(name), "{name} of HEAD {path}");
        }
    }
}

#[test]
fn small_bodies_other_types_and_other_codings_are_not_compressed() {
    let server = TestServer::new();
    for (path, accepted, vary) in [
        ("/json?1000", "gzip", Some("Accept-Encoding")),
        ("/json?20000", "gzip;q=0", Some("Accept-Encoding")),
        ("/json?20000", "deflate, br", Some("Accept-Encoding")),
        ("/big?20000", "gzip", None),
        ("/none", "gzip", None),
    ] {
        let answer = asked(&server, "GET", path, accepted);
        assert_eq!(answer.header("Content-Encoding"), None, "{path} {accepted}");
        assert_eq!(answer.header("Vary"), vary, "{path} {accepted}");
    }
}

#[test]
fn streams_are_never_compressed() {
    let server = TestServer::new();
    let pieces = server.product.next_stream();
    let mut client = server.connect();
    client.send("GET /stream HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
    let head = client.head();
    assert_eq!((head.status, head.header("Content-Encoding"), head.header("Vary")), (200, None, None));
    pieces.send(vec![b'x'; 5000]).unwrap();
    assert_eq!(client.piece().unwrap(), vec![b'x'; 5000]);
}
