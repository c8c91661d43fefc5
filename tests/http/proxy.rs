//! Behind a real nginx, with the configuration that `scripts/nginx.conf` recommends.

use std::io::Write as _;
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use super::kit::{Client, TestServer, get, post};
use crate::support::eventually;
use crate::support::folder::Folder;
use crate::support::nginx::{Nginx, NginxSetup};
use crate::support::server::Setup;
use crate::support::site::{Site, closed_port, ok, read_request};

fn through(nginx: &Nginx) -> Client {
    Client::over(nginx.connect())
}

#[test]
fn all_three_modes_work_under_tls() {
    let mut server = Setup::new().flag("--trusted-proxy=127.0.0.1").start();
    let nginx = NginxSetup::before(server.address).with_tls().start();
    let direct = server.get("/v1/me");
    server.ask_through(&nginx);
    assert_eq!(server.get("/v1/me").json()["user_id"], direct.json()["user_id"]);

    let polled = server.finished(&server.search("username", "everybody"));
    assert_eq!(polled["status"], "completed");

    let waited = server.post(&json!({"type": "domain", "query": "everybody.org", "wait": true}));
    assert_eq!((waited.status, &waited.json()["status"]), (200, &json!("completed")), "{waited}");

    let body = json!({"type": "username", "query": "everybody.else", "stream": true});
    let stream = server.post_stream(&body);
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    let run = stream.header("x-run-id").unwrap().to_owned();
    let events = stream.all();
    assert_eq!((events[0].event.as_str(), events.last().unwrap().event.as_str()), ("run", "done"));
    assert!(events.len() > 10);
    let attached = server.stream(&format!("/v1/searches/{run}/stream")).all();
    assert_eq!(attached.last(), events.last());

    let path = format!("/v1/searches/{run}");
    let packed = server.request("GET", &path).key(&server.key).header("Accept-Encoding", "gzip").send();
    assert_eq!((packed.status, packed.header("content-encoding")), (200, Some("gzip")), "{}", packed.status);
    let tag = packed.header("etag").unwrap();
    let again = server.request("GET", &path).key(&server.key).header("If-None-Match", tag).send();
    assert_eq!(again.status, 304, "{again}");
}

/// Streams of the tabs of one browser. Over HTTP/1.1 a browser opens six connections to a site, and a seventh tab would
/// wait.
#[test]
fn one_connection_of_http_2_carries_many_streams() {
    const TABS: usize = 20;
    let mut server = Setup::new().flag("--trusted-proxy=127.0.0.1").start();
    let run = server.search("username", "everybody");
    let nginx = NginxSetup::before(server.address).with_tls().start();
    server.ask_through(&nginx);
    let folder = Folder::new();
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--max-time", "300"])
        .args(["--insecure", "--http2", "--parallel"])
        .args(["--header", &format!("Authorization: Bearer {}", server.key)])
        .args(["--write-out", "%{http_version} %{num_connects}\n"]);
    let outputs: Vec<String> = (0..TABS).map(|tab| folder.path(&tab.to_string())).collect();
    for output in &outputs {
        let url = format!("https://localhost:{}/v1/searches/{run}/stream", nginx.address.port());
        curl.args(["--output", output, &url]);
    }
    let said = curl.output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let said = String::from_utf8(said.stdout).unwrap();
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [vec!["2 0"; TABS - 1], vec!["2 1"]].concat(),
        "transfers and the connections they opened"
    );
    for output in &outputs {
        let text = std::fs::read_to_string(output).unwrap();
        let last = text.trim_end().rsplit("\n\n").next().unwrap();
        assert!(text.starts_with("event: run\n") && last.starts_with("event: done\n"), "{last}");
    }
}

