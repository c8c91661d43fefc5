//! Circuit breakers: hosts that give no answer are not asked by each search.

use std::io::Write as _;
use std::net::TcpListener;

use super::*;
use crate::support::site::{self, page};

/// The host that refuses connections.
pub(super) const DOWN: &str = "127.0.0.9";

/// Returns the modules `up`, which a site answers at once, and `down`, whose host refuses connections at this port.
pub(super) fn modules(site: &Site, port: u16) -> [Value; 2] {
    site.answer_at_once("up", 404);
    let mut down = site.module("down", 9);
    down["probes"][0]["url"] = json!(format!("http://{DOWN}:{port}/{{query}}"));
    [site.module("up", 1), down]
}

pub(super) fn free_port() -> u16 {
    TcpListener::bind((DOWN, 0)).unwrap().local_addr().unwrap().port()
}

/// Answers all requests to the host with 404 until it is dropped.
fn bring_back(port: u16) -> site::Site {
    site::Site::on((DOWN, port), |socket, _| drop(socket.write_all(&page(404))))
}

/// Searches for a name, and returns the report of the module `down`, and the search.
fn search(server: &Server, name: &str) -> (Value, Value) {
    ended(server, &server.search("username", name), "down")
}

/// Searches until the circuit is open.
fn open_circuit(server: &Server) {
    for name in ["first", "second", "third"] {
        let (report, ended) = search(server, name);
        assert_eq!((&report["status"], &report["reason"]), (&json!("error"), &json!("connect")), "{name}");
        assert_eq!(ended["coverage"]["down"], 0, "{ended}");
    }
}

#[test]
fn a_host_that_is_back_is_found_again() {
    let (site, port) = (Site::start(), free_port());
    let server =
        server_for(&site, &modules(&site, port), &["--times=host-retry=1s", "--times=share-answers=0s"]);
    open_circuit(&server);
    let _back = bring_back(port);
    eventually("the trial is answered", || search(&server, "fourth").0["status"] == "miss");
    let (report, ended) = search(&server, "fifth");
    assert_eq!((&report["status"], &ended["coverage"]["down"]), (&json!("miss"), &json!(0)));
}
