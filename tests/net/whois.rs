//! WHOIS queries over real sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use sightline::modules::definition::Via;
use sightline::modules::probe::{ProbeError, Request};
use sightline::modules::reason::Reason;
use sightline::net::{HttpProber, NetConfig};

use super::proxy::socks_proxy;
use super::{get, lab, send, through, within};
use crate::support::site::{Site, closed_port, hold};

/// Starts a server that receives one line and gives the connection to `answer`.
fn server(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> (Site, Receiver<String>) {
    let (sender, lines) = channel();
    let site = Site::talking(move |stream| {
        let mut line = String::new();
        if BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).is_ok() && !line.is_empty() {
            let _ = sender.send(line);
            answer(stream);
        }
    });
    (site, lines)
}

fn ask(site: &Site, query: &str) -> Request {
    Request { via: Via::Whois, ..get(&format!("http://{}/{query}", site.addr)) }
}

#[test]
fn an_answer_is_read_until_the_server_closes_the_connection() {
    let (site, lines) = server(|stream| {
        stream.write_all(b"Domain: ").unwrap();
        stream.write_all(b"example.de\r\nStatus: connect\r\n").unwrap();
    });
    let answer = send(&lab(), &ask(&site, "-T%20dn%20example.de")).unwrap();
    assert_eq!(lines.recv().unwrap(), "-T dn example.de\r\n");
    assert_eq!(answer.body, b"Domain: example.de\r\nStatus: connect\r\n");
    assert_eq!((answer.status, answer.truncated), (200, false));
    assert_eq!(answer.header("content-type"), Some("text/plain"));

    let (site, _lines) = server(|stream| {
        let _ = stream.write_all(&[b'x'; 100_000]);
    });
    let answer = send(&lab(), &Request { body_limit: 70_000, ..ask(&site, "example.de") }).unwrap();
    assert_eq!((answer.body.len(), answer.truncated), (70_000, true));
    let (site, _lines) = server(|_| {});
    assert_eq!(send(&lab(), &ask(&site, "example.de")).unwrap().body, b"");
}

#[test]
fn a_query_cannot_contain_a_second_line() {
    let (site, lines) = server(|_| {});
    for query in ["a.example%0D%0Ab.example", "a%0Ab", "%C3%A9.example", "a%00", "", "a".repeat(254).as_str()]
    {
        let result = send(&lab(), &ask(&site, query));
        assert!(matches!(result, Err(ProbeError { reason: Reason::Protocol, .. })), "{query}: {result:?}");
    }
    assert!(lines.try_recv().is_err());
}

#[test]
fn a_slow_server_is_left_at_the_deadline() {
    let limit = Duration::from_secs(1);
    let (silent, _lines) = server(hold);
    let result = within(&lab(), &ask(&silent, "example.de"), limit);
    assert_eq!(result.unwrap_err(), ProbeError::late(Reason::TimeoutFirstByte));
    let (endless, _lines) = server(|stream| {
        while stream.write_all(b"x").is_ok() {
            std::thread::yield_now();
        }
    });
    let request = Request { body_limit: usize::MAX, ..ask(&endless, "example.de") };
    assert_eq!(within(&lab(), &request, limit).unwrap_err(), ProbeError::late(Reason::TimeoutBody));
}

#[test]
fn a_forbidden_address_is_not_asked() {
    let (site, lines) = server(|_| {});
    let prober = HttpProber::new(NetConfig::default());
    assert_eq!(send(&prober, &ask(&site, "example.de")).unwrap_err(), ProbeError::forbidden());
    assert!(lines.try_recv().is_err());
    let closed = SocketAddr::from(([127, 0, 0, 1], closed_port()));
    let request = Request { via: Via::Whois, ..get(&format!("http://{closed}/example.de")) };
    assert!(matches!(send(&lab(), &request), Err(ProbeError { reason: Reason::Connect, .. })));
}

#[test]
fn queries_use_the_outbound_proxy() {
    let (site, lines) = server(|stream| stream.write_all(b"far").unwrap());
    let proxy = Site::start(|client, connect| {
        let mut far = TcpStream::connect(connect.path()).unwrap();
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let mut query = [0; 12];
        client.read_exact(&mut query).unwrap();
        far.write_all(&query).unwrap();
        let _ = std::io::copy(&mut far, client);
        let _ = client.shutdown(Shutdown::Write);
    });
    let answer = send(&through(&proxy.url(""), true), &ask(&site, "example.de")).unwrap();
    assert_eq!(answer.body, b"far");
    assert_eq!(lines.recv().unwrap(), "example.de\r\n");
    assert_eq!(proxy.received()[0].line(), format!("CONNECT {} HTTP/1.1", site.addr));

    let socks = socks_proxy();
    let answer =
        send(&through(&format!("socks5://user:p%40ss@{}", socks.addr), true), &ask(&site, "example.org"))
            .unwrap();
    assert_eq!((answer.body, lines.recv().unwrap()), (b"far".to_vec(), "example.org\r\n".to_owned()));

    let refusing = Site::saying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let result = send(&through(&refusing.url(""), true), &ask(&site, "example.de"));
    assert!(matches!(result, Err(ProbeError { reason: Reason::Connect, .. })), "{result:?}");
    assert!(lines.try_recv().is_err());
}
