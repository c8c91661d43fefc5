//! An accept loop that dies is rebuilt, and no connection is lost by it.
//!
//! What it dies of are limits of the whole process, so each test runs in a process of its own.

use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use rlimit::Resource;

use super::kit::{Client, House, Pieces, get, run_alone, wait_until};

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

#[test]
fn a_want_of_descriptors() {
    run_alone("healing::with_few_descriptors");
}

#[test]
#[ignore = "lowers a limit of its process: run by a_want_of_descriptors"]
fn with_few_descriptors() {
    let house = House::new();
    let stream = open_stream(&house);
    let (soft, hard) = Resource::NOFILE.get().unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    Resource::NOFILE.set(open + 40, hard).unwrap();
    let mut crowd = Vec::new();
    while let Ok(client) = TcpStream::connect(house.address) {
        crowd.push(client);
    }
    wait_until("the accept loop is rebuilt", || {
        crowd.pop();
        house.server().load().rebuilds_total > 0
    });
    drop(crowd);
    Resource::NOFILE.set(soft, hard).unwrap();
    is_whole_again(&house, stream);
}

#[test]
fn a_want_of_threads() {
    run_alone("healing::with_no_room_for_a_thread");
}

/// A thread that can't be started is a panic in tiny_http's accept loop, which says nothing.
#[test]
#[ignore = "lowers a limit of its process: run by a_want_of_threads"]
fn with_no_room_for_a_thread() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let house = House::new();
    let stream = open_stream(&house);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        before(info);
    }));
    let (soft, hard) = Resource::AS.get().unwrap();
    // Room for the small things, not for a stack.
    Resource::AS.set(address_space() + 1024 * 1024, hard).unwrap();
    let mut crowd = Vec::new();
    wait_until("a thread can't be started", || {
        crowd.push(TcpStream::connect(house.address).unwrap());
        PANICS.load(Ordering::SeqCst) > 0
    });
    Resource::AS.set(soft, hard).unwrap();
    wait_until("the accept loop is rebuilt", || house.server().load().rebuilds_total > 0);
    is_whole_again(&house, stream);
}

fn address_space() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 4096
}
