//! Compressed answers, for who takes them.

use std::io::Read as _;

use flate2::read::GzDecoder;

use super::kit::{Answer, House, get, json_text};
use crate::support::server::{RequestBuilder, Setup};

fn unpacked(body: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(body).read_to_end(&mut plain).unwrap();
    plain
}

fn asked(house: &House, method: &str, path: &str, accepted: &str) -> Answer {
    let mut client = house.connect();
    client.send(format!("{method} {path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {accepted}\r\n\r\n"));
    let answer = if method == "HEAD" { client.head() } else { client.answer() };
    // Nothing is left over: the next answer comes where it should.
    client.send(get("/next"));
    assert_eq!(client.answer().header("X-Path"), Some("/next"));
    answer
}

#[test]
fn large_json_is_compressed_for_who_takes_it_and_both_forms_are_told_apart() {
    let house = House::new();
    for path in ["/json?20000", "/json-later?20000"] {
        house.product.gate.open();
        let plain = house.ask(&get(path));
        assert_eq!((plain.header("Content-Encoding"), plain.header("Vary")), (None, Some("Accept-Encoding")));
        assert_eq!((plain.header("ETag"), plain.text()), (Some("\"tag\""), json_text(20_000).as_str()));
        let packed = asked(&house, "GET", path, "br, gzip;q=0.5");
        assert_eq!(packed.header("Content-Encoding"), Some("gzip"));
        assert_eq!(
            (packed.header("Vary"), packed.header("ETag")),
            (Some("Accept-Encoding"), Some("W/\"tag\""))
        );
        assert!(packed.body.len() < 10_000 && unpacked(&packed.body) == plain.body, "{path}");
        let head = asked(&house, "HEAD", path, "gzip");
        for name in ["Content-Length", "Content-Encoding", "ETag", "Vary", "Content-Type"] {
            assert_eq!(head.header(name), packed.header(name), "{name} of HEAD {path}");
        }
    }
}

#[test]
fn what_is_small_or_no_json_or_not_wanted_goes_out_as_it_is() {
    let house = House::new();
    for (path, accepted, vary) in [
        ("/json?1000", "gzip", Some("Accept-Encoding")),
        ("/json?20000", "gzip;q=0", Some("Accept-Encoding")),
        ("/json?20000", "deflate, br", Some("Accept-Encoding")),
        ("/json?20000", "identity, gzip;q=0.9", Some("Accept-Encoding")),
        ("/big?20000", "gzip", None),
        ("/none", "gzip", None),
    ] {
        let answer = asked(&house, "GET", path, accepted);
        assert_eq!(answer.header("Content-Encoding"), None, "{path} {accepted}");
        assert_eq!(answer.header("Vary"), vary, "{path} {accepted}");
    }
}

#[test]
fn streams_are_never_compressed() {
    let house = House::new();
    let pieces = house.product.next_stream();
    let mut client = house.connect();
    client.send("GET /stream HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
    let head = client.head();
    assert_eq!((head.status, head.header("Content-Encoding"), head.header("Vary")), (200, None, None));
    pieces.send(vec![b'x'; 5000]).unwrap();
    assert_eq!(client.piece().unwrap(), vec![b'x'; 5000]);
}

#[test]
fn a_polled_run_has_one_tag_in_both_forms() {
    let server = Setup::new().flag("--wait-timeout=1m").start();
    let run = server.search("username", "everybody");
    server.finished(&run);
    let path = format!("/v1/searches/{run}");
    let ask = |method: &str, headers: &[(&str, &str)]| {
        let request: RequestBuilder<'_> = server.request(method, &path).key(&server.key);
        headers.iter().fold(request, |request, (name, value)| request.header(name, value)).send()
    };
    let plain = ask("GET", &[]);
    let packed = ask("GET", &[("Accept-Encoding", "gzip")]);
    let (strong, weak) = (plain.header("etag").unwrap(), packed.header("etag").unwrap());
    assert_eq!(weak, format!("W/{strong}"));
    assert!(packed.body.len() * 3 < plain.body.len() && unpacked(&packed.body) == plain.body);
    // The second poll gets the form that is kept.
    assert_eq!(ask("GET", &[("Accept-Encoding", "gzip")]).body, packed.body);
    for known in [strong, weak] {
        for (accepted, tag) in [("gzip", weak), ("identity", strong)] {
            let again = ask("GET", &[("Accept-Encoding", accepted), ("If-None-Match", known)]);
            assert_eq!((again.status, again.header("etag")), (304, Some(tag)), "{again}");
            assert_eq!(again.header("vary"), Some("Accept-Encoding"), "{again}");
            assert!(again.body.is_empty() && again.header("content-encoding").is_none(), "{again}");
        }
    }
    let head = ask("HEAD", &[("Accept-Encoding", "gzip")]);
    assert_eq!(head.header("content-length"), packed.header("content-length"), "{head}");
    // The answer to a wait is made on the small stack of its thread.
    let waited = server
        .request("POST", "/v1/searches")
        .key(&server.key)
        .header("Accept-Encoding", "gzip")
        .json(&serde_json::json!({"type": "username", "query": "everybody.else", "wait": true}))
        .send();
    assert_eq!((waited.status, waited.header("content-encoding")), (200, Some("gzip")), "{}", waited.status);
    let waited: serde_json::Value = serde_json::from_slice(&unpacked(&waited.body)).unwrap();
    assert_eq!(waited["status"], "completed");
}
