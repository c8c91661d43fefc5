//! Plain requests and answers, of the server with a handler of the tests and of the real service.

use super::kit::{Client, TestServer, get, pattern, post};
use crate::support::server::Setup;

#[test]
fn requests_on_one_connection_are_answered_in_order_each_in_its_form() {
    let server = TestServer::new();
    let mut client = server.connect();
    client.send((0..16).map(|number| get(&format!("/{number}"))).collect::<String>());
    for number in 0..16 {
        assert_eq!(client.answer().header("X-Path"), Some(format!("/{number}").as_str()));
    }
    client.send(get("/x?y=1&z"));
    assert_eq!(client.line(), "HTTP/1.1 200 OK");
    while !client.line().is_empty() {}
    client.send(get("/x?y=1&z"));
    let answer = client.answer();
    let seen =
        ["X-Path", "X-Query", "X-Client", "Content-Length", "Connection"].map(|name| answer.header(name));
    assert_eq!(seen, [Some("/x"), Some("y=1&z"), Some("127.0.0.1"), Some("0"), None]);
    httpdate::parse_http_date(answer.header("Date").unwrap()).unwrap();
    client.send("HEAD /big?5000 HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.head();
    assert_eq!((head.status, head.header("Content-Length")), (200, Some("5000")));
    client.send(get("/none"));
    let none = client.head();
    assert_eq!((none.status, none.header("Content-Length")), (204, None));
    // HTTP/1.0 closes unless it is asked to stay.
    client.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(client.answer().header("Connection"), Some("keep-alive"));
    client.send("GET /b HTTP/1.0\r\n\r\n");
    let answer = client.answer();
    assert_eq!((answer.header("X-Path"), answer.header("Connection")), (Some("/b"), Some("close")));
    assert_eq!(client.until_closed(), b"");
}

#[test]
fn connection_close_is_honoured() {
    let server = TestServer::closing();
    for headers in ["Connection: close", "Connection: x\r\nConnection: close", "Connection: x, Close"] {
        let mut client = server.connect();
        client.send(format!("GET /a HTTP/1.1\r\nHost: a\r\n{headers}\r\n\r\n"));
        let answer = client.answer();
        assert_eq!((answer.status, answer.header("Connection")), (200, Some("close")), "{headers}");
        assert_eq!(client.until_closed(), b"", "{headers}");
    }
}

#[test]
fn large_bodies_and_answers_arrive_whole() {
    let server = TestServer::new();
    let mut client = server.connect();
    for size in [0, 1, 1023, 1024, 1025, 65_536, 65_537, 3_000_000] {
        client.send(get(&format!("/big?{size}")));
        assert!(client.answer().body == pattern(size), "{size}");
        if size <= 65_536 {
            client.send(post("/", size as u64, std::str::from_utf8(&pattern(size)).unwrap()));
            assert!(client.answer().body == pattern(size), "{size}");
        }
    }
}

#[test]
fn a_body_waits_for_100_continue() {
    let server = TestServer::new();
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.head().status, 100);
    client.send("abcd");
    assert_eq!(client.answer().body, b"abcd");
    client.send(get("/next"));
    assert_eq!(client.answer().header("X-Path"), Some("/next"));
}

#[test]
fn a_panic_is_a_500_and_the_next_request_is_fine() {
    let server = TestServer::with(|config| config.request_workers = 1);
    let mut client = server.connect();
    for path in ["/panic", "/later-panic", "/panic"] {
        client.send(get(path));
        let answer = client.answer();
        let cause = "Internal(\"the handler panicked: on purpose\") GET";
        assert_eq!((answer.status, answer.text()), (500, cause), "{path}");
    }
    client.send(get("/panic-twice"));
    let answer = client.answer();
    assert_eq!((answer.status, answer.text()), (500, ""), "without a handler");
    client.send(get("/next"));
    assert_eq!(client.answer().status, 200);
}

