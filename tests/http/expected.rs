//! HTTP behaviour that clients expect, tested on the real service.

use super::kit::Client;
use crate::support::server::Setup;

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

#[test]
fn head_has_the_headers_of_get() {
    let server = Setup::new().start();
    let run = server.search("username", "everybody");
    server.finished(&run);
    for path in [
        "/v1/health",
        "/v1/capabilities",
        "/v1/me",
        "/v1/modules",
        "/v1/searches",
        &format!("/v1/searches/{run}"),
        "/v1/nothing",
    ] {
        let (get, head) = (server.get(path), server.request("HEAD", path).key(&server.key).send());
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        assert!(!get.body.is_empty(), "{path}");
        assert_eq!(head.header("content-length"), Some(get.body.len().to_string().as_str()), "{path}");
        for name in ["content-type", "etag", "last-modified", "vary", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{name} of {path}");
        }
    }
}

#[test]
fn pipelined_searches_on_one_connection_are_answered_in_order() {
    let server = Setup::new().start();
    let mut client = Client::connect(server.address);
    let body = r#"{"type":"username","query":"everybody","modules":["github"],"wait":true}"#;
    let request = |number: usize| {
        format!(
            "POST /v1/searches HTTP/1.1\r\nHost: a\r\nX-API-Key: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nX-Request-Id: number-{number}\r\n\r\n{body}",
            server.key,
            body.len()
        )
    };
    client.send((0..3).map(request).collect::<String>());
    for number in 0..3 {
        let answer = client.answer();
        assert_eq!((answer.status, answer.header("Connection")), (200, None), "{}", answer.text());
        assert_eq!(answer.header("X-Request-Id"), Some(&*format!("number-{number}")));
    }
}
