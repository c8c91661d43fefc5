//! The end: of the server, and of its accept loop.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use super::kit::{House, LONG, get, wait_until};

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

/// Shutting the listening socket down makes `accept()` fail, as a want of descriptors does.
#[test]
fn a_want_of_descriptors_ends_nothing() {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "http::shutdown::in_a_process_of_few_descriptors", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{output}{}", String::from_utf8_lossy(&child.stderr));
    assert!(output.contains("1 passed"), "{output}");
}

#[test]
#[ignore = "lowers the limit of its process: run by a_want_of_descriptors_ends_nothing"]
fn in_a_process_of_few_descriptors() {
    use rlimit::Resource;

    let house = House::new();
    let pieces = house.product.next_stream();
    let mut stream = house.connect();
    stream.send(get("/stream"));
    stream.head();
    let mut kept = house.connect();
    kept.send(get("/"));
    kept.answer();

    let (soft, hard) = Resource::NOFILE.get().unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    Resource::NOFILE.set(open + 40, hard).unwrap();
    let mut crowd: Vec<TcpStream> = Vec::new();
    while let Ok(client) = TcpStream::connect(house.address) {
        crowd.push(client);
    }
    // Nothing is left for accept(), which ends tiny_http's loop.
    drop(crowd.split_off(crowd.len() - 1));
    wait_until("the accept loop is rebuilt", || {
        crowd.pop();
        house.server().load().rebuilds_total > 0
    });
    drop(crowd);
    Resource::NOFILE.set(soft, hard).unwrap();

    pieces.send(b"still here".to_vec()).unwrap();
    assert_eq!(stream.piece().unwrap(), b"still here");
    for _ in 0..20 {
        assert_eq!(house.ask(&get("/new")).status, 200);
    }
}
