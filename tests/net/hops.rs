//! Methods, bodies, headers, cookies and redirects.

use std::io::Write;
use std::time::Instant;

use sightline::modules::definition::Method;
use sightline::modules::probe::{CookieJar, ProbeError, Prober, Request};
use sightline::modules::reason::Reason;

use super::{get, lab, prober, send};
use crate::support::server::PATIENCE;
use crate::support::site::{Site, ok, to, with_headers};

#[test]
fn defaults_are_sent_and_a_module_may_replace_them() {
    let site = Site::saying(ok("yes"));
    let prober = prober(|config| config.user_agent = "Lab/1 (test)".parse().unwrap());
    let answer = send(&prober, &get(&site.url("/a%20b?c=d#frag"))).unwrap();
    assert_eq!((answer.status, answer.body.as_slice(), answer.truncated), (200, &b"yes"[..], false));
    assert_eq!(answer.header("content-length"), Some("3"));
    let own = [
        ("User-Agent", "Own/2"),
        ("accept", "application/json"),
        ("Accept-Language", "de"),
        ("Accept-Encoding", "identity"),
        ("X-Custom", "1"),
        // A module cannot set these.
        ("Host", "evil.example"),
        ("Content-Length", "999"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "upgrade"),
    ];
    let headers = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    send(&prober, &Request { headers, ..get(&site.url("/")) }).unwrap();

    let [first, second] = &site.received()[..] else { panic!("two requests") };
    assert_eq!(first.line(), "GET /a%20b?c=d HTTP/1.1");
    assert_eq!(first.header("host"), Some(site.addr.to_string()));
    assert_eq!(first.header("user-agent").as_deref(), Some("Lab/1 (test)"));
    assert_eq!(first.header("accept-language").as_deref(), Some("en-US,en;q=0.9"));
    assert!(first.header("accept").unwrap().contains("text/html"));
    assert_eq!(first.header("accept-encoding").as_deref(), Some("gzip"));
    for (name, value) in &own[..5] {
        assert_eq!(second.header(name).as_deref(), Some(*value));
    }
    assert_eq!(second.header("host"), Some(site.addr.to_string()));
    assert_eq!((second.header("content-length"), second.header("transfer-encoding")), (None, None));
}

#[test]
fn a_header_that_would_split_the_request_is_refused() {
    let site = Site::saying(ok(""));
    for (name, value) in [("X-A", "b\r\nX-Evil: 1"), ("X A", "b"), ("", "b"), ("X-A", "b\0")] {
        let request = Request { headers: vec![(name.into(), value.into())], ..get(&site.url("/")) };
        assert!(
            matches!(send(&lab(), &request), Err(ProbeError { reason: Reason::Protocol, .. })),
            "{name:?}: {value:?}"
        );
    }
    assert_eq!(site.connections(), 0);
}

#[test]
fn bodies_are_sent_with_their_type_and_length() {
    let site = Site::saying(ok(""));
    let form = Some(("application/x-www-form-urlencoded".to_owned(), b"a=1&b=%26".to_vec()));
    let json = Some(("application/json".to_owned(), vec![b'x'; 100_000]));
    for (method, body) in
        [(Method::Post, form.clone()), (Method::Put, json), (Method::Get, form), (Method::Post, None)]
    {
        send(&lab(), &Request { method, body: body.clone(), ..get(&site.url("/")) }).unwrap();
        let received = site.received().pop().unwrap();
        let (kind, bytes) = body.map_or((None, Vec::new()), |(kind, bytes)| (Some(kind), bytes));
        assert!(received.line().starts_with(method.as_str()));
        assert_eq!((received.header("content-type"), received.body.len()), (kind, bytes.len()));
        assert_eq!(received.header("content-length"), Some(bytes.len().to_string()));
        assert!(received.body == bytes);
    }
}

#[test]
fn head_has_no_body() {
    let site = Site::saying("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nX-There: yes\r\n\r\n");
    let answer = send(&lab(), &Request { method: Method::Head, ..get(&site.url("/")) }).unwrap();
    assert_eq!((answer.status, answer.body.len(), answer.truncated), (200, 0, false));
    assert_eq!(answer.header("x-there"), Some("yes"));
}

