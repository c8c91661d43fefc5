//! Outbound proxies: HTTP (CONNECT) and SOCKS5. `guard` tests that the guard works with them.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use sightline::modules::probe::ProbeError;
use sightline::modules::reason::Reason;

use super::{get, send, through, within};
use crate::support::site::{Site, drip, flood, hold, ok, read_request};

/// Relays bytes in both directions until one end closes.
fn splice(client: &mut TcpStream, target: SocketAddr) {
    let mut server = TcpStream::connect(target).unwrap();
    let (mut from, mut into) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut from, &mut into));
    let _ = std::io::copy(&mut server, client);
    let _ = client.shutdown(Shutdown::Write);
}

fn connect_proxy() -> Site {
    Site::start(|stream, connect| {
        let target = connect.path().parse().unwrap();
        stream.write_all(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n").unwrap();
        splice(stream, target);
    })
}

#[test]
fn an_http_proxy_gets_a_connect_to_the_resolved_address() {
    let (site, proxy) = (Site::saying(ok("far")), connect_proxy());
    let target = format!("127.0.0.1:{}", site.addr.port());
    let prober = through(&format!("http://user:p%40ss@{}", proxy.addr), true);
    let answer = send(&prober, &get(&format!("http://localhost:{}/x", site.addr.port()))).unwrap();
    assert_eq!(answer.body, b"far");

    let [connect] = &proxy.received()[..] else { panic!("one CONNECT") };
    assert_eq!(connect.line(), format!("CONNECT {target} HTTP/1.1"));
    assert_eq!(connect.header("host"), Some(target));
    assert_eq!(connect.header("proxy-authorization").as_deref(), Some("Basic dXNlcjpwQHNz"));
    let [request] = &site.received()[..] else { panic!("one request") };
    assert_eq!(request.header("host"), Some(format!("localhost:{}", site.addr.port())));
    assert_eq!(request.header("proxy-authorization"), None);
}

#[test]
fn a_proxy_that_resolves_names_gets_them() {
    for (host, name) in [
        ("member.example", "member.example"),
        ("MEMBER.example.", "member.example"),
        ("b\u{fc}cher.example", "xn--bcher-kva.example"),
        ("1.2.3.4", "1.2.3.4"),
        ("[2606:4700::1111]", "[2606:4700::1111]"),
        ("x.onion", "x.onion"),
    ] {
        let proxy = Site::start(|stream, _| {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            let _ = read_request(stream);
            stream.write_all(&ok("far")).unwrap();
        });
        let prober = through(&format!("httph://{}", proxy.addr), false);
        let answer = send(&prober, &get(&format!("http://{host}:8000/"))).unwrap();
        assert_eq!(answer.body, b"far");
        let [connect] = &proxy.received()[..] else { panic!("one CONNECT") };
        assert_eq!(connect.line(), format!("CONNECT {name}:8000 HTTP/1.1"));
        assert_eq!(connect.header("host"), Some(format!("{name}:8000")));
    }

    let (tell, told) = std::sync::mpsc::channel();
    let socks = Site::talking(move |stream| {
        stream.read_exact(&mut [0; 3]).unwrap();
        stream.write_all(&[5, 0]).unwrap();
        let mut request = [0; 5];
        stream.read_exact(&mut request).unwrap();
        let mut name = vec![0; usize::from(request[4]) + 2];
        stream.read_exact(&mut name).unwrap();
        tell.send((request[..4].to_vec(), name)).unwrap();
        stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        let _ = read_request(stream);
        stream.write_all(&ok("far")).unwrap();
    });
    let prober = through(&format!("socks5h://{}", socks.addr), false);
    let answer = send(&prober, &get("http://member.example/")).unwrap();
    assert_eq!(answer.body, b"far");
    assert_eq!(told.recv().unwrap(), (vec![5, 1, 0, 3], b"member.example\0\x50".to_vec()));
}

#[test]
fn a_failing_proxy_is_a_connection_error() {
    let socks = |answer: &'static [u8]| {
        Site::talking(move |stream| {
            let _ = stream.read(&mut [0; 3]);
            let _ = stream.write_all(answer);
            if !answer.is_empty() {
                hold(stream);
            }
        })
    };
    let flooding = Site::start(|stream, _| {
        flood(stream, &[b'a'; 4096], 100 << 20);
    });
    for (scheme, proxy) in [
        ("http", Site::saying("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")),
        ("http", Site::saying("HTTP/1.1 200 ")),
        ("http", Site::saying("junk\r\n\r\n")),
        ("http", flooding),
        ("socks5", socks(b"\x05\xff")),
        ("socks5", socks(b"\x05\x00\x05\x02\x00\x01\0\0\0\0\0\0")),
        ("socks5", socks(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
        ("socks5", socks(b"")),
    ] {
        let error = send(&through(&format!("{scheme}://{}", proxy.addr), true), &get("http://127.0.0.1:9/"))
            .unwrap_err();
        assert!(matches!(error, ProbeError { reason: Reason::Connect, .. }), "{scheme}: {error:?}");
    }
}

#[test]
fn a_slow_proxy_does_not_exceed_the_deadline() {
    let http = Site::start(|stream, _| drip(stream, std::iter::repeat(b'a')));
    let error = within(&through(&http.url(""), true), &get("http://127.0.0.1:9/"), Duration::from_secs(1))
        .unwrap_err();
    assert_eq!(error, ProbeError::late(Reason::TimeoutConnect));

    let socks = Site::talking(|stream| {
        let _ = stream.read_exact(&mut [0; 3]);
        drip(stream, [5, 0, 5, 0, 0, 3, 255].into_iter().chain(std::iter::repeat(1)));
    });
    let prober = through(&format!("socks5://{}", socks.addr), true);
    let error = within(&prober, &get("http://127.0.0.1:9/"), Duration::from_secs(1)).unwrap_err();
    assert_eq!(error, ProbeError::late(Reason::TimeoutConnect));
}

/// SOCKS5 with user and password (`user`, `p@ss`), IPv4 targets only.
pub(crate) fn socks_proxy() -> Site {
    socks_proxy_choosing(2)
}

fn socks_proxy_choosing(method: u8) -> Site {
    Site::talking(move |stream| {
        let mut greeting = [0; 2];
        stream.read_exact(&mut greeting).unwrap();
        let mut methods = vec![0; usize::from(greeting[1])];
        stream.read_exact(&mut methods).unwrap();
        assert!(methods.contains(&method), "{methods:?}");
        stream.write_all(&[5, method]).unwrap();
        if method == 2 {
            let mut login = [0; 11];
            stream.read_exact(&mut login).unwrap();
            assert_eq!(&login, b"\x01\x04user\x04p@ss");
            stream.write_all(&[1, 0]).unwrap();
        }
        let mut request = [0; 10];
        stream.read_exact(&mut request).unwrap();
        let [5, 1, 0, 1, a, b, c, d, high, low] = request else { panic!("{request:?}") };
        stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
        splice(stream, (Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low])).into());
    })
}

#[test]
fn a_socks5_proxy_gets_the_resolved_address() {
    let (site, proxy) = (Site::saying(ok("far")), socks_proxy());
    let prober = through(&format!("socks5://user:p%40ss@{}", proxy.addr), true);
    for host in ["localhost", "127.0.0.1"] {
        let answer = send(&prober, &get(&format!("http://{host}:{}/", site.addr.port()))).unwrap();
        assert_eq!(answer.body, b"far");
    }
    assert_eq!(proxy.connections(), 2);
    // It may need no password.
    let (proxy, url) = (socks_proxy_choosing(0), format!("http://{}/", site.addr));
    for login in ["", "user:p%40ss@"] {
        let prober = through(&format!("socks5://{login}{}", proxy.addr), true);
        assert_eq!(send(&prober, &get(&url)).unwrap().body, b"far", "{login}");
    }
}
