//! The example clients through a proxy that cuts their connections, while streams reach their time limit and
//! the server restarts.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::example::{EXAMPLES, Ended, Example};
use crate::support::cutter::{Cutter, Way, cuts_of_a_search};
use crate::support::databases::{TestDatabase, postgres, sqlite};
use crate::support::server::{PATIENCE, Server, Setup};

/// A client behind a proxy and with an account of its own.
struct Client {
    example: Example,
    cutter: Cutter,
    key: String,
}

/// Runs the same search with all clients at once, with cuts from this seed and `whole` uncut streams between
/// them. `meanwhile` may replace the server.
fn search_with_all(
    server: Server,
    (seed, whole): (u64, usize),
    target: &[&str],
    meanwhile: impl FnOnce(Server) -> Server,
) -> Vec<Ended> {
    let clients: Vec<Client> = (seed..)
        .zip(EXAMPLES)
        .map(|(seed, example)| Client {
            example,
            cutter: Cutter::before(server.address, cuts_of_a_search(seed, whole)),
            key: server.new_key("pro"),
        })
        .collect();
    let (server, ended) = std::thread::scope(|scope| {
        let running: Vec<_> = clients
            .iter()
            .map(|client| {
                scope.spawn(|| client.example.at(client.cutter.address, &client.key).search(target))
            })
            .collect();
        all_have_been_cut(&server, &clients);
        let server = meanwhile(server);
        (server, running.into_iter().map(|client| client.join().unwrap()).collect::<Vec<_>>())
    });
    for (client, ended) in clients.iter().zip(&ended) {
        ended.has_everything(&server, &client.key);
        let cuts = client.cutter.made();
        let both = [Way::ToServer, Way::ToClient].iter().all(|way| cuts.iter().any(|cut| cut.way == *way));
        assert!(both && cuts.len() > 2, "hardly anything was cut: {cuts:?}\n{}", ended.said);
    }
    ended
}

/// Waits until each client has lost a stream, while a search is still running.
fn all_have_been_cut(server: &Server, clients: &[Client]) {
    let until = Instant::now() + PATIENCE;
    // The first two cuts are of the request that starts the search.
    while !clients.iter().all(|client| client.cutter.made().len() > 2) {
        assert!(Instant::now() < until, "the clients do not get ahead\n{}", server.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let is_running = |client: &Client| {
        let runs = server.request("GET", "/v1/searches").key(&client.key).send().json();
        runs["searches"][0]["status"] == "running"
    };
    assert!(clients.iter().any(is_running), "too late to disturb anything\n{}", server.log());
}

/// Starts a server that can restart at the same address.
fn start(database: &TestDatabase) -> (Server, Vec<String>) {
    let flags = vec![format!("--listen=127.0.0.1:{}", lasting_port()), "--sandbox=realistic".to_owned()];
    let setup =
        flags.iter().fold(Setup::new().all_modules().database(&database.url), |setup, flag| setup.flag(flag));
    (setup.start(), flags)
}

/// Returns a free port below those that the system assigns, so that nothing takes it while the server is
/// down.
fn lasting_port() -> u16 {
    let mut ports = (0..).map(|_| 20_000 + (uuid::Uuid::new_v4().as_u128() % 10_000) as u16);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

fn restart(server: Server, flags: &[String]) -> Server {
    let address = server.address;
    let server = server.restart(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(server.address, address);
    server
}

#[test]
fn cut_connections_and_reconnect_frames_cost_no_result() {
    let server = Setup::new().all_modules().realistic().flag("--stream-timeout=1s").start();
    for ended in search_with_all(server, (10, 1), &["domain", "example.org"], |server| server) {
        assert!(
            ended.said.contains("reconnect; again in 1"),
            "no stream reached its ceiling: {}",
            ended.said
        );
    }
}

#[test]
fn a_server_that_is_stopped_and_started_again_costs_no_result() {
    let database = sqlite();
    let (server, flags) = start(&database);
    search_with_all(server, (20, 0), &["username", "everybody"], |mut server| {
        assert!(server.terminate().success());
        restart(server, &flags)
    });
}

#[test]
fn a_server_that_is_killed_and_started_again_costs_no_result() {
    let database = postgres();
    let (server, flags) = start(&database);
    search_with_all(server, (30, 0), &["domain", "example.org"], |mut server| {
        server.kill();
        // Its lease would last for half a minute.
        database.execute("UPDATE runs SET owner = NULL WHERE status = 'running'");
        restart(server, &flags)
    });
}