#[test]
fn a_redirect_is_returned_unless_it_is_to_be_followed() {
    let site = Site::start(|stream, request| {
        let answer = match request.path() {
            "/a/start" => to(301, "next?x=1"),
            "/a/next?x=1" => to(307, "//LOCALHOST:PORT/end"),
            "/none" => b"HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nhi".to_vec(),
            _ => ok("end"),
        };
        let port = stream.local_addr().unwrap().port().to_string();
        let answer = String::from_utf8(answer).unwrap().replace("PORT", &port);
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let answer = send(&lab(), &get(&site.url("/a/start"))).unwrap();
    assert_eq!(
        (answer.status, answer.header("location"), answer.body.as_slice()),
        (301, Some("next?x=1"), &b"gone"[..])
    );
    assert_eq!(answer.final_url.as_str(), site.url("/a/start"));

    let answer = send(&lab(), &Request { max_redirects: 2, ..get(&site.url("/a/start")) }).unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (200, &b"end"[..]));
    assert_eq!(answer.final_url.as_str(), format!("http://localhost:{}/end", site.addr.port()));

    let error = send(&lab(), &Request { max_redirects: 1, ..get(&site.url("/a/start")) }).unwrap_err();
    assert_eq!(error, Reason::Redirect.because("more than 1 redirects"));

    let answer = send(&lab(), &Request { max_redirects: 5, ..get(&site.url("/none")) }).unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (302, &b"hi"[..]));
}

#[test]
fn a_redirect_leads_to_exactly_the_bytes_of_its_address() {
    for (location, path) in [
        (&b"/\xc9t\xe9?p=\xe9#\xe9"[..], "/%C9t%E9?p=%E9"),
        (b"/\x83G\x83~", "/%83G%83~"),
        ("/Été".as_bytes(), "/%C3%89t%C3%A9"),
        (b"/%C9t%E9", "/%C9t%E9"),
        (b"/a\tb\x01 c", "/ab%01%20c"),
        (b"//LOC%41LHOST:PORT/\xe9", "/%E9"),
    ] {
        let location = location.to_vec();
        let site = Site::start(move |stream, request| {
            let port = stream.local_addr().unwrap().port().to_string();
            let at = location.windows(4).position(|four| four == b"PORT");
            let location = match at {
                Some(at) => [&location[..at], port.as_bytes(), &location[at + 4..]].concat(),
                None => location.clone(),
            };
            let answer = match request.path() {
                "/" => [b"HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: ", &location[..], b"\r\n\r\n"]
                    .concat(),
                _ => ok("end"),
            };
            stream.write_all(&answer).unwrap();
        });
        let answer = send(&lab(), &Request { max_redirects: 1, ..get(&site.url("/")) }).unwrap();
        assert_eq!((answer.body.as_slice(), site.received()[1].path()), (&b"end"[..], path));
    }
}

#[test]
fn the_last_cookie_of_a_name_counts() {
    let many: String = (0..60).map(|n| format!("Set-Cookie: n{n}={n}\r\n")).collect();
    let kept: Vec<String> = [10].into_iter().chain(12..60).map(|n| format!("n{n}={n}")).collect();
    for (headers, sent) in [
        ("Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nSet-Cookie: a=3\r\n".to_owned(), Some("b=2; a=3".to_owned())),
        ("Set-Cookie: a=1\r\nSet-Cookie: a=; Max-Age=0\r\n".to_owned(), None),
        ("Set-Cookie: a=1\r\nSet-Cookie: a=x; expires=Thu, 01-Jan-1970 00:00:00 GMT\r\n".to_owned(), None),
        (
            "Set-Cookie: a=1\r\nSet-Cookie: a=x; max-age=-1; expires=Thu, 01 Jan 2990 00:00:00 GMT\r\n"
                .to_owned(),
            None,
        ),
        (
            "Set-Cookie: a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60\r\n".to_owned(),
            Some("a=1".to_owned()),
        ),
        ("Set-Cookie: a=1; Expires=soon\r\n".to_owned(), Some("a=1".to_owned())),
        // A full jar takes new cookies and new values of old ones.
        (many + "Set-Cookie: n11=x\r\nSet-Cookie: n11=y\r\n", Some(kept.join("; ") + "; n11=y")),
    ] {
        let answer = with_headers(&headers, b"");
        let site = Site::saying(answer);
        let mut jar = CookieJar::default();
        for _ in 0..2 {
            lab().send(&get(&site.url("/")), &mut jar, Instant::now() + PATIENCE).unwrap();
        }
        assert_eq!(site.received()[1].header("cookie"), sent, "{headers}");
    }
}

