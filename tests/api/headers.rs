//! The headers of every answer: request ids, the sandbox's mark, authentication in its two forms, CORS.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use crate::support::server::{PATIENCE, Server, Setup};

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
fn what_is_no_request_gets_an_answer_of_the_api_or_a_bare_one() {
    let server = Setup::new().start();
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
