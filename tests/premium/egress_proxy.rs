//! The egress proxy alone, with a client of the test instead of a browser.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use sightline::modules::probe::{Browsers, ProbeError};
use sightline::net::NetConfig;

use super::egress::Vault;
use super::lab::{self, css, page};
use super::simulated::{Chromium, Says, Switch, nothing_yet};
use crate::net::proxy::socks_proxy;
use crate::support::eventually;
use crate::support::site::{Site, drip, hold, ok};

/// Runs `act` with an egress proxy during a visit to a page, and passes it the deadline of the visit.
fn while_a_page_is_looked_at(
    net: NetConfig,
    before: impl FnOnce(SocketAddr),
    act: impl FnOnce(SocketAddr, &Switch),
) {
    let (is_open, is_over) = (Switch::default(), Switch::default());
    let (opened, ended) = (is_open.clone(), is_over.clone());
    let chromium = Chromium::start(move |command| match command {
        "Page.navigate" => {
            opened.turn_on();
            Says::AsUsual
        }
        "Runtime.evaluate" if !ended.is_on() => nothing_yet(),
        _ => Says::AsUsual,
    });
    let browsers = chromium.browsers(net, 1);
    // The page that is printed names the proxy, and loads nothing.
    let printed = browsers.print("<p>", Instant::now() + lab::LONG);
    assert!(printed.is_err(), "{printed:?}");
    let proxy = chromium.egress_proxy();
    assert!(proxy.ip().is_loopback());
    before(proxy);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let request = page("http://1.2.3.4/", &[css("a")]);
            browsers.prober().send(&request, &mut Default::default(), Instant::now() + lab::LONG)
        });
        eventually("a page is looked at", || is_open.is_on());
        act(proxy, &is_over);
        is_over.turn_on();
        assert_eq!(looking.join().unwrap().map(|seen| seen.status), Ok::<_, ProbeError>(200));
    });
}

fn client(proxy: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(proxy).unwrap();
    stream.set_read_timeout(Some(lab::LONG)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Reads everything until the proxy closes the connection.
fn said(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it does not hang up");
    }
    String::from_utf8_lossy(&answer).into_owned()
}

fn asked(proxy: SocketAddr, request: &str) -> String {
    said(client(proxy, request))
}

/// The proxy forwards only during a visit, and only to allowed addresses.
#[test]
fn the_egress_proxy_is_not_an_open_proxy() {
    let secret = Vault::start();
    let to_secret = format!("GET http://127.0.0.1:{}/ HTTP/1.1\r\nHost: x\r\n\r\n", secret.port);
    let before = |proxy| assert_eq!(asked(proxy, &to_secret), "", "no page is looked at");
    while_a_page_is_looked_at(NetConfig::default(), before, |proxy, _| {
        for (request, want) in [
            (to_secret.clone(), ""),
            (format!("CONNECT 127.0.0.1:{} HTTP/1.1\r\n\r\n", secret.port), "HTTP/1.1 403 "),
            (format!("CONNECT [::1]:{} HTTP/1.1\r\n\r\n", secret.port), "HTTP/1.1 403 "),
            (format!("CONNECT 2130706433:{} HTTP/1.1\r\n\r\n", secret.port), "HTTP/1.1 403 "),
            (format!("CONNECT localhost:{} HTTP/1.1\r\n\r\n", secret.port), "HTTP/1.1 403 "),
            ("CONNECT localhost HTTP/1.1\r\n\r\n".into(), "HTTP/1.1 400 "),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".into(), "HTTP/1.1 400 "),
            ("GET file:///etc/passwd HTTP/1.1\r\n\r\n".into(), "HTTP/1.1 400 "),
            ("GET https://1.2.3.4/ HTTP/1.1\r\n\r\n".into(), "HTTP/1.1 400 "),
            ("POST http://1.2.3.4/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".into(), "HTTP/1.1 400 "),
            ("nonsense\r\n\r\n".into(), "HTTP/1.1 400 "),
        ] {
            let answer = asked(proxy, &request);
            assert!(
                answer.starts_with(want) && (!want.is_empty() || answer.is_empty()),
                "{request}: {answer}"
            );
        }
    });
    assert_eq!(secret.visits(), 0);
}

/// A peer that sends single bytes, or takes none, is disconnected at the end of the visit.
#[test]
fn a_slow_transfer_ends_with_its_page() {
    let site = Site::start(|stream, request| {
        let begun: &[u8] = match request.path() {
            "/body" => b"HTTP/1.1 200 OK\r\n\r\n",
            "/early" => b"HTTP/1.1 103 Early Hints\r\n\r\n",
            "/silent" => return hold(stream),
            _ => b"",
        };
        if stream.write_all(begun).is_ok() {
            drip(stream, std::iter::repeat(b'a'));
        }
    });
    while_a_page_is_looked_at(
        lab::lab_net(),
        |_| {},
        |proxy, is_over| {
            let to = |path: &str| format!("GET {} HTTP/1.1\r\n\r\n", site.url(path));
            let upload =
                format!("POST {} HTTP/1.1\r\nContent-Length: 1000\r\n\r\nbegun", site.url("/silent"));
            let tunnel = format!("CONNECT {} HTTP/1.1\r\n\r\nGET /body HTTP/1.1\r\n\r\n", site.addr);
            let requests = [to("/head"), to("/body"), to("/early"), to("/silent"), upload, tunnel];
            let clients: Vec<TcpStream> = requests.iter().map(|request| client(proxy, request)).collect();
            let begun = client(proxy, "GET http://");
            eventually("all of them are on their way", || site.connections() == requests.len());
            is_over.turn_on();
            for (client, request) in clients.into_iter().zip(&requests) {
                let answer = said(client);
                assert!(answer.len() < 10_000, "{request}: {} bytes", answer.len());
            }
            assert_eq!(said(begun), "");
        },
    );
}

#[test]
fn the_egress_proxy_can_use_a_socks5_proxy() {
    let (site, proxy) = (Site::saying(ok("far")), socks_proxy());
    let by = format!("socks5://user:p%40ss@{}", proxy.addr);
    let net = NetConfig { outbound_proxy: by.parse().ok(), ..lab::lab_net() };
    let port = site.addr.port();
    while_a_page_is_looked_at(
        net,
        |_| {},
        |proxy, _| {
            let plain = asked(proxy, &format!("GET http://localhost:{port}/ HTTP/1.1\r\n\r\n"));
            assert!(plain.starts_with("HTTP/1.1 200 ") && plain.ends_with("far"), "{plain}");
            let tunnel = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n");
            let through = asked(proxy, &tunnel);
            assert!(
                through.starts_with("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK"),
                "{through}"
            );
        },
    );
    assert_eq!((proxy.connections(), site.connections()), (2, 2));
    // A proxy that requires a login and gets none is not bypassed.
    let strict = Site::talking(|stream| {
        let _ = (stream.read_exact(&mut [0; 3]), stream.write_all(&[5, 0xff]));
    });
    let net =
        NetConfig { outbound_proxy: format!("socks5://{}", strict.addr).parse().ok(), ..lab::lab_net() };
    while_a_page_is_looked_at(
        net,
        |_| {},
        |proxy, _| {
            let refused = asked(proxy, &format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"));
            assert!(refused.starts_with("HTTP/1.1 502 "), "{refused}");
        },
    );
    assert_eq!(site.connections(), 2);
}
