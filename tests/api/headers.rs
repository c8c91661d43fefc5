//! The headers of every answer: request ids, the sandbox's mark, authentication in its two forms, CORS.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use crate::support::server::{PATIENCE, Server, Setup};

#[test]
fn a_key_is_accepted_only_in_its_two_headers() {
    let server = Setup::new().start();
    let (key, other) = (server.key.clone(), server.new_key("pro"));
    let bearer = format!("Bearer {key}");
    let ok: &[&[(&str, &str)]] = &[
        &[("Authorization", &bearer)],
        &[("authorization", &format!("bearer {key}"))],
        &[("X-API-Key", &key)],
        &[("Authorization", &bearer), ("X-API-Key", &key)],
    ];
    for headers in ok {
        let mut request = server.request("GET", "/v1/me");
        for (name, value) in *headers {
            request = request.header(name, value);
        }
        assert_eq!(request.send().status, 200, "{headers:?}");
    }
    let mut mistyped = key.clone().into_bytes();
    mistyped[20] = if mistyped[20] == b'a' { b'b' } else { b'a' };
    let mistyped = String::from_utf8(mistyped).unwrap();
    let unknown = "sl_live_000000000000000000000000000000";
    let bad: &[&[(&str, &str)]] = &[
        &[],
        &[("Authorization", "")],
        &[("Authorization", "Bearer")],
        &[("Authorization", "Bearer ")],
        &[("Authorization", &key)],
        &[("Authorization", &format!("Basic {key}"))],
        &[("Authorization", &format!("Bearer {mistyped}"))],
        &[("Authorization", &format!("Bearer {unknown}"))],
        &[("Authorization", &format!("Bearer {}", "x".repeat(5000)))],
        &[("X-API-Key", "")],
        &[("X-API-Key", &key[..key.len() - 1])],
        &[("X-API-Key", &key), ("X-API-Key", &other)],
        &[("Authorization", &bearer), ("X-API-Key", &other)],
    ];
    for headers in bad {
        for path in ["me", "credits", "searches", "searches/x", "searches/x/stream", "modules"] {
            let mut request = server.request("GET", &format!("/v1/{path}"));
            for (name, value) in *headers {
                request = request.header(name, value);
            }
            let answer = request.send();
            answer.is_error(401, "invalid_api_key");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    let log = server.log();
    assert!(!log.contains(&key) && !log.contains(&other), "a key stands in the log");
}

#[test]
fn request_ids_are_taken_from_the_caller_and_logged() {
    let server = Setup::new().start();
    let ask = |id: Option<&str>| {
        let request = server.request("GET", "/v1/health");
        let request = match id {
            Some(id) => request.header("X-Request-Id", id),
            None => request,
        };
        request.send().header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(ask(Some("my-id_1.2")), "my-id_1.2");
    let new = [ask(None), ask(None), ask(Some("has space")), ask(Some(&"x".repeat(65)))];
    for (index, id) in new.iter().enumerate() {
        assert_eq!(id.len(), 32);
        assert!(!new[..index].contains(id));
    }
    assert!(server.log().contains("my-id_1.2"));
}

#[test]
fn every_answer_of_the_sandbox_is_marked() {
    let server = Setup::new().start();
    for (method, path) in [
        ("GET", "/v1/health"),
        ("GET", "/v1/me"),
        ("GET", "/nothing"),
        ("PUT", "/v1/me"),
        ("OPTIONS", "/v1/me"),
    ] {
        let answer = server.request(method, path).send();
        assert_eq!(answer.header("x-sightline-sandbox"), Some("true"), "{answer}");
        assert!(answer.header("x-request-id").is_some() && answer.header("date").is_some(), "{answer}");
    }
}

/// Returns the answer to bytes that may not be HTTP.
fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(server.address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(bytes).unwrap();
    let mut said = Vec::new();
    // A server that refuses may reset the connection after its answer.
    let _ = socket.read_to_end(&mut said);
    String::from_utf8(said).unwrap()
}

#[test]
fn streams_and_refusals_of_the_sandbox_are_marked() {
    let server = Setup::new().start();
    let body = json!({"type": "username", "query": "alice", "stream": true});
    let stream = server.post_stream(&body);
    assert_eq!((stream.status, stream.header("x-sightline-sandbox")), (200, Some("true")));
    let run = stream.header("x-run-id").unwrap().to_owned();
    stream.all();
    let path = format!("/v1/searches/{run}/stream");
    let attached = server.stream(&path);
    assert_eq!((attached.status, attached.header("x-sightline-sandbox")), (200, Some("true")));

    let large = vec![b' '; 65 * 1024];
    let too_large = server
        .request("POST", "/v1/searches")
        .key(&server.key)
        .header("Content-Type", "application/json")
        .body(&large)
        .send();
    too_large.is_error(413, "payload_too_large");
    assert_eq!(too_large.header("x-sightline-sandbox"), Some("true"), "{too_large}");

    // A request with a readable head gets a full answer.
    let said =
        raw(&server, b"POST /v1/searches HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n").to_lowercase();
    let (head, _) = said.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {said:?}"));
    assert!(head.starts_with("http/1.1 400 "), "{said}");
    assert!(head.contains("\r\nx-sightline-sandbox: true"), "{said}");
    assert!(head.contains("\r\nx-request-id: "), "{said}");
    // Bytes that are not HTTP never reach the API: the HTTP library answers them with a bare 400.
    for bytes in [&b"NONSENSE\r\n\r\n"[..], b"GET /v1/me HTTP/1.1\r\nno colon\r\n\r\n"] {
        let said = raw(&server, bytes);
        assert!(said.starts_with("HTTP/1.1 400 ") && said.ends_with("\r\n\r\n"), "{said}");
    }
}

#[test]
fn the_log_holds_no_key_no_query_and_no_result() {
    const SECRET: &str = "zqxjkvwb";
    let server = Setup::new().realistic().flag("--check-timeout=5s").flag("--log-format=json").start();
    let mut values = Vec::new();
    for (search_type, query) in [
        ("username", format!("everybody.{SECRET}")),
        ("username", format!("broken.{SECRET}")),
        ("email", format!("everybody.{SECRET}@example.com")),
        ("domain", format!("{SECRET}.com")),
    ] {
        let run = server.finished(&server.search(search_type, &query));
        values.extend(run["results"].as_array().unwrap().iter().map(|result| result["value"].clone()));
    }
    assert!(values.len() > 50, "{}", values.len());
    let key = server.key.clone();
    for path in [format!("/v1/searches?query={SECRET}&limit={SECRET}"), format!("/{SECRET}?key={key}")] {
        assert!(server.get(&path).status >= 400);
    }
    server.post(&json!({"type": SECRET, "query": SECRET})).is_error(400, "invalid_request");
    raw(&server, format!("GET /{SECRET} HTTP/1.1\r\nAuthorization Bearer {key}\r\n\r\n").as_bytes());
    let id = server.request("GET", "/v1/me").key(&key).header("X-Request-Id", "the-last-one").send();
    assert_eq!(id.status, 200, "{id}");

    let log = server.log();
    assert!(log.contains("\"level\":\"debug\"") && log.contains("the-last-one"), "not at debug level");
    assert!(!log.contains(SECRET), "a query stands in the log");
    assert!(!log.contains(&key) && !log.contains("sl_live_"), "a key stands in the log");
    for value in values.iter().filter_map(|value| value.as_str()).filter(|value| value.len() > 6) {
        assert!(!log.contains(value), "the result {value:?} stands in the log");
    }
}

#[test]
fn other_origins_get_nothing_unless_they_are_configured() {
    let closed = Setup::new().start();
    let answer = closed.request("GET", "/v1/health").header("Origin", "https://app.example.org").send();
    assert_eq!(answer.header("access-control-allow-origin"), None);
    let open = Setup::new().flag("--cors-origin=https://app.example.org").start();
    let preflight = open
        .request("OPTIONS", "/v1/searches")
        .header("Origin", "https://app.example.org")
        .header("Access-Control-Request-Method", "POST")
        .send();
    assert_eq!(preflight.status, 204, "{preflight}");
    assert_eq!(preflight.header("access-control-allow-origin"), Some("https://app.example.org"));
    assert!(preflight.header("access-control-allow-methods").is_some_and(|methods| methods.contains("POST")));
    assert!(
        preflight
            .header("access-control-allow-headers")
            .is_some_and(|headers| headers.contains("Authorization"))
    );
    let other = open.request("GET", "/v1/health").header("Origin", "https://evil.example.org").send();
    assert_eq!(other.header("access-control-allow-origin"), None);
}
