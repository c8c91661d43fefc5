//! Many connections and full queues.

use super::kit::{Client, TestServer, get, post};
use crate::support::eventually;

#[test]
fn a_full_queue_is_a_503_at_once() {
    let server = TestServer::with(|config| {
        config.request_workers = 1;
        config.request_queue = 1;
    });
    let mut running = server.connect();
    running.send(get("/hold"));
    server.product.gate.wait_for_arrivals(1);
    let mut queued = server.connect();
    queued.send(get("/queued"));
    eventually("one request waits", || server.running().load().requests_queued == 1);
    let mut refused = server.connect();
    // The body of the last one is read before.
    for size in [1, 1024, 60_000] {
        refused.send(post("/refused", size as u64, &"x".repeat(size)));
        let answer = refused.answer();
        assert_eq!((answer.status, answer.header("Retry-After")), (503, Some("1")));
        assert_eq!(answer.header("Connection"), None);
    }
    let load = server.running().load();
    assert_eq!((load.workers_busy, load.workers_max, load.requests_queued), (1, 1, 1));
    assert_eq!((load.requests_queued_max, load.refused_total), (1, 3));
    server.product.gate.open();
    assert_eq!(running.answer().text(), "held");
    assert_eq!(queued.answer().status, 200);
    refused.send(get("/again"));
    assert_eq!(refused.answer().status, 200);
}

#[test]
fn every_request_is_served_while_workers_come_and_go() {
    let server = TestServer::with(|config| config.request_workers = 3);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let mut client = server.connect();
            scope.spawn(move || {
                for round in 0..200 {
                    let size = if (round + number) % 5 == 0 { 2000 } else { 3 };
                    let body = "x".repeat(size);
                    let request =
                        format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n{body}");
                    // Two at once: the second waits until the first is answered.
                    client.send(format!("{request}{request}"));
                    assert_eq!(client.answer().text(), body);
                    assert_eq!(client.answer().text(), body);
                }
            });
        }
    });
    let load = server.running().load();
    assert_eq!((load.requests_queued, load.refused_total), (0, 0));
    eventually("all workers are free", || server.running().load().workers_busy == 0);
}

/// tiny_http can forget a new connection behind long-lived ones when several arrive at once.
#[test]
fn no_connection_to_a_fresh_server_is_stuck_behind_streams() {
    for count in [5; 20].into_iter().chain([64; 4]) {
        let server = TestServer::new();
        let feeds: Vec<_> = (0..3).map(|_| server.product.next_stream()).collect();
        let mut clients: Vec<Client> = (0..count).map(|_| server.connect()).collect();
        for (index, client) in clients.iter_mut().enumerate() {
            client.send(get(if index < 3 { "/stream" } else { "/" }));
        }
        for client in &mut clients {
            assert_eq!(client.head().status, 200);
        }
        drop(feeds);
    }
}