#[test]
fn loops_end_and_other_schemes_are_refused() {
    let site = Site::by_path(|path| match path {
        "/to/file" => to(302, "file:///etc/passwd"),
        "/to/script" => to(302, "javascript:alert(1)"),
        "/to/junk" => to(302, "http://[not an address/"),
        _ => to(302, "/loop"),
    });
    for path in ["/to/file", "/to/script", "/to/junk"] {
        let error = send(&lab(), &Request { max_redirects: 5, ..get(&site.url(path)) }).unwrap_err();
        assert!(matches!(error, ProbeError { reason: Reason::Redirect, .. }), "{path}: {error:?}");
    }
    let before = site.connections();
    let error = send(&lab(), &Request { max_redirects: 20, ..get(&site.url("/loop")) }).unwrap_err();
    assert_eq!(error, Reason::Redirect.because("more than 20 redirects"));
    assert_eq!(site.connections() - before, 21);
}

#[test]
fn a_post_becomes_a_get_or_is_sent_again() {
    let site = Site::by_path(|path| match path {
        "/see" => to(303, "/end"),
        "/again" => to(308, "/end"),
        _ => ok(""),
    });
    for (path, line, body) in [("/see", "GET /end HTTP/1.1", ""), ("/again", "POST /end HTTP/1.1", "{}")] {
        let body_sent = Some(("application/json".to_owned(), b"{}".to_vec()));
        let request =
            Request { method: Method::Post, body: body_sent, max_redirects: 1, ..get(&site.url(path)) };
        send(&lab(), &request).unwrap();
        let last = site.received().pop().unwrap();
        assert_eq!((last.line(), last.body.as_slice()), (line, body.as_bytes()));
        assert_eq!(last.header("content-type").is_some(), !body.is_empty());
    }
}

#[test]
fn cookies_and_credentials_are_sent_only_to_their_own_host() {
    let site = Site::start(|stream, request| {
        let port = stream.local_addr().unwrap().port();
        let answer = match request.path() {
            "/start" => "HTTP/1.1 302 F\r\nSet-Cookie: sid=1; Path=/; HttpOnly\r\nSet-Cookie: b=2\r\nLocation: /same\r\nContent-Length: 0\r\n\r\n".into(),
            "/same" => to(302, &format!("http://localhost:{port}/other")),
            "/other" => to(302, &format!("http://127.0.0.1:{port}/back")),
            _ => ok("end"),
        };
        stream.write_all(&answer).unwrap();
    });
    let headers = [
        ("Cookie", "own=0"),
        ("Authorization", "Bearer x"),
        ("X-Api-Key", "k"),
        ("X-Csrf-Token", "t"),
        ("X-Plain", "p"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let request = Request { headers: headers.to_vec(), max_redirects: 5, ..get(&site.url("/start")) };
    let mut jar = CookieJar::default();
    let prober = lab();
    let deadline = || Instant::now() + PATIENCE;
    prober.send(&request, &mut jar, deadline()).unwrap();
    // A later probe of the same check has the cookies; another check has none.
    prober.send(&get(&site.url("/later")), &mut jar, deadline()).unwrap();
    send(&prober, &get(&site.url("/fresh"))).unwrap();

    let seen: Vec<_> = site
        .received()
        .iter()
        .map(|r| {
            (
                r.path().to_owned(),
                r.header("cookie"),
                ["authorization", "x-api-key", "x-csrf-token"].map(|name| r.header(name).is_some()),
                r.header("x-plain").is_some(),
            )
        })
        .collect();
    let row = |path: &str, cookie: Option<&str>, auth, plain| {
        (path.to_owned(), cookie.map(str::to_owned), [auth; 3], plain)
    };
    assert_eq!(
        seen,
        [
            row("/start", Some("own=0"), true, true),
            row("/same", Some("own=0; sid=1; b=2"), true, true),
            row("/other", None, false, true),
            row("/back", Some("sid=1; b=2"), false, true),
            row("/later", Some("sid=1; b=2"), false, false),
            row("/fresh", None, false, false),
        ]
    );
}
