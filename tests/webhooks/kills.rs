//! Tests of `kill -9` at random moments: the end of each search that was accepted is delivered at least once, and each
//! time under the same id.
//!
//! `SIGHTLINE_TEST_KILLS_WEBHOOKS` is the number of kills for each database, and `SIGHTLINE_TEST_DELIVERIES` the number of
//! messages to receivers that misbehave.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::lab::{create, id, key_flag, lab, send};
use crate::support::chance::{Chance, setting};
use crate::support::databases::{TestDatabase, postgres, sqlite};
use crate::support::server::Server;
use crate::support::site::{Received, Site, drip, flood, hold, to};
use crate::support::tier::often;
use crate::support::{awaited, eventually};

/// The searches that are started in each life of the process.
const SEARCHES: usize = 30;

#[test]
fn nothing_is_lost_by_kills_on_sqlite() {
    nothing_is_lost_by_kills(&sqlite());
}

#[test]
fn nothing_is_lost_by_kills_on_postgresql() {
    nothing_is_lost_by_kills(&postgres());
}

/// How the receivers of the backlog answer. Only the first three take all messages in the end.
const RECEIVERS: [&str; 8] = ["/big", "/slow", "/once500", "/hang", "/drop", "/500", "/301", "/410"];
const TAKING: usize = 3;

fn nothing_is_lost_by_kills(database: &TestDatabase) {
    let kills = setting("SIGHTLINE_TEST_KILLS_WEBHOOKS", often(2, 10));
    let backlog = usize::try_from(setting("SIGHTLINE_TEST_DELIVERIES", often(80, 320))).unwrap();
    let mut chance = Chance::new(setting("SIGHTLINE_TEST_KILLS_SEED", 7));
    let site = Site::start(answer);
    let backlog_site = hostile();
    let flags = ["--allow-private-targets".to_owned(), key_flag(), "--times=lease=5s".to_owned()];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut server = lab(database).flag("--times=lease=5s").start();
    create(&server, &site.url("/"));
    let hostile = Backlog::new(&server, &backlog_site, backlog / RECEIVERS.len());
    let mut accepted = BTreeSet::new();
    for _ in 0..kills {
        // A message counts before it is answered, so the kill may meet some that are under way.
        let until = site.received().len() + 1 + chance.below(SEARCHES / 2);
        for number in 0..SEARCHES {
            let body = json!({"type": "username", "query": format!("alice{number}"), "modules": ["github"]});
            accepted.insert(server.post(&body).json()["run_id"].as_str().unwrap().to_owned());
        }
        eventually("messages arrive", || site.received().len() >= until);
        // Memory does not grow with the messages that wait, nor with what receivers answer.
        let memory = server.of_process("VmHWM");
        assert!(memory < 400_000, "{memory} kB");
        server.kill();
        server = server.restart(&flags);
    }
    let ids = awaited("the end of each search arrives", || {
        let ids = ids_by_run(&site);
        let missing = accepted.iter().filter(|run| !ids.contains_key(*run)).count();
        if missing == 0 { Ok(ids) } else { Err(format!("{missing} of {} are missing", accepted.len())) }
    });
    assert!(ids.values().all(|ids| ids.len() == 1), "a delivery changed its id: {ids:?}");
    assert_eq!(ids.len(), accepted.len());
    hostile.is_complete(&server, &backlog_site);
}

fn answer(stream: &mut TcpStream, _: &Received) {
    let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
}

/// Returns a site with a receiver of each kind.
fn hostile() -> Site {
    let seen: Mutex<BTreeSet<String>> = Mutex::default();
    Site::start(move |stream, request| match request.path() {
        "/big" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n");
            flood(stream, &[b'x'; 4096], 10_000_000);
        }
        // The head is complete after about a second.
        "/slow" => drip(stream, *b"HTTP/1.1 200 OK\r\n\r\n"),
        "/once500" if !seen.lock().unwrap().insert(request.header("webhook-id").unwrap()) => {
            answer(stream, request);
        }
        "/hang" => hold(stream),
        "/drop" => {}
        "/301" => drop(stream.write_all(&to(301, "/big"))),
        "/410" => drop(stream.write_all(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n")),
        _ => drop(stream.write_all(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")),
    })
}

/// Messages to receivers that misbehave: the webhook of each receiver with the ids of its deliveries.
struct Backlog(Vec<(Value, BTreeSet<String>)>);

impl Backlog {
    fn new(server: &Server, site: &Site, each: usize) -> Self {
        let webhooks = RECEIVERS.map(|path| create(server, &site.url(path)));
        let deliveries = webhooks.map(|webhook| {
            // The first answer may disable the webhook, so the messages to it are fewer.
            let sent = (0..each).map_while(|_| {
                let answer = send(server, "POST", &format!("/{}/test", id(&webhook)), None);
                (answer.status == 202).then(|| id(&answer.json()).to_owned())
            });
            let sent: BTreeSet<String> = sent.collect();
            (webhook, sent)
        });
        Self(deliveries.into())
    }

    /// Checks that every message is still known, and that receivers that take messages have got all of theirs.
    fn is_complete(&self, server: &Server, site: &Site) {
        for (webhook, sent) in &self.0[..TAKING] {
            awaited("the backlog is delivered", || {
                let missing = sent.difference(&with_status(server, webhook, &["delivered"])).count();
                if missing == 0 {
                    Ok(())
                } else {
                    Err(format!("{missing} to {} are missing", webhook["url"]))
                }
            });
            let received: BTreeSet<String> =
                site.received().iter().filter_map(|request| request.header("webhook-id")).collect();
            assert!(sent.is_subset(&received), "{}", webhook["url"]);
        }
        for (webhook, sent) in &self.0[TAKING..] {
            let known = with_status(server, webhook, &["pending", "failed"]);
            assert!(sent.is_subset(&known), "{}: {} of {}", webhook["url"], known.len(), sent.len());
        }
    }
}

/// Returns the deliveries to a webhook that are in one of the states.
fn with_status(server: &Server, webhook: &Value, states: &[&str]) -> BTreeSet<String> {
    let (mut found, mut cursor) = (BTreeSet::new(), String::new());
    loop {
        let path = format!("/{}/deliveries?limit=100{cursor}", id(webhook));
        let page = send(server, "GET", &path, None).json();
        let deliveries = page["deliveries"].as_array().unwrap();
        let wanted = deliveries.iter().filter(|it| states.contains(&it["status"].as_str().unwrap()));
        found.extend(wanted.map(|delivery| id(delivery).to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { return found };
        cursor = format!("&cursor={next}");
    }
}

/// Returns the ids under which the end of each run was delivered.
fn ids_by_run(site: &Site) -> BTreeMap<String, BTreeSet<String>> {
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for request in site.received() {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let run = body["data"]["run_id"].as_str().unwrap().to_owned();
        ids.entry(run).or_default().insert(request.header("webhook-id").unwrap());
    }
    ids
}
