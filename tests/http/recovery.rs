//! An accept loop that ends is replaced, and no connection is lost.
//!
//! Most tests reach a limit of the whole process, and so run in a process of their own.

use std::fs::File;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sightline::http::{Server, ServerConfig};
use socket2::{Domain, Protocol, Socket, Type};

use super::kit::{Client, LONG, Pieces, TestHandler, TestServer, get, run_alone};
use crate::support::eventually;

/// Opens a stream that must outlive the accept loop.
fn open_stream(server: &TestServer) -> (Pieces, Client) {
    let pieces = server.product.next_stream();
    let mut client = server.connect();
    client.send(get("/stream"));
    assert_eq!(client.head().status, 200);
    (pieces, client)
}

fn is_recovered(server: &TestServer, (pieces, mut client): (Pieces, Client)) {
    pieces.send(b"still here".to_vec()).unwrap();
    assert_eq!(client.piece().unwrap(), b"still here");
    for _ in 0..20 {
        assert_eq!(server.ask(&get("/new")).status, 200);
    }
    drop(pieces);
    assert_eq!(client.piece(), None);
}

/// Clients that connect while no connection is accepted. Their sockets are created before descriptors run out.
struct WaitingClients(Vec<Socket>);

impl WaitingClients {
    fn new() -> Self {
        Self((0..5).map(|_| Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap()).collect())
    }

    /// Connects the clients and sends their requests into the backlog.
    fn ask(self, server: &TestServer) -> Vec<Client> {
        let asking = self.0.into_iter().map(|socket| {
            socket.connect(&server.address.into()).unwrap();
            let mut client = Client::over(socket.into());
            client.try_send(get("/late"));
            client
        });
        asking.collect()
    }
}

/// Requests come from one new accept loop after the other, while older connections go on.
#[test]
fn accept_loops_that_end_one_after_the_other_lose_no_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = ServerConfig { request_workers: 2, ..ServerConfig::default() };
    let server = Server::from_listener(listener.try_clone().unwrap(), &config).unwrap();
    let address = server.local_addr();
    let server = server.start(Arc::new(TestHandler(Arc::default()))).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut old = Client::connect(address);
                while !is_over.load(Ordering::Acquire) {
                    for client in [&mut old, &mut Client::connect(address)] {
                        client.send(format!("{}{}", get("/a"), get("/b")));
                        assert_eq!((client.answer().status, client.answer().status), (200, 200));
                    }
                }
            });
        }
        for rebuilds in 1..=3 {
            // A non-blocking `accept()` without a waiting connection fails, which ends the accept loop.
            listener.set_nonblocking(true).unwrap();
            eventually("the accept loop is replaced", || server.load().rebuilds_total >= rebuilds);
            listener.set_nonblocking(false).unwrap();
        }
        is_over.store(true, Ordering::Release);
    });
    assert_eq!(server.shutdown(LONG), 0);
}

/// Whether an accept loop of this process has ended, by the message of an error or by a panic.
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

/// A logger that looks for the message.
struct Recorder;

impl log::Log for Recorder {
    fn enabled(&self, _: &log::Metadata) -> bool {
        true
    }

    fn log(&self, record: &log::Record) {
        if record.args().to_string().contains("the accept loop ended") {
            HAS_ENDED.store(true, Ordering::SeqCst);
        }
    }

    fn flush(&self) {}
}

fn watch_for_its_end() {
    log::set_logger(&Recorder).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    std::panic::set_hook(Box::new(|_| HAS_ENDED.store(true, Ordering::SeqCst)));
}

/// `accept()` reserves its descriptor before it waits, so that the next connection is still accepted. tiny_http then panics
/// because it gets no second descriptor for that connection.
#[test]
fn running_out_of_descriptors() {
    run_alone("recovery::with_no_descriptor");
}

#[test]
#[ignore = "lowers a limit of its process: run by running_out_of_descriptors"]
fn with_no_descriptor() {
    ends_without_descriptors(0);
}

/// The next connection gets both descriptors, and the `accept()` after it fails.
#[test]
fn running_out_of_descriptors_after_the_next_connection() {
    run_alone("recovery::with_one_descriptor");
}

#[test]
#[ignore = "lowers a limit of its process: run by running_out_of_descriptors_after_the_next_connection"]
fn with_one_descriptor() {
    ends_without_descriptors(1);
}

fn ends_without_descriptors(left: usize) {
    watch_for_its_end();
    let server = TestServer::new();
    let stream = open_stream(&server);
    let waiting = WaitingClients::new();
    let before = getrlimit(Resource::Nofile);
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    setrlimit(Resource::Nofile, Rlimit { current: Some(open + 20), ..before }).unwrap();
    let mut taken = take_all_descriptors();
    taken.truncate(taken.len() - left);
    let late = waiting.ask(&server);
    eventually("the accept loop ends", || {
        if left == 0 {
            taken.extend(take_all_descriptors());
        }
        HAS_ENDED.load(Ordering::SeqCst)
    });
    assert_eq!(server.running().load().rebuilds_total, 0, "another one needs descriptors");
    drop(taken);
    setrlimit(Resource::Nofile, before).unwrap();
    eventually("the accept loop is replaced", || server.running().load().rebuilds_total > 0);
    let lost = late.into_iter().filter(|client| !is_served(client)).count();
    assert!(lost <= 1, "{lost} clients are lost, not only the one whose connection made tiny_http panic");
    is_recovered(&server, stream);
}

/// Returns whether the client gets an answer.
fn is_served(client: &Client) -> bool {
    let mut start = [0; 12];
    (&mut client.stream()).read_exact(&mut start).is_ok_and(|()| &start == b"HTTP/1.1 200")
}

fn take_all_descriptors() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[test]
fn running_out_of_threads() {
    run_alone("recovery::with_no_thread");
}

/// tiny_http's accept loop panics if it cannot start a thread, and reports nothing.
#[test]
#[ignore = "lowers a limit of its process: run by running_out_of_threads"]
fn with_no_thread() {
    let server = TestServer::new();
    let stream = open_stream(&server);
    watch_for_its_end();
    // The allocator keeps these bytes, so small allocations need no further address space.
    drop(std::hint::black_box(vec![1_u8; 8 * 1024 * 1024]));
    let before = getrlimit(Resource::As);
    // Enough for small allocations, not for a stack.
    setrlimit(Resource::As, Rlimit { current: Some(address_space() + 1024 * 1024), ..before }).unwrap();
    let mut crowd = Vec::new();
    eventually("tiny_http cannot start a thread", || {
        crowd.push(TcpStream::connect(server.address).unwrap());
        HAS_ENDED.load(Ordering::SeqCst)
    });
    setrlimit(Resource::As, before).unwrap();
    eventually("the accept loop is replaced", || server.running().load().rebuilds_total > 0);
    is_recovered(&server, stream);
}

fn address_space() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 4096
}