#[test]
fn only_a_trusted_proxy_names_the_client() {
    let asked = "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6, 203.0.113.9\r\n\r\n";
    assert_eq!(TestServer::new().ask(asked).header("X-Client"), Some("127.0.0.1"));
    let trusting = TestServer::with(|config| config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()]);
    assert_eq!(trusting.ask(asked).header("X-Client"), Some("203.0.113.9"));
}

#[test]
fn an_ipv6_address_is_served_like_another() {
    let server = TestServer::with(|config| config.listen = "[::]:0".parse().unwrap());
    let mut old = Client::connect(([127, 0, 0, 1], server.address.port()).into());
    old.send(get("/"));
    assert_eq!(old.answer().header("X-Client"), Some("127.0.0.1"));
}

#[test]
fn targets_methods_and_versions_are_interpreted_as_http_defines() {
    let server = Setup::new().start();
    let plain = server.request("GET", "/v1/health").send();
    assert_eq!(plain.status, 200);
    for (request_line, host, status) in [
        ("GET /v1/health/ HTTP/1.1", true, 200),
        ("GET /v1/health?a=b&c HTTP/1.1", true, 200),
        ("GET http://example.org/v1/health HTTP/1.1", true, 200),
        ("GET HTTPS://example.org:443/v1/health HTTP/1.1", true, 200),
        ("GET /v1/%68ealth HTTP/1.1", true, 200),
        ("GET /%761/health HTTP/1.1", true, 200),
        ("GET /v1%2Fhealth HTTP/1.1", true, 404),
        ("GET /v1/health%20 HTTP/1.1", true, 404),
        ("GET /v1/health/./ HTTP/1.1", true, 404),
        ("GET /v1/../v1/health HTTP/1.1", true, 404),
        ("GET //v1/health HTTP/1.1", true, 404),
        ("GET /v1/health// HTTP/1.1", true, 404),
        ("GET /V1/health HTTP/1.1", true, 404),
        ("GET /v1/health%00 HTTP/1.1", true, 404),
        ("GET /v1/%ff HTTP/1.1", true, 404),
        ("GET / HTTP/1.1", true, 200),
        ("GET http://example.org HTTP/1.1", true, 200),
        ("GET /v1/health HTTP/1.0", false, 200),
        ("GET /v1/health HTTP/1.0", true, 200),
        ("GET /v1/health HTTP/1.1", false, 400),
        ("get /v1/health HTTP/1.1", true, 405),
        ("DELETE /v1/health HTTP/1.1", true, 405),
        ("TRACE /v1/health HTTP/1.1", true, 405),
        ("OPTIONS /v1/health HTTP/1.1", true, 204),
        ("OPTIONS /v1/nothing HTTP/1.1", true, 404),
        ("OPTIONS /v1/searches/ HTTP/1.1", true, 204),
        ("CONNECT example.org:443 HTTP/1.1", true, 400),
    ] {
        let mut client = Client::connect(server.address);
        client.send(format!("{request_line}\r\n{}\r\n", if host { "Host: example.org\r\n" } else { "" }));
        let answer = client.answer();
        assert_eq!(answer.status, status, "{request_line}");
        httpdate::parse_http_date(answer.header("Date").unwrap()).unwrap();
        let allow = match (status, request_line.contains("searches")) {
            (204 | 405, true) => Some("POST, GET, HEAD, OPTIONS"),
            (204 | 405, false) => Some("GET, HEAD, OPTIONS"),
            _ => None,
        };
        assert_eq!(answer.header("Allow"), allow, "{request_line}");
        if request_line.ends_with("1.0") {
            assert_eq!(client.until_closed(), b"", "{request_line}");
        }
        if request_line.ends_with("1.0") || status == 400 {
            assert_eq!(answer.header("Connection"), Some("close"), "{request_line}");
        } else {
            assert_eq!(answer.header("Connection"), None, "{request_line}");
        }
    }
}
