//! Hosts that keep checks from a conclusion, in whatever way: searches stop waiting for them.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::support::modules::{entry, with};
use crate::support::site::{self, Received, page};

/// What a host does instead of an answer.
const KINDS: &[&str] = &[
    "silent",
    "head-drips",
    "head-only",
    "body-drips",
    "endless-body",
    "redirects-to-silent",
    "redirects-forever",
    "stalls-in-tls",
    "slow-403",
    "slow-429",
    "slow-500",
    "slow-garbage",
    "slow-reset-in-body",
];

/// Longer than what a search accepts of a host without a conclusion.
const SLOW: Duration = Duration::from_millis(1200);

/// A web on loopback. The host of the module `up` answers at once, and those of the kinds do so after `recover`.
struct Web {
    site: site::Site,
    has_recovered: Arc<AtomicBool>,
    server: Server,
}

impl Web {
    fn start(kinds: &[&str], flags: &[&str]) -> Self {
        let has_recovered = Arc::new(AtomicBool::new(false));
        let is_good = Arc::clone(&has_recovered);
        let site = site::Site::on_all_addresses(move |socket, request| {
            let mut words = request.path().split('/').skip(1);
            let (kind, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            // The client may have disconnected.
            let _ = match kind == "up" || name.starts_with("good") || is_good.load(Ordering::SeqCst) {
                true => socket.write_all(&page(404)),
                false => misbehave(socket, request, kind),
            };
        });
        let modules = ["up"].iter().chain(kinds).enumerate().map(|(host, kind)| {
            let scheme = if *kind == "stalls-in-tls" { "https" } else { "http" };
            let url = format!("{scheme}://127.0.0.{}:{}/{kind}/{{query}}", host + 1, site.addr.port());
            with(entry(kind, &url), &json!({"probes": [{"url": url, "follow": true}]}))
        });
        let catalog = Site::start();
        let server = server_for(&catalog, &modules.collect::<Vec<_>>(), flags);
        Self { site, has_recovered, server }
    }

    /// Searches for names at once. Returns the reason, or the outcome without one, of a module in each of the searches.
    fn ask_at_once(&self, module: &str, names: &[&str]) -> Vec<String> {
        let runs: Vec<String> = names.iter().map(|name| self.server.search("username", name)).collect();
        runs.iter().map(|run| self.ended(run, module)).collect()
    }

    fn ended(&self, run: &str, module: &str) -> String {
        let report = ended(&self.server, run, module).0;
        assert!(report["status"] != "hit" && (report["status"] != "miss" || report["reason"].is_null()));
        report["reason"].as_str().or(report["status"].as_str()).unwrap().to_owned()
    }

    fn ask(&self, module: &str, name: &str) -> String {
        self.ask_at_once(module, &[name]).remove(0)
    }

    /// Returns how many requests the host of a module got.
    fn requests(&self, module: &str) -> usize {
        let start = format!("/{module}/");
        self.site.received().iter().filter(|request| request.path().starts_with(&start)).count()
    }
}

fn misbehave(socket: &mut TcpStream, request: &Received, kind: &str) -> std::io::Result<()> {
    const HEAD: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n";
    let drip = |socket: &mut TcpStream| loop {
        socket.write_all(b"x")?;
        std::thread::sleep(Duration::from_millis(100));
    };
    let redirect = |socket: &mut TcpStream, target: &str| {
        let head = format!(
            "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        socket.write_all(head.as_bytes())
    };
    if kind.starts_with("slow") {
        std::thread::sleep(SLOW);
    }
    match kind {
        "head-drips" => {
            socket.write_all(b"HTTP/1.1 404 Not Found\r\nX: ")?;
            drip(socket)
        }
        "body-drips" => {
            socket.write_all(HEAD)?;
            drip(socket)
        }
        "endless-body" => {
            socket.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n")?;
            drip(socket)
        }
        "redirects-to-silent" => {
            let port = socket.local_addr()?.port();
            redirect(socket, &format!("http://127.0.9.9:{port}/silent/target"))
        }
        "redirects-forever" => {
            std::thread::sleep(SLOW / 2);
            redirect(socket, &format!("{}x", request.path()))
        }
        "slow-403" => socket.write_all(&page(403)),
        "slow-429" => socket.write_all(&page(429)),
        "slow-500" => socket.write_all(&page(500)),
        "slow-garbage" => socket.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        "slow-reset-in-body" => {
            socket.write_all(HEAD)?;
            socket.shutdown(Shutdown::Both)
        }
        _ => {
            if kind == "head-only" {
                socket.write_all(HEAD)?;
            }
            // Until the client gives up.
            socket.read(&mut [0]).map(drop)
        }
    }
}

#[test]
fn whatever_a_host_does_later_searches_do_not_wait_for_it() {
    let web = Web::start(KINDS, &["--check-timeout=2s", "--times=host-retry=1h"]);
    for name in ["first", "second", "third"] {
        let run = web.server.search("username", name);
        for kind in KINDS {
            assert_ne!(web.ended(&run, kind), "circuit_open", "{kind}, {name}");
        }
    }
    // One more search is enough, unless the machine was so busy that it held a check up itself.
    let mut number = 0;
    eventually("all are given up", || {
        number += 1;
        let run = web.server.search("username", &format!("later{number}"));
        KINDS.iter().all(|kind| web.ended(&run, kind) == "circuit_open")
    });
    let asked = || KINDS.iter().map(|kind| web.requests(kind)).collect::<Vec<_>>();
    let before = asked();
    let run = web.server.search("username", "last");
    for kind in KINDS {
        assert_eq!(web.ended(&run, kind), "circuit_open", "{kind}");
    }
    assert_eq!((web.ended(&run, "up").as_str(), asked()), ("miss", before));
}

#[test]
fn a_burst_of_searches_stops_waiting_for_a_host_that_is_not_known() {
    let web = Web::start(&["silent"], &["--check-timeout=3s", "--times=host-retry=1h"]);
    let names: Vec<String> = (0..10).map(|number| format!("name{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let reasons = web.ask_at_once("silent", &names);
    assert!(reasons.iter().filter(|reason| *reason == "circuit_open").count() >= 6, "{reasons:?}");
    assert!(web.requests("silent") <= 4, "{reasons:?}");
}

#[test]
fn a_host_that_concludes_for_some_names_is_cut_at_a_learnt_deadline_and_not_given_up() {
    let web = Web::start(&["silent"], &["--check-timeout=60s", "--times=host-retry=1h"]);
    for name in ["good1", "good2", "good3", "good4", "good5"] {
        assert_eq!(web.ask("silent", name), "miss");
    }
    let cut = "learnt_deadline";
    assert_eq!((web.ask("silent", "bad1").as_str(), web.ask("silent", "good6").as_str()), (cut, "miss"));
    assert_eq!(web.ask_at_once("silent", &["bad2", "bad3", "bad4", "bad5"]), [cut; 4]);
    assert_eq!(web.ask("silent", "good7"), "miss");
}

#[test]
fn a_site_that_was_good_is_given_up_and_found_when_it_recovers() {
    let kinds = ["body-drips", "slow-500"];
    let web = Web::start(&kinds, &["--check-timeout=60s", "--times=host-retry=1s"]);
    for kind in kinds {
        for name in ["good1", "good2", "good3", "good4", "good5"] {
            assert_eq!(web.ask(kind, name), "miss", "{kind}");
        }
    }
    let mut number = 0;
    let mut next = || {
        number += 1;
        format!("name{number}")
    };
    eventually("both are given up", || {
        let run = web.server.search("username", &next());
        kinds.iter().all(|kind| web.ended(&run, kind) == "circuit_open")
    });
    web.has_recovered.store(true, Ordering::SeqCst);
    eventually("both are found again", || {
        let run = web.server.search("username", &next());
        kinds.iter().all(|kind| web.ended(&run, kind) == "miss")
    });
    // Not only by their trials.
    let run = web.server.search("username", &next());
    assert_eq!(kinds.map(|kind| web.ended(&run, kind)), ["miss"; 2]);
}

#[test]
fn a_search_does_not_wait_for_the_trial_of_a_host() {
    let web = Web::start(&["silent"], &["--check-timeout=2s", "--times=host-retry=1s"]);
    let names: Vec<String> = (0..1000).map(|number| format!("name{number}")).collect();
    let mut names = names.iter();
    for _ in 0..3 {
        assert_eq!(web.ask("silent", names.next().unwrap()), "timeout_first_byte");
    }
    let asked = web.requests("silent");
    eventually("the host is tried again", || {
        assert_eq!(web.ask("silent", names.next().unwrap()), "circuit_open");
        web.requests("silent") > asked
    });
}