#[test]
fn frames_arrive_one_by_one_until_the_reader_disconnects() {
    let server = TestServer::new();
    let nginx = NginxSetup::before(server.address).start();
    let pieces = server.product.next_stream();
    let mut client = through(&nginx);
    client.send(get("/stream"));
    let head = client.head();
    assert_eq!((head.status, head.header("Transfer-Encoding")), (200, Some("chunked")));
    for number in 0..20 {
        // Each piece is sent after the one before has arrived: the proxy does not buffer.
        let piece = format!("event: result\ndata: {number}\n\n").into_bytes();
        pieces.send(piece.clone()).unwrap();
        assert_eq!(client.piece().unwrap(), piece);
    }
    drop(client);
    eventually("the stream ends", || {
        let _ = pieces.send(b"anyone?".to_vec());
        *server.product.stream_ends.lock().unwrap() == [false]
    });
}

#[test]
fn connections_to_the_server_are_kept() {
    let server =
        Site::talking(
            |stream| while read_request(stream).is_some() && stream.write_all(&ok("yes")).is_ok() {},
        );
    let nginx = NginxSetup::before(server.addr).start();
    for _ in 0..30 {
        // Each client opens a new connection to nginx.
        let mut client = through(&nginx);
        for request in [get("/"), post("/body", 5000, &"x".repeat(5000))] {
            client.send(request);
            assert_eq!(client.answer().text(), "yes");
        }
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn requests_after_a_restart_behind_the_proxy_succeed() {
    let mut server = TestServer::new();
    let nginx = NginxSetup::before(server.address).start();
    let mut client = through(&nginx);
    // After a stream nginx closes its connection to the server, as the end of the server's process would.
    drop(server.product.next_stream());
    client.send(get("/stream"));
    assert_eq!(client.answer().status, 200);
    server.running.take().unwrap().shutdown(super::kit::LONG);
    client.send("GET /without HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\n\r\n");
    let without = client.answer();
    assert_eq!((without.status, without.header("Retry-After")), (503, Some("5")));
    assert_eq!(without.header("X-Request-Id"), Some("mine"));
    let body: serde_json::Value = serde_json::from_slice(&without.body).unwrap();
    assert_eq!((&body["error"], &body["detail"]["request_id"]), (&json!("unavailable"), &json!("mine")));
    let _again = TestServer::with(|config| config.listen = server.address);
    client.send(get("/after"));
    assert_eq!(client.answer().header("X-Path"), Some("/after"));
}

#[test]
fn a_request_id_is_passed_on_or_made() {
    let server = TestServer::new();
    let nginx = NginxSetup::before(server.address).start();
    let mut client = through(&nginx);
    let mut seen_with = |header: &str| {
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{header}\r\n"));
        client.answer().header("X-Seen-Request-Id").unwrap().to_owned()
    };
    assert_eq!(seen_with("X-Request-Id: my.id_1-2\r\n"), "my.id_1-2");
    for header in ["", "X-Request-Id: \"},\r\n", &format!("X-Request-Id: {}\r\n", "x".repeat(65))] {
        let made = seen_with(header);
        assert!(made.len() == 32 && made.bytes().all(|byte| byte.is_ascii_hexdigit()), "{header:?}: {made}");
    }
}

/// Requests that only a proxy stops, according to the manual. Others are in `every_error_of_the_proxy_…`.
#[test]
fn nginx_stops_the_requests_that_only_a_proxy_can_stop() {
    let server = TestServer::new();
    let nginx = NginxSetup::before(server.address)
        .with("client_header_timeout       10s", "client_header_timeout 4s")
        .start();
    for (what, sent, statuses) in [
        ("another version", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", &[505][..]),
        ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[400, 405, 505]),
        ("no request line", "NONSENSE\r\n\r\n", &[400]),
        ("no host", "GET / HTTP/1.1\r\n\r\n", &[400]),
        ("another scheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", &[400]),
        ("a byte outside ASCII", "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n", &[400]),
        ("another transfer coding", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", &[501]),
        ("a head that stops coming", "GET / HTTP/1.1\r\nHo", &[408, 0]),
    ] {
        let mut client = through(&nginx);
        client.try_send(sent);
        let said = String::from_utf8(client.until_closed()).unwrap();
        let status = said.get(9..12).map_or(0, |status| status.parse().unwrap());
        assert!(statuses.contains(&status), "{what}: {said}");
        let Some((head, body)) = said.split_once("\r\n\r\n") else { continue };
        assert!(head.contains("Content-Type: application/json\r\n"), "{what}: {said}");
        assert_eq!(head.contains("\r\nAllow: "), status == 405, "{what}: {said}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        let code = if status == 405 { "method_not_allowed" } else { "invalid_request" };
        assert_eq!((&body["error"], &body["detail"]["error"]), (&json!(code), &json!(code)), "{what}");
        assert_eq!(body["message"], body["detail"]["message"], "{what}");
        assert!(
            head.contains(&format!("\r\nX-Request-Id: {}", body["detail"]["request_id"].as_str().unwrap()))
        );
    }
    assert!(server.product.seen.lock().unwrap().is_empty());
    let mut client = through(&nginx);
    client.send(get("/sound"));
    assert_eq!(client.answer().status, 200);
}

/// Sightline itself reads no body that comes in chunks, and tiny_http takes the second line of a folded header for another
/// header.
#[test]
fn a_body_in_chunks_is_collected_and_a_folded_header_refused() {
    let server = TestServer::new();
    let nginx = NginxSetup::before(server.address).start();
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let mut client = through(&nginx);
    client.send(chunked);
    assert_eq!(client.answer().text(), "abc");
    assert_eq!(server.ask(chunked).status, 411);
    server.product.seen.lock().unwrap().clear();
    for blank in [" ", "\t"] {
        let mut client = through(&nginx);
        client
            .send(format!("GET / HTTP/1.1\r\nHost: a\r\nAccept: b\r\n{blank}X-Request-Id: smuggled\r\n\r\n"));
        assert_eq!(client.answer().status, 400);
    }
    assert!(server.product.seen.lock().unwrap().is_empty());
}

/// A list of 2 MiB takes longer than Sightline's limit over a slow line.
#[test]
fn a_slow_upload_is_collected_by_the_proxy() {
    let server = TestServer::with(|config| {
        (config.body_timeout, config.idle_timeout) = (Duration::from_secs(1), Duration::from_secs(2));
    });
    let nginx = NginxSetup::before(server.address).start();
    let (mut slow, mut direct) = (through(&nginx), server.connect());
    for client in [&mut slow, &mut direct] {
        client.send(post("/", 60_000, "x"));
    }
    // The limit has passed.
    assert_eq!(direct.answer().status, 408);
    slow.send("x".repeat(59_999));
    let answer = slow.answer();
    assert_eq!((answer.status, answer.body.len()), (200, 60_000));
}

#[test]
fn lists_of_two_mebibytes_and_conditional_requests_pass_the_proxy() {
    let mut server = Setup::new().flag("--trusted-proxy=127.0.0.1").start();
    let nginx = NginxSetup::before(server.address).start();
    server.ask_through(&nginx);
    let list = |bytes: usize| {
        let row = json!({"type": "username", "query": "everybody"});
        let mut list = json!({"searches": vec![row; 1000], "dry_run": true}).to_string();
        list.push_str(&" ".repeat(bytes - list.len()));
        list
    };
    let ask = |path: &str, bytes: usize| {
        let request =
            server.request("POST", path).key(&server.key).header("Content-Type", "application/json");
        request.body(list(bytes).as_bytes()).send()
    };
    for path in ["/v1/batches", "/v1/batches/", "/v1/%62atches"] {
        assert_eq!(ask(path, 2 << 20).status, 200, "{path}");
        let refused = ask(path, (2 << 20) + 1);
        assert_eq!(
            refused.is_error(413, "payload_too_large")["message"],
            "the body is larger than 2 MiB",
            "{path}"
        );
    }
    ask("/v1/searches", 100_000).is_error(413, "payload_too_large");

    let run = server.search("username", "everybody");
    server.finished(&run);
    let ask = |name: &str, value: &str| {
        server.request("GET", &format!("/v1/searches/{run}")).key(&server.key).header(name, value).send()
    };
    let full = ask("Accept", "application/json");
    assert_eq!(ask("If-Modified-Since", full.header("last-modified").unwrap()).status, 304);
    assert_eq!(ask("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT").status, 200);
}

/// The answers of nginx itself, over both versions, in the form of the API.
#[test]
fn every_error_of_the_proxy_is_json_over_http_2_too() {
    let server = Setup::new().start();
    let nginx = NginxSetup::before(server.address).with_tls().start();
    let without_server = NginxSetup::before(([127, 0, 0, 1], closed_port()).into()).with_tls().start();
    let folder = Folder::new();
    let large = folder.path("large");
    std::fs::write(&large, "x".repeat(3_000_000)).unwrap();
    let (file, long, header) = (format!("@{large}"), format!("/{}", "x".repeat(20_000)), "x".repeat(20_000));
    let headers = ["-H", &format!("Prefer: {header}"), "-H", &format!("Mcp-Name: {header}")];
    let body = "x".repeat(100_000);
    let [bad, key, away] = ["invalid_request", "invalid_api_key", "unavailable"];
    for (what, nginx, path, arguments, status, code) in [
        ("a byte in a header", &nginx, "/", &["-H", "Prefer: \u{e9}"][..], 400, bad),
        ("a byte in a header of MCP", &nginx, "/", &["-H", "Mcp-Name: \u{e9}"], 400, bad),
        ("a byte in a date", &nginx, "/", &["-H", "If-Modified-Since: \u{e9}"], 400, bad),
        ("a byte in a key", &nginx, "/", &["-H", "X-API-Key: \u{e9}"], 401, key),
        ("a byte in a token", &nginx, "/", &["-H", "Authorization: Bearer \u{e9}"], 401, key),
        ("a byte in the key of a post", &nginx, "/", &["-H", "X-API-Key: \u{e9}", "-d", "abc"], 401, key),
        ("a method", &nginx, "/", &["-X", "TRACE"], 405, "method_not_allowed"),
        ("a large body", &nginx, "/", &["--data-binary", &file], 413, "payload_too_large"),
        ("a large body of unknown length", &nginx, "/", &["-T", &large], 413, "payload_too_large"),
        ("a long address", &nginx, &long, &[], 414, bad),
        ("a long header", &nginx, "/", &headers, 431, bad),
        ("no server", &without_server, "/", &[], 503, away),
        ("no server for a post", &without_server, "/", &["-d", "abc"], 503, away),
        ("no server for a large post", &without_server, "/", &["--data-binary", &body], 503, away),
    ] {
        for version in ["--http1.1", "--http2"] {
            let said = Command::new("curl")
                .args("--silent --show-error --insecure --max-time 60 --path-as-is --include".split(' '))
                .args([version, "-H", "Expect:"])
                .args(arguments)
                .arg(format!("https://localhost:{}{path}", nginx.address.port()))
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&said.stdout).into_owned();
            let what = format!("{what}, {version}: {text} {}", String::from_utf8_lossy(&said.stderr));
            let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{what}"));
            assert_eq!(head.split(' ').nth(1), Some(status.to_string().as_str()), "{what}");
            let head = head.to_ascii_lowercase();
            assert!(head.contains("\r\ncontent-type: application/json"), "{what}");
            for (name, wanted) in [
                ("allow: get, head, post, patch, delete, options", 405),
                ("www-authenticate: bearer", 401),
                ("retry-after: 5", 503),
            ] {
                assert_eq!(head.contains(&format!("\r\n{name}")), status == wanted, "{what}");
            }
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!((&body["error"], &body["detail"]["error"]), (&json!(code), &json!(code)), "{what}");
        }
    }
}

/// An instance that shuts down answers 503 on the connections that nginx keeps open.
#[test]
fn another_instance_is_asked_after_a_503_where_the_request_may_be_repeated() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let leaving = listener.local_addr().unwrap();
    let refused = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&refused);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut client = Client::over(stream.unwrap());
            while !client.line().is_empty() {}
            count.fetch_add(1, Ordering::SeqCst);
            client.send(
                "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 7\r\nConnection: close\r\n\r\nleaving",
            );
        }
    });
    let server = TestServer::new();
    let nginx = NginxSetup::before_all(&[leaving, server.address]).start();
    let ask = |request: &str| {
        let mut client = through(&nginx);
        client.send(request);
        client.answer()
    };
    for round in 1..=3 {
        // nginx uses the instances in turn: of two requests each instance gets one.
        let statuses = [ask(&get("/")).status, ask(&get("/")).status];
        assert_eq!((statuses, refused.load(Ordering::SeqCst)), ([200, 200], round));
    }
    let mut posted = [ask(&post("/", 1, "x")), ask(&post("/", 1, "x"))];
    posted.sort_by_key(|answer| answer.status);
    assert_eq!((posted[0].status, posted[1].status, posted[1].text()), (200, 503, "leaving"));
}

