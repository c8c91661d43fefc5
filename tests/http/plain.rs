//! Plain requests and answers.

use std::net::Shutdown;

use super::kit::{Client, TestServer, get, pattern, post};

#[test]
fn a_request_is_answered_with_length_and_date() {
    let server = TestServer::new();
    let answer = server.ask(&get("/x?y=1&z"));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("X-Path"), Some("/x"));
    assert_eq!(answer.header("X-Query"), Some("y=1&z"));
    assert_eq!(answer.header("X-Client"), Some("127.0.0.1"));
    assert_eq!(answer.header("Content-Length"), Some("0"));
    assert_eq!(answer.header("Connection"), None);
    httpdate::parse_http_date(answer.header("Date").unwrap()).unwrap();
    let mut client = server.connect();
    client.send(get("/"));
    assert_eq!(client.line(), "HTTP/1.1 200 OK");
}

#[test]
fn a_connection_serves_many_requests_in_order() {
    let server = TestServer::new();
    let mut client = server.connect();
    for number in 0..50 {
        client.send(post(&format!("/{number}"), 3, "abc"));
        let answer = client.answer();
        assert_eq!(answer.header("X-Path"), Some(format!("/{number}").as_str()));
        assert_eq!(answer.body, b"abc");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = TestServer::new();
    let mut client = server.connect();
    let all: String = (0..16).map(|number| get(&format!("/{number}"))).collect();
    client.send(all);
    for number in 0..16 {
        assert_eq!(client.answer().header("X-Path"), Some(format!("/{number}").as_str()));
    }
}

#[test]
fn head_has_the_length_and_no_body() {
    let server = TestServer::new();
    let mut client = server.connect();
    client.send("HEAD /big?5000 HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.head();
    assert_eq!((head.status, head.header("Content-Length")), (200, Some("5000")));
    client.send(get("/next"));
    assert_eq!(client.answer().header("X-Path"), Some("/next"));
}

#[test]
fn no_content_has_neither_body_nor_length() {
    let server = TestServer::new();
    let mut client = server.connect();
    client.send(get("/none"));
    let none = client.head();
    assert_eq!((none.status, none.header("Content-Length")), (204, None));
    client.send(get("/next"));
    assert_eq!(client.answer().status, 200);
}

#[test]
fn http_1_0_closes_unless_asked_to_stay() {
    let server = TestServer::new();
    let mut client = server.connect();
    client.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let answer = client.answer();
    assert_eq!((answer.status, answer.header("Connection")), (200, Some("keep-alive")));
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
fn a_client_that_has_ended_its_direction_still_gets_its_answer() {
    let server = TestServer::new();
    let mut client = server.connect();
    client.send(get("/big?20000"));
    client.stream().shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.answer().body, pattern(20_000));
}

#[test]
fn large_answers_arrive_whole() {
    let server = TestServer::new();
    let mut client = server.connect();
    for size in [1023, 1024, 65_536, 65_537, 3_000_000] {
        client.send(get(&format!("/big?{size}")));
        assert!(client.answer().body == pattern(size), "{size}");
    }
}

#[test]
fn paths_are_decoded_and_absolute_targets_taken() {
    let server = TestServer::new();
    for (target, path, query) in [
        // The server for tests escapes paths in its header.
        ("/a%20b/%C3%A4?x=%41&y", "/a b/\\u{e4}", "x=%41&y"),
        ("/%ff", "/\\u{fffd}", ""),
        ("/%00", "/\\u{0}", ""),
        ("/a%0ab", "/a\\nb", ""),
        ("/a?b?c", "/a", "b?c"),
        ("//x", "//x", ""),
        ("http://example.com/p?q", "/p", "q"),
        ("http://example.com", "/", ""),
        ("HTTPS://example.com:443?q=1", "/", "q=1"),
        ("http://[::1]:80/a?b", "/a", "b"),
        ("/%41/", "/A/", ""),
    ] {
        let answer = server.ask(&get(target));
        assert_eq!(
            (answer.header("X-Path"), answer.header("X-Query")),
            (Some(path), Some(query)),
            "{target}"
        );
    }
    let options = server.ask("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((options.header("X-Method"), options.header("X-Path")), (Some("OPTIONS"), Some("*")));
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
fn bodies_come_inline_and_large() {
    let server = TestServer::new();
    let mut client = server.connect();
    for size in [0usize, 1, 1024, 1025, 65_536] {
        let body = String::from_utf8(pattern(size)).unwrap();
        client.send(post("/", size as u64, &body));
        assert!(client.answer().body == body.as_bytes(), "{size}");
    }
}

#[test]
fn a_panic_is_a_500_and_the_next_request_is_fine() {
    let server = TestServer::with(|config| config.request_workers = 1);
    let mut client = server.connect();
    for path in ["/panic", "/later-panic", "/panic"] {
        client.send(get(path));
        let answer = client.answer();
        assert_eq!((answer.status, answer.text()), (500, "Internal GET"), "{path}");
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
fn a_socket_that_was_opened_elsewhere_is_served() {
    use sightline::http::{Server, ServerConfig};
    use std::sync::Arc;

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::from_listener(listener, &ServerConfig::default()).unwrap();
    let address = server.local_addr();
    let _server = server.start(Arc::new(super::kit::TestHandler(Arc::default()))).unwrap();
    let mut client = Client::connect(address);
    client.send(get("/"));
    assert_eq!(client.answer().status, 200);
}
