//! Circuit breakers: hosts that give no answer are not asked by each search.

use std::io::Write as _;
use std::net::TcpListener;

use super::*;
use crate::support::site::{self, page};

/// The host that refuses connections.
pub(crate) const DOWN: &str = "127.0.0.9";

/// Returns the modules `up`, which a site answers at once, and `down`, whose host refuses connections at this port.
pub(crate) fn modules(site: &Site, port: u16) -> [Value; 2] {
    site.answer_at_once("up", 404);
    let mut down = site.module("down", 9);
    down["probes"][0]["url"] = json!(format!("http://{DOWN}:{port}/{{query}}"));
    [site.module("up", 1), down]
}

pub(crate) fn free_port() -> u16 {
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

fn is_open(report: &Value) -> bool {
    report["reason"] == "circuit_open"
}

#[test]
fn a_dead_host_is_not_asked_and_every_view_says_so() {
    for database in databases() {
        let (site, port) = (Site::start(), free_port());
        let modules = modules(&site, port);
        let start = || setup_for(&site, &modules, &["--times=host-retry=1h"]).database(&database.url).start();
        let server = start();
        open_circuit(&server);

        let (report, ended) = search(&server, "fourth");
        assert_eq!((&report["status"], is_open(&report)), (&json!("error"), true), "{report}");
        assert_eq!((&ended["coverage"]["down"], &ended["coverage"]["miss"]), (&json!(1), &json!(1)));
        assert_eq!(ended["coverage"]["down_since"], report["circuit"]["open_since"], "{ended}");
        assert!(report["circuit"]["next_try_at"].as_str() > report["circuit"]["open_since"].as_str());
        assert_eq!(health(&server, "down")["circuit"], report["circuit"]);
        assert_eq!(health(&server, "up")["circuit"], Value::Null);
        let figures = ["sightline_circuits_open", "sightline_checks_cut_total{reason=\"circuit_open\"}"];
        assert_eq!(figures.map(|name| server.figure(name)), [1.0, 1.0]);

        let named = json!({"type": "username", "query": "fifth", "modules": ["down"], "wait": true});
        let run = server.post(&named).json()["run_id"].as_str().unwrap().to_owned();
        let reason = super::ended(&server, &run, "down").0["reason"].take();
        assert_eq!(reason, "connect", "a named module is asked in any case");

        eventually("the circuit is stored", || server.cli(&["health", "list"]).contains(DOWN));
        let key = server.key.clone();
        drop(server);
        let mut server = start();
        server.key = key;
        eventually("the stored circuits are read", || server.figure("sightline_circuits_open") == 1.0);
        let (again, _) = search(&server, "sixth");
        assert_eq!((is_open(&again), &again["circuit"]), (true, &report["circuit"]));
        assert_eq!(server.cli(&["health", "reset", DOWN]).trim(), format!("host {DOWN}"));
        assert!(!server.cli(&["health", "list"]).contains(DOWN));
        assert!(server.cli(&["audit"]).contains("health.reset"));
        let _back = bring_back(port);
        eventually("the server has read the reset", || search(&server, "seventh").0["status"] == "miss");
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
