//! The example clients through a proxy that cuts their connections, while streams reach their time limit and the server
//! is killed and started again.

use std::net::TcpListener;

use super::example::{EXAMPLES, Example};
use crate::support::databases::sqlite;
use crate::support::eventually;
use crate::support::relay::{Relay, Way, cuts_of_a_search};
use crate::support::server::{Server, Setup};

/// A client behind a proxy and with an account of its own.
struct Client {
    example: Example,
    cutter: Relay,
    key: String,
}

/// Returns a free port below those that the system assigns, so that nothing takes it while the server is down.
fn lasting_port() -> u16 {
    let mut ports = (0..).map(|_| 20_000 + (uuid::Uuid::new_v4().as_u128() % 10_000) as u16);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

#[test]
fn cut_connections_reconnect_frames_and_a_kill_cost_no_result() {
    let database = sqlite();
    let flags =
        [&format!("--listen=127.0.0.1:{}", lasting_port()), "--sandbox=realistic", "--times=stream=1s"];
    let setup = Setup::new().all_modules().database(&database.url);
    let mut server: Server = flags.iter().fold(setup, |setup, flag| setup.flag(flag)).start();
    let clients: Vec<Client> = (10..)
        .zip(EXAMPLES)
        .map(|(seed, example)| Client {
            example,
            cutter: Relay::cutting(server.address, cuts_of_a_search(seed)),
            key: server.new_key("pro"),
        })
        .collect();
    std::thread::scope(|scope| {
        let running: Vec<_> = clients
            .iter()
            .map(|it| {
                scope.spawn(|| it.example.at(it.cutter.address, &it.key).search(&["domain", "example.org"]))
            })
            .collect();
        // The first two cuts are of the request that starts the search.
        eventually("each client has lost a stream", || clients.iter().all(|it| it.cutter.made().len() > 2));
        server.kill();
        // Its lease would last for half a minute.
        database.execute("UPDATE runs SET owner = NULL WHERE status = 'running'");
        let server = server.restart(&flags);
        for (running, client) in running.into_iter().zip(&clients) {
            let ended = running.join().unwrap();
            ended.has_everything(&server, &client.key);
            assert!(
                ended.said.contains("reconnect; again in 1"),
                "no stream reached its limit: {}",
                ended.said
            );
            let cuts = client.cutter.made();
            let both =
                [Way::ToServer, Way::ToClient].iter().all(|way| cuts.iter().any(|cut| cut.way == *way));
            assert!(both, "hardly anything was cut: {cuts:?}\n{}", ended.said);
        }
    });
}