/// tiny_http closes the connection on such a byte without an answer.
#[test]
fn bytes_outside_ascii_are_refused_or_removed() {
    let server = Setup::new().start();
    let nginx = NginxSetup::before(server.address).start();
    let status = |request: &[u8]| {
        let mut client = through(&nginx);
        client.send(request);
        client.answer().status
    };
    assert_eq!(status("GET /v1/health HTTP/1.1\r\nHost: a\r\nUser-Agent: caf\u{e9}\r\n\r\n".as_bytes()), 200);
    assert_eq!(status("GET /v1/searches?cursor=\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n".as_bytes()), 400);
    let with =
        |header: &str| status(format!("GET /v1/health HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n").as_bytes());
    // nginx passes the web app's cookies on and drops others, so that the page sets no new one.
    let own = format!("sightline-form={}", "A".repeat(43));
    for (cookies, is_kept) in
        [("other=caf\u{e9}".to_owned(), false), (format!("other=caf\u{e9}; {own}; b=c"), true)]
    {
        let mut client = through(&nginx);
        client.send(format!("GET /app/sign-in HTTP/1.1\r\nHost: a\r\nCookie: {cookies}\r\n\r\n").as_bytes());
        let answer = client.answer();
        let set = answer.header("set-cookie").unwrap();
        assert_eq!((answer.status, set.starts_with(&own)), (200, is_kept), "{cookies}: {set}");
    }
    // The page that shows a new key or secret reads it from a cookie.
    for made in ["sightline-made=sl_live_abc", "sightline-made=whsec_a+b/c="] {
        let echo = TestServer::new();
        let nginx = NginxSetup::before(echo.address).start();
        let mut client = through(&nginx);
        client.send(
            format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: other=caf\u{e9}; {made}; b=\u{e9}\r\n\r\n")
                .as_bytes(),
        );
        let answer = client.answer();
        assert!(answer.header("X-Seen-Cookie").is_some_and(|seen| seen.contains(made)), "{made}: {answer:?}");
    }
    assert_eq!(status("GET / HTTP/1.1\r\nHost: caf\u{e9}\r\n\r\n".as_bytes()), 400);
    for (name, refusal) in
        [("Authorization", 401), ("X-API-Key", 401), ("Idempotency-Key", 400), ("Origin", 400)]
    {
        assert_eq!(with(&format!("{name}: caf\u{e9}")), refusal, "{name}");
        assert_eq!(with(&format!("{name}: a\tb ~!")), 200, "{name}");
    }
    // nginx does not pass on headers that Sightline does not read.
    for name in ["From", "Accept-Language", "Referer", "X-Other"] {
        assert_eq!(with(&format!("{name}: caf\u{e9}")), 200, "{name}");
    }
    assert_eq!(status(b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
}
