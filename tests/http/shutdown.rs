//! The end of the server.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use super::kit::{House, LONG, get};

fn is_refused(house: &House) -> bool {
    matches!(TcpStream::connect(house.address), Err(error) if error.kind() == ErrorKind::ConnectionRefused)
}

#[test]
fn what_is_in_flight_is_answered_and_nothing_else_is_taken() {
    let mut house = House::new();
    let pieces = house.product.next_stream();
    let mut stream = house.connect();
    stream.send(get("/stream"));
    assert_eq!(stream.head().status, 200);
    let mut held = house.connect();
    held.send(get("/hold"));
    let mut later = house.connect();
    later.send(get("/later"));
    house.product.gate.wait_for_arrivals(2);
    let mut idle = house.connect();
    idle.send(get("/"));
    assert_eq!(idle.answer().status, 200);

    let server = house.server.take().unwrap();
    server.stop_taking();
    assert!(is_refused(&house));
    assert_eq!(idle.until_closed(), b"", "an idle connection is closed");
    let ending = std::thread::spawn(move || server.shutdown(LONG));
    pieces.send(b"last words".to_vec()).unwrap();
    drop(pieces);
    assert_eq!(stream.piece().unwrap(), b"last words");
    assert_eq!(stream.piece(), None);
    assert!(!ending.is_finished());
    house.product.gate.open();
    for (client, text) in [(&mut held, "held"), (&mut later, "later")] {
        let answer = client.answer();
        assert_eq!((answer.text(), answer.header("Connection")), (text, Some("close")));
        assert_eq!(client.until_closed(), b"");
    }
    assert_eq!(ending.join().unwrap().left, 0);
}

#[test]
fn a_request_that_comes_too_late_is_told_so() {
    let mut house = House::new();
    let mut client = house.connect();
    client.send(get("/hold"));
    house.product.gate.wait_for_arrivals(1);
    client.send(get("/behind"));
    let server = house.server.take().unwrap();
    server.stop_taking();
    house.product.gate.open();
    assert_eq!(client.answer().text(), "held");
    client.until_closed();
    assert_eq!(server.shutdown(LONG).left, 0);
    assert!(house.product.seen.lock().unwrap().is_empty());
}

#[test]
fn a_shutdown_ends_in_time_and_says_what_is_left() {
    let mut house = House::new();
    let mut client = house.connect();
    client.send(get("/later"));
    house.product.gate.wait_for_arrivals(1);
    let server = house.server.take().unwrap();
    assert_eq!(server.shutdown(Duration::from_millis(50)).left, 1);
    assert!(is_refused(&house));
}

#[test]
fn the_port_can_be_taken_again_at_once() {
    let mut house = House::new();
    let mut client = house.connect();
    client.send(get("/"));
    client.answer();
    house.server.take().unwrap().shutdown(LONG);
    let again = House::with(|config| config.listen = house.address);
    assert_eq!(again.ask(&get("/")).status, 200);
}
