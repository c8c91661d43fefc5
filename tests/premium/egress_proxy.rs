//! The egress proxy alone, with a client of the test instead of a browser.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Instant;

use sightline::modules::probe::{Browsers, ProbeError, Prober as _};
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
            browsers.send(&request, &mut Default::default(), Instant::now() + lab::LONG)
        });
        eventually("a page is looked at", || is_open.is_on());
        act(proxy, &is_over);
        is_over.turn_on();
        assert_eq!(looking.join().unwrap().map(|seen| seen.status), Ok::<_, ProbeError>(200));
    });
}

/// Sends the proxy a request by SOCKS5 for a connection to a named host, and more for the host.
fn client(proxy: SocketAddr, (host, port): (&str, u16), more: &str) -> TcpStream {
    let name =
        [&[5, 1, 0, 3, u8::try_from(host.len()).unwrap()], host.as_bytes(), &port.to_be_bytes()].concat();
    client_saying(proxy, &[&[5, 1, 0], &name[..], more.as_bytes()].concat())
}

fn client_saying(proxy: SocketAddr, request: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(proxy).unwrap();
    stream.set_read_timeout(Some(lab::LONG)).unwrap();
    // The proxy may have hung up before.
    let _ = stream.write_all(request);
    stream
}

/// Reads everything until the proxy closes the connection.
fn said(mut stream: TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it does not hang up");
    }
    answer
}

const REFUSED: &[u8] = &[5, 0, 5, 1, 0, 1, 0, 0, 0, 0, 0, 0];
const CONNECTED: &[u8] = &[5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0];

/// The proxy forwards only during a visit, and only to allowed addresses.
#[test]
fn the_egress_proxy_is_not_an_open_proxy() {
    let secret = Vault::start();
    let port = secret.port;
    let before = |proxy| {
        assert_eq!(said(client(proxy, ("127.0.0.1", port), "")), b"", "no page is looked at");
    };
    while_a_page_is_looked_at(NetConfig::default(), before, |proxy, _| {
        for host in ["127.0.0.1", "::1", "[::1]", "2130706433", "localhost"] {
            assert_eq!(said(client(proxy, (host, port), "")), REFUSED, "{host}");
        }
        let [high, low] = port.to_be_bytes();
        let by_address = [5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, high, low];
        assert_eq!(said(client_saying(proxy, &by_address)), REFUSED);
        for (request, want) in [
            (&b"CONNECT 1.2.3.4:443 HTTP/1.1\r\n\r\n"[..], &b""[..]),
            (b"\x04\x01\x00\x50\x01\x02\x03\x04\x00", b""),
            (b"\x05\x01\x02", b""),
            // To listen; another kind of address; no name.
            (b"\x05\x01\x00\x05\x02\x00\x01\x01\x02\x03\x04\x00\x50", &REFUSED[..2]),
            (b"\x05\x01\x00\x05\x01\x00\x02\x01\x02\x03\x04\x00\x50", &REFUSED[..2]),
            (b"\x05\x01\x00\x05\x01\x00\x03\x01/\x00\x50", &REFUSED[..2]),
        ] {
            // What was said may be lost if the proxy hangs up before it has read everything.
            let client = client_saying(proxy, request);
            let _ = client.shutdown(Shutdown::Write);
            let said = said(client);
            assert!(said == want || said.is_empty(), "{request:?}: {said:?}");
        }
    });
    assert_eq!(secret.visits(), 0);
}

/// A peer that sends single bytes, or takes none, is disconnected at the end of the visit.
#[test]
fn a_slow_transfer_ends_with_its_page() {
    let site = Site::start(|stream, request| match request.path() {
        "/silent" => hold(stream),
        _ => drip(stream, std::iter::repeat(b'a')),
    });
    while_a_page_is_looked_at(
        lab::lab_net(),
        |_| {},
        |proxy, is_over| {
            let to = ("127.0.0.1", site.addr.port());
            let upload = "POST /silent HTTP/1.1\r\nContent-Length: 1000\r\n\r\nbegun";
            let requests = ["GET /body HTTP/1.1\r\n\r\n", "GET /silent HTTP/1.1\r\n\r\n", upload];
            let clients = requests.map(|request| client(proxy, to, request));
            let begun = client_saying(proxy, b"\x05\x01\x00\x05\x01");
            eventually("all of them are on their way", || site.connections() == requests.len());
            is_over.turn_on();
            for (client, request) in clients.into_iter().zip(&requests) {
                let answer = said(client);
                assert!(answer.len() < 10_000, "{request}: {} bytes", answer.len());
            }
            assert_eq!(said(begun), b"\x05\x00");
        },
    );
}

#[test]
fn the_egress_proxy_can_use_a_socks5_proxy() {
    let (site, proxy) = (Site::saying(ok("far")), socks_proxy());
    let by = format!("socks5://user:p%40ss@{}", proxy.addr);
    let net = NetConfig { outbound_proxy: by.parse().ok(), ..lab::lab_net() };
    let port = site.addr.port();
    let ask = |proxy, host| said(client(proxy, (host, port), "GET / HTTP/1.1\r\n\r\n"));
    while_a_page_is_looked_at(
        net,
        |_| {},
        |proxy, _| {
            for host in ["localhost", "127.0.0.1"] {
                let answer = ask(proxy, host);
                assert!(answer.starts_with(CONNECTED) && answer.ends_with(b"far"), "{host}: {answer:?}");
            }
        },
    );
    assert_eq!((proxy.connections(), site.connections()), (2, 2));
    // A proxy that requires a login and gets none is not bypassed.
    let strict = Site::talking(|stream| {
        let _ = (stream.read_exact(&mut [0; 3]), stream.write_all(&[5, 0xff]));
    });
    let net =
        NetConfig { outbound_proxy: format!("socks5://{}", strict.addr).parse().ok(), ..lab::lab_net() };
    while_a_page_is_looked_at(net, |_| {}, |proxy, _| assert_eq!(ask(proxy, "127.0.0.1"), REFUSED));
    assert_eq!(site.connections(), 2);
}
