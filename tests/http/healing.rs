//! An accept loop that dies is rebuilt, and no connection is lost by it.
//!
//! What it dies of are mostly limits of the whole process; such a test runs in a process of its own.

use std::fs::File;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rlimit::Resource;
use sightline::http::{Server, ServerConfig};
use socket2::{Domain, Protocol, Socket, Type};

use super::kit::{Client, House, LONG, Pieces, TestHandler, get, run_alone};
use crate::support::eventually;

/// What the accept loop dies of must be noticed at once: no probe will find it out.
fn house_without_probes() -> House {
    House::with(|config| {
        config.probe_every = LONG * 10;
        config.idle_timeout = LONG * 10;
        config.head_timeout = LONG * 20;
    })
}

/// A stream that began before the loop died, and must outlive it.
fn open_stream(house: &House) -> (Pieces, Client) {
    let pieces = house.product.next_stream();
    let mut client = house.connect();
    client.send(get("/stream"));
    assert_eq!(client.head().status, 200);
    (pieces, client)
}

fn is_whole_again(house: &House, (pieces, mut client): (Pieces, Client)) {
    pieces.send(b"still here".to_vec()).unwrap();
    assert_eq!(client.piece().unwrap(), b"still here");
    for _ in 0..20 {
        assert_eq!(house.ask(&get("/new")).status, 200);
    }
    drop(pieces);
    assert_eq!(client.piece(), None);
    assert_eq!(client.until_closed(), b"");
}

/// Clients that connect while nobody accepts: their sockets are made before descriptors run out.
struct Latecomers(Vec<Socket>);

impl Latecomers {
    fn new() -> Self {
        Self((0..5).map(|_| Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap()).collect())
    }

    /// They send their requests into the backlog.
    fn ask(self, house: &House) -> Vec<Client> {
        let asking = self.0.into_iter().map(|socket| {
            socket.connect(&house.address.into()).unwrap();
            let mut client = Client::over(socket.into());
            client.try_send(get("/late"));
            client
        });
        asking.collect()
    }
}

/// Each time the workers turn to a new accept loop, while the connections that came before go on.
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
        for deaths in 1..=5 {
            // Nobody waits to be accepted: that is an error now, and the end of the loop.
            listener.set_nonblocking(true).unwrap();
            eventually("it died and was rebuilt", || server.load().rebuilds_total >= deaths);
            listener.set_nonblocking(false).unwrap();
        }
        is_over.store(true, Ordering::Release);
    });
    assert_eq!(server.shutdown(LONG).left, 0);
}

/// Listens to what the server says, of its own process alone.
struct Ear;

static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl log::Log for Ear {
    fn enabled(&self, _: &log::Metadata) -> bool {
        true
    }

    fn log(&self, record: &log::Record) {
        HEARD.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

impl Ear {
    fn open() {
        log::set_logger(&Ear).unwrap();
        log::set_max_level(log::LevelFilter::Debug);
    }

    fn has_heard(words: &str) -> bool {
        HEARD.lock().unwrap().iter().any(|line| line.contains(words))
    }
}

/// `accept()` reserves its descriptor before it waits, so the next connection is taken yet; tiny_http panics for want
/// of the second one that each costs it. No probe can look into that while there is none.
#[test]
fn a_want_of_descriptors() {
    run_alone("healing::with_no_descriptor");
}

#[test]
#[ignore = "lowers a limit of its process: run by a_want_of_descriptors"]
fn with_no_descriptor() {
    dies_of_no_descriptor(0);
}

/// The next connection gets both, and the `accept()` after it fails.
#[test]
fn a_want_of_descriptors_from_the_next_connection_on() {
    run_alone("healing::with_one_descriptor");
}

#[test]
#[ignore = "lowers a limit of its process: run by a_want_of_descriptors_from_the_next_connection_on"]
fn with_one_descriptor() {
    dies_of_no_descriptor(1);
}

fn dies_of_no_descriptor(left: usize) {
    // Which of them depends on who is faster to the last ones: the supervisor needs some for a moment, too.
    const NOTICED: [&str; 3] =
        ["no descriptor is left to probe", "the accept loop doesn't answer", "the accept loop ended"];
    Ear::open();
    let house = house_without_probes();
    let stream = open_stream(&house);
    let latecomers = Latecomers::new();
    let (soft, hard) = Resource::NOFILE.get().unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    Resource::NOFILE.set(open + 20, hard).unwrap();
    let mut taken = take_all_descriptors();
    taken.truncate(taken.len() - left);
    let late = latecomers.ask(&house);
    eventually("it is noticed", || {
        if left == 0 {
            taken.extend(take_all_descriptors());
        }
        NOTICED.iter().any(|words| Ear::has_heard(words))
    });
    assert_eq!(house.server().load().rebuilds_total, 0, "with nothing to build it from");
    drop(taken);
    Resource::NOFILE.set(soft, hard).unwrap();
    eventually("the accept loop is rebuilt", || house.server().load().rebuilds_total > 0);
    let lost = late.into_iter().filter(|client| !is_served(client)).count();
    assert!(lost <= 1, "{lost} are lost, and not only the one over which tiny_http fell");
    is_whole_again(&house, stream);
}

/// Whether an answer comes at all.
fn is_served(client: &Client) -> bool {
    let mut start = [0; 12];
    (&mut client.stream()).read_exact(&mut start).is_ok_and(|()| &start == b"HTTP/1.1 200")
}

fn take_all_descriptors() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[test]
fn a_want_of_threads() {
    run_alone("healing::with_no_room_for_a_thread");
}

/// A thread that can't be started is a panic in tiny_http's accept loop, which says nothing.
#[test]
#[ignore = "lowers a limit of its process: run by a_want_of_threads"]
fn with_no_room_for_a_thread() {
    dies_of_no_room_for_a_thread(&house_without_probes(), PassedOn::Yes);
}

#[test]
fn a_want_of_threads_that_nobody_hears_of() {
    run_alone("healing::with_no_room_for_a_thread_and_no_word");
}

/// Where the program has its own way with panics, the probes find out.
#[test]
#[ignore = "lowers a limit of its process: run by a_want_of_threads_that_nobody_hears_of"]
fn with_no_room_for_a_thread_and_no_word() {
    dies_of_no_room_for_a_thread(&House::new(), PassedOn::No);
}

/// Whether the server hears of a panic.
#[derive(PartialEq)]
enum PassedOn {
    Yes,
    No,
}

fn dies_of_no_room_for_a_thread(house: &House, passed_on: PassedOn) {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let stream = open_stream(house);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        if passed_on == PassedOn::Yes {
            before(info);
        }
    }));
    let (soft, hard) = Resource::AS.get().unwrap();
    // Room for the small things, not for a stack.
    Resource::AS.set(address_space() + 1024 * 1024, hard).unwrap();
    let mut crowd = Vec::new();
    eventually("a thread can't be started", || {
        crowd.push(TcpStream::connect(house.address).unwrap());
        PANICS.load(Ordering::SeqCst) > 0
    });
    Resource::AS.set(soft, hard).unwrap();
    eventually("the accept loop is rebuilt", || house.server().load().rebuilds_total > 0);
    is_whole_again(house, stream);
}

fn address_space() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 4096
}
