//! Shutting a server down.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use super::kit::{LONG, TestServer, get};

fn is_refused(server: &TestServer) -> bool {
    matches!(TcpStream::connect(server.address), Err(error) if error.kind() == ErrorKind::ConnectionRefused)
}

#[test]
fn requests_in_flight_are_answered_and_no_others() {
    let mut server = TestServer::new();
    let pieces = server.product.next_stream();
    let mut stream = server.connect();
    stream.send(get("/stream"));
    assert_eq!(stream.head().status, 200);
    let mut held = server.connect();
    held.send(get("/hold"));
    let mut later = server.connect();
    later.send(get("/later"));
    server.product.gate.wait_for_arrivals(2);
    let mut idle = server.connect();
    idle.send(get("/"));
    assert_eq!(idle.answer().status, 200);

    let running = server.running.take().unwrap();
    running.stop_taking();
    assert!(is_refused(&server));
    idle.send(get("/"));
    let refused = idle.answer();
    assert_eq!((refused.status, refused.header("Connection")), (503, Some("close")));
    let ending = std::thread::spawn(move || running.shutdown(LONG));
    pieces.send(b"last piece".to_vec()).unwrap();
    drop(pieces);
    assert_eq!(stream.piece().unwrap(), b"last piece");
    assert_eq!(stream.piece(), None);
    assert!(!ending.is_finished());
    server.product.gate.open();
    for (client, text) in [(&mut held, "held"), (&mut later, "later")] {
        let answer = client.answer();
        assert_eq!((answer.text(), answer.header("Connection")), (text, Some("close")));
    }
    assert_eq!(ending.join().unwrap(), 0);
}

#[test]
fn a_shutdown_ends_in_time_and_reports_unanswered_requests() {
    let mut server = TestServer::new();
    let mut client = server.connect();
    client.send(get("/later"));
    server.product.gate.wait_for_arrivals(1);
    let running = server.running.take().unwrap();
    assert_eq!(running.shutdown(Duration::from_millis(50)), 1);
    assert!(is_refused(&server));
}
