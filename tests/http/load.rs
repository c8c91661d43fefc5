//! Many connections and full queues.

use std::time::Duration;

use super::kit::{Client, LONG, TestServer, get, run_alone};
use crate::support::eventually;
use crate::support::process::status_of;

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
    for _ in 0..3 {
        refused.send(get("/refused"));
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

/// The only worker waits for the next request. It must be woken to serve a request whose body was read elsewhere.
#[test]
fn a_worker_that_waits_for_requests_serves_one_whose_body_was_read_elsewhere() {
    // Several servers, since it must not matter which thread receives first.
    for _ in 0..10 {
        let server = TestServer::without_probes(|config| config.request_workers = 1);
        let mut client = server.connect();
        for _ in 0..10 {
            let body = "x".repeat(2000);
            client.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n{body}"));
            assert_eq!(client.answer().text(), body);
        }
    }
}

/// Workers are blocked and released in turn while requests keep coming, so that the lead changes in every way.
#[test]
fn every_request_is_served_while_workers_come_and_go() {
    let server = TestServer::without_probes(|config| config.request_workers = 3);
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
fn no_connection_is_stuck_behind_streams() {
    for _ in 0..20 {
        let server = TestServer::without_probes(|_| ());
        let feeds: Vec<_> = (0..3).map(|_| server.product.next_stream()).collect();
        let mut clients: Vec<Client> = (0..5).map(|_| server.connect()).collect();
        for (index, client) in clients.iter_mut().enumerate() {
            client.send(get(if index < 3 { "/stream" } else { "/" }));
        }
        for client in &mut clients {
            assert_eq!(client.head().status, 200);
        }
        drop(feeds);
    }
}

#[test]
fn many_connections_at_once_to_a_fresh_server_are_all_served() {
    for _ in 0..4 {
        let server = TestServer::without_probes(|_| ());
        let mut clients: Vec<Client> = (0..64).map(|_| server.connect()).collect();
        for client in &mut clients {
            client.send(get("/"));
        }
        for client in &mut clients {
            assert_eq!(client.answer().status, 200);
        }
    }
}

#[test]
fn a_pipelining_flood_ends_its_connection_and_no_other() {
    run_alone("load::a_flood_in_a_process_of_its_own");
}

#[test]
#[ignore = "measures the memory of its process: run by a_pipelining_flood_ends_its_connection_and_no_other"]
fn a_flood_in_a_process_of_its_own() {
    let server = TestServer::with(|config| config.request_workers = 1);
    let mut flood = server.connect();
    flood.send(get("/later"));
    server.product.gate.wait_for_arrivals(1);
    let before = status_of(std::process::id(), "VmRSS");
    flood.try_send(get("/flood").repeat(100_000));
    assert_eq!(flood.until_closed(), b"");
    let grown = status_of(std::process::id(), "VmRSS").saturating_sub(before);
    assert!(grown < 50_000, "{grown} KiB for a flood");
    assert_eq!(server.ask(&get("/other")).status, 200);
    assert_eq!(*server.product.seen.lock().unwrap(), ["GET /other"]);
}

#[test]
fn connections_above_the_limit_close_idle_ones_but_no_busy_one() {
    let server = TestServer::with(|config| {
        config.max_connections = Some(10);
        // Nothing else may close them.
        config.idle_timeout = LONG * 10;
        config.head_timeout = LONG * 20;
    });
    let pieces = server.product.next_stream();
    let mut busy = server.connect();
    busy.send(get("/stream"));
    assert_eq!(busy.head().status, 200);
    let mut oldest = server.connect();
    oldest.send(get("/"));
    oldest.answer();
    // A connection is idle from the moment on at which its worker has noted the end of the answer.
    eventually("it is idle", || server.running().load().workers_busy == 0);
    let mut others = Vec::new();
    for _ in 0..9 {
        let mut client = server.connect();
        client.send(get("/"));
        assert_eq!(client.answer().status, 200);
        others.push(client);
    }
    assert_eq!(oldest.until_closed(), b"");
    pieces.send(b"still here".to_vec()).unwrap();
    assert_eq!(busy.piece().unwrap(), b"still here");
    eventually("the count is right", || server.running().load().connections <= 10);
}

#[test]
fn a_thousand_connections_leave_no_resources_behind() {
    let server = TestServer::new();
    for round in 0..10 {
        let mut clients: Vec<Client> = (0..100).map(|_| server.connect()).collect();
        for (index, client) in clients.iter_mut().enumerate() {
            client.send(if (index + round) % 3 == 0 {
                "GET / HTTP/1.1\r\n\r\n".to_owned()
            } else {
                get("/")
            });
        }
        for client in &mut clients {
            client.answer();
        }
    }
    eventually("all connections are gone", || server.running().load().connections == 0);
}

/// Clients that connect before the server has started wait in the backlog.
#[test]
fn clients_that_connect_between_bind_and_start_are_served() {
    use sightline::http::{Server, ServerConfig};
    use std::sync::Arc;

    let config = ServerConfig { listen: ([127, 0, 0, 1], 0).into(), ..ServerConfig::default() };
    let server = Server::bind(&config).unwrap();
    let mut early = Client::connect(server.local_addr());
    early.send(get("/"));
    let running = server.start(Arc::new(super::kit::TestHandler(Arc::default()))).unwrap();
    assert_eq!(early.answer().status, 200);
    assert_eq!(running.shutdown(Duration::from_secs(30)).left, 0);
}
