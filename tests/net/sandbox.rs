//! Sandbox mode: all requests go to one address, with additional headers.

use std::io::Write;

use sightline::modules::probe::{Request, Trace};
use sightline::net::{HttpProber, NetConfig};

use super::{get, send};
use crate::support::site::{Site, ok, to};

#[test]
fn all_requests_go_to_the_sandbox_with_its_headers() {
    let site = Site::start(|stream, request| {
        let answer = match request.path() {
            "/u/x?y=%26" => to(302, "https://other.example:8443/profile"),
            _ => ok("played"),
        };
        stream.write_all(&answer).unwrap();
    });
    // Neither the guard nor the proxy is used.
    let config = NetConfig {
        sandbox: Some(site.addr),
        outbound_proxy: Some("http://10.0.0.1:1".into()),
        ..NetConfig::default()
    };
    let prober = HttpProber::new(config).unwrap();
    let request = Request {
        max_redirects: 3,
        headers: vec![
            ("X-Sightline-Module".into(), "forged".into()),
            ("X-Sightline-Other".into(), "forged".into()),
        ],
        ..get("https://www.example.com/u/x?y=%26#z")
    };
    let answer = send(&prober, &request).unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (200, &b"played"[..]));
    assert_eq!(answer.final_url.as_str(), "https://other.example:8443/profile");

    let [first, second] = &site.received()[..] else { panic!("two requests") };
    assert_eq!(first.line(), "GET /u/x?y=%26 HTTP/1.1");
    for (received, host, hop, url) in [
        (first, "www.example.com", "0", "https://www.example.com/u/x?y=%26"),
        (second, "other.example:8443", "1", "https://other.example:8443/profile"),
    ] {
        for (name, value) in [
            ("host", host),
            ("x-sightline-module", "site"),
            ("x-sightline-probe", "1"),
            ("x-sightline-query", "some%20one%2F%C3%A9"),
            ("x-sightline-hop", hop),
            ("x-sightline-url", url),
        ] {
            assert_eq!(received.header(name).as_deref(), Some(value), "{name}");
        }
        assert_eq!(
            (received.header("x-sightline-control"), received.header("x-sightline-other")),
            (None, None)
        );
    }
}

#[test]
fn a_control_probe_is_marked() {
    let site = Site::saying(ok(""));
    let prober = HttpProber::new(NetConfig { sandbox: Some(site.addr), ..NetConfig::default() }).unwrap();
    for url in ["http://127.0.0.1:1/", "https://no-such-host.invalid/", "http://[::1]/"] {
        let trace = Trace { control: true, ..get(url).trace };
        let answer = send(&prober, &Request { trace, ..get(url) }).unwrap();
        assert_eq!(answer.final_url.as_str(), url);
        assert_eq!(site.received().pop().unwrap().header("x-sightline-control").as_deref(), Some("1"));
    }
}
