use std::io::{ErrorKind, Read, Write};
use std::thread;

use super::*;
use crate::sandbox::wire::MAX_HEADERS;

/// A host whose reaction is given by the `X-Do` header.
struct TestHost;

impl Host for TestHost {
    fn react(&self, asked: &Asked) -> Reaction {
        let (after_ms, action) = match asked.header("x-do") {
            Some("late") => (2000, Action::Answer(Answer::new(200, "text/plain", "late"))),
            Some("reset") => (0, Action::Reset),
            Some("silence") => (0, Action::Silence),
            Some("panic") => panic!("a host that panics"),
            _ => (0, Action::Answer(Answer::new(200, "text/plain", "now"))),
        };
        Reaction { after: Duration::from_millis(after_ms), action }
    }
}

fn start() -> Server {
    Server::start(Arc::new(TestHost)).unwrap()
}

fn send(server: &Server, method: &str, what: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(
        stream,
        "{method} / HTTP/1.1\r\nHost: example.org\r\nX-Do: {what}\r\nContent-Length: 3\r\n\r\nabc"
    )
    .unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> io::Result<String> {
    let mut text = String::new();
    stream.read_to_string(&mut text).map(|_| text)
}

/// Waits until the server holds that many connections.
fn wait_for_connections(server: &Server, count: usize) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.shared.schedule.lock().connections != count {
        assert!(Instant::now() < deadline, "the server never held {count} connections");
        thread::yield_now();
    }
}

#[test]
fn an_answer_is_sent_completely_before_the_connection_closes() {
    let server = start();
    let text = answer(send(&server, "GET", "now")).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nnow"), "{text}");
    assert!(text.contains("\r\nconnection: close\r\n") && text.contains("\r\nx-sightline-sandbox: true\r\n"));
    let head = answer(send(&server, "HEAD", "now")).unwrap();
    assert!(head.contains("content-length: 3\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    let many = "X: y\r\n".repeat(MAX_HEADERS + 1);
    for broken in [
        "nonsense\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nno colon\r\n\r\n".to_owned(),
        "GET http://a/ HTTP/1.1\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nContent-Length: 100000000000\r\n\r\n".to_owned(),
        format!("GET / HTTP/1.1\r\n{many}\r\n"),
    ] {
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        stream.write_all(broken.as_bytes()).unwrap();
        let text = answer(stream).unwrap();
        assert!(text.starts_with("HTTP/1.1 400 "), "{broken:.60}: {text}");
    }
}

#[test]
fn six_hundred_delayed_requests_wait_in_parallel() {
    let server = start();
    // All requests are sent before the first answer is read, so twelve workers hold all of them.
    let started = Instant::now();
    let streams: Vec<TcpStream> = (0..600).map(|_| send(&server, "GET", "late")).collect();
    for stream in streams {
        assert!(answer(stream).unwrap().ends_with("late"));
    }
    // Workers that slept during each delay would need 600 * 2 s / 12 = 100 s.
    assert!(started.elapsed() < Duration::from_secs(75), "{:?}", started.elapsed());
    wait_for_connections(&server, 0);
}

#[test]
fn silent_connections_block_no_others_and_end_with_their_client() {
    let server = start();
    let silent: Vec<TcpStream> = (0..50).map(|_| send(&server, "GET", "silence")).collect();
    assert!(answer(send(&server, "GET", "now")).unwrap().ends_with("now"));
    wait_for_connections(&server, 50);
    let waiting = &silent[0];
    waiting.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let error = (&*waiting).read(&mut [0]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    drop(silent);
    wait_for_connections(&server, 0);
}

#[test]
fn a_panic_closes_only_its_own_connection() {
    let server = start();
    assert_eq!(answer(send(&server, "GET", "reset")).unwrap_err().kind(), ErrorKind::ConnectionReset);
    for _ in 0..2 * WORKERS {
        let cut_off = answer(send(&server, "GET", "panic"));
        assert!(cut_off.is_err() || cut_off.is_ok_and(|text| text.is_empty()));
    }
    assert!(answer(send(&server, "GET", "now")).unwrap().ends_with("now"));
}

#[test]
fn a_dropped_server_stops_listening() {
    let server = start();
    let addr = server.addr();
    let _silent = send(&server, "GET", "silence");
    drop(server);
    assert!(TcpStream::connect(addr).is_err());
}
