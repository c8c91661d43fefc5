//! No request goes to an address that is not public, however the address is written.

use std::io::Write;

use sightline::modules::probe::{ProbeError, Request};
use sightline::modules::reason::Reason;
use sightline::net::{HttpProber, NetConfig};

use super::{get, lab, send, through};
use crate::support::site::{Site, ok, read_request, to};

/// Spellings of addresses that are not public.
pub(crate) const FORBIDDEN: [&str; 22] = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "017700000001",
    "127.0.0.1.",
    "%31%32%37.0.0.1",
    "１２７.0.0.1",
    "0.0.0.0",
    "0",
    "localhost",
    "LOCALHOST.",
    "10.0.0.1",
    "169.254.169.254",
    "192.168.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[fd00:ec2::254]",
];

#[test]
fn a_forbidden_address_is_not_connected_to_in_any_spelling() {
    let site = Site::saying(ok("secret"));
    let prober = HttpProber::new(NetConfig::default());
    for host in FORBIDDEN {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}:{}/", site.addr.port());
            assert_eq!(send(&prober, &get(&url)).unwrap_err(), ProbeError::forbidden(), "{url}");
        }
    }
    assert_eq!(site.connections(), 0);
    // The same spellings reach the site if private addresses are allowed.
    for host in ["127.1", "2130706433", "localhost", "[::ffff:127.0.0.1]"] {
        let url = format!("http://{host}:{}/", site.addr.port());
        assert_eq!(send(&lab(), &get(&url)).unwrap().body, b"secret", "{url}");
    }
}

/// The first hop goes to a public address, for which a proxy on loopback answers. The proxy must not see the second hop.
#[test]
fn a_redirect_to_a_forbidden_address_is_not_followed() {
    let secret = Site::saying(ok("secret"));
    for host in FORBIDDEN {
        let location = format!("http://{host}:{}/", secret.addr.port());
        let answer = to(302, &location);
        let proxy = Site::start(move |stream, connect| {
            assert_eq!(connect.line(), "CONNECT 1.2.3.4:80 HTTP/1.1");
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            read_request(stream).unwrap();
            stream.write_all(&answer).unwrap();
        });
        let prober = through(&proxy.url(""), false);
        let request = Request { max_redirects: 5, ..get("http://1.2.3.4/") };
        assert_eq!(send(&prober, &request).unwrap_err(), ProbeError::forbidden(), "{location}");
        assert_eq!((proxy.connections(), proxy.received().len()), (1, 1), "{location}");
    }
    assert_eq!(secret.connections(), 0);
}

#[test]
fn addresses_are_checked_before_a_proxy_is_used() {
    // Names that only private networks resolve, which matter if the proxy resolves names.
    let names = ["intranet", "x.localhost", "db.local", "API.internal.", "nas.home.arpa", "router.lan"];
    for (scheme, names) in [("http", &[][..]), ("socks5", &[]), ("httph", &names), ("socks5h", &names)] {
        let proxy = Site::saying("HTTP/1.1 200 OK\r\n\r\n");
        let prober = through(&format!("{scheme}://{}", proxy.addr), false);
        // A module cannot connect to the proxy's own address either.
        for host in FORBIDDEN.iter().chain(names) {
            let url = format!("http://{host}:{}/", proxy.addr.port());
            assert_eq!(send(&prober, &get(&url)).unwrap_err(), ProbeError::forbidden(), "{scheme} {host}");
        }
        assert_eq!(proxy.connections(), 0, "{scheme}");
    }
}

#[test]
fn a_name_that_does_not_resolve_is_a_dns_error() {
    for host in ["no-such-host.invalid", "x.onion"] {
        let error = send(&lab(), &get(&format!("https://{host}/"))).unwrap_err();
        assert!(matches!(error, ProbeError { reason: Reason::Dns, .. }), "{host}: {error:?}");
        assert!(!error.to_string().contains(host), "{error}");
    }
}
