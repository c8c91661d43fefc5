//! The examples through a proxy that cuts their connections, while streams reach their ceiling and the server comes
//! and goes.

use std::net::TcpListener;
use std::time::Instant;

use super::example::{EXAMPLES, Ended, Example};
use crate::support::cutter::{Cutter, Way, cuts_of_a_search};
use crate::support::databases::{TestDatabase, postgres, sqlite};
use crate::support::server::{PATIENCE, Server, Setup};

/// One that runs behind a proxy of its own, with an account of its own.
struct Client {
    example: Example,
    cutter: Cutter,
    key: String,
}

/// All of them at once look up the same; `meanwhile` may exchange the server.
fn search_with_all(
    server: Server,
    seed: u64,
    target: &[&str],
    meanwhile: impl FnOnce(Server) -> Server,
) -> Vec<Ended> {
    let clients: Vec<Client> = (seed..)
        .zip(EXAMPLES)
        .map(|(seed, example)| Client {
            example,
            cutter: Cutter::before(server.address, cuts_of_a_search(seed)),
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
        clients.iter().for_each(|client| something_is_found(&server, &client.key));
        let server = meanwhile(server);
        (server, running.into_iter().map(|client| client.join().unwrap()).collect::<Vec<_>>())
    });
    for (client, ended) in clients.iter().zip(&ended) {
        ended.has_everything(&server, &client.key);
        let cuts = client.cutter.made();
        let both = [Way::ToServer, Way::ToClient].iter().all(|way| cuts.iter().any(|cut| cut.way == *way));
        assert!(both && cuts.len() > 3, "hardly anything was cut: {cuts:?}\n{}", ended.said);
    }
    ended
}

/// Waits until its search is in full swing.
fn something_is_found(server: &Server, key: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let runs = server.request("GET", "/v1/searches").key(key).send().json();
        let run = &runs["searches"][0];
        if run["total_results"].as_u64().is_some_and(|results| results >= 10) {
            assert_eq!(run["status"], "running", "too late to disturb anything: {run}");
            return;
        }
        assert!(Instant::now() < until, "nothing is found: {runs}\n{}", server.log());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A server that can come back at the same address.
fn start(database: &TestDatabase) -> (Server, Vec<String>) {
    let flags = vec![format!("--listen=127.0.0.1:{}", lasting_port()), "--sandbox=realistic".to_owned()];
    let setup = flags.iter().fold(Setup::new().database(&database.url), |setup, flag| setup.flag(flag));
    (setup.start(), flags)
}

/// A free port that the system gives to nobody while a server is away: below those that it hands out.
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
    let server = Setup::new().realistic().flag("--stream-timeout=1s").start();
    for ended in search_with_all(server, 10, &["domain", "example.org"], |server| server) {
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
    search_with_all(server, 20, &["username", "everybody"], |mut server| {
        assert!(server.terminate().success());
        restart(server, &flags)
    });
}

#[test]
fn a_server_that_is_killed_and_started_again_costs_no_result() {
    let database = postgres();
    let (server, flags) = start(&database);
    search_with_all(server, 30, &["domain", "example.org"], |mut server| {
        server.kill();
        // Its lease would hold for half a minute.
        database.execute("UPDATE runs SET owner = NULL WHERE status = 'running'");
        restart(server, &flags)
    });
}
