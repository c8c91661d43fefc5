//! Tests of `kill -9` at random moments: the end of each search that was accepted is delivered at least once, and each
//! time under the same id.
//!
//! `SIGHTLINE_TEST_KILLS_WEBHOOKS` is the number of kills for each database.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use serde_json::{Value, json};

use super::lab::{create, key_flag, lab};
use crate::http::chance::{Chance, setting};
use crate::net::site::Site;
use crate::support::databases::{TestDatabase, postgres, sqlite};
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

fn nothing_is_lost_by_kills(database: &TestDatabase) {
    let kills = setting("SIGHTLINE_TEST_KILLS_WEBHOOKS", 10);
    let mut chance = Chance::new(setting("SIGHTLINE_TEST_KILLS_SEED", 7));
    let site = Site::start(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
    });
    let flags = ["--allow-private-targets".to_owned(), key_flag(), "--lease=5s".to_owned()];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut server = lab(database).flag("--lease=5s").start();
    create(&server, &site.url("/"));
    let mut accepted = BTreeSet::new();
    for _ in 0..kills {
        // A message counts before it is answered, so the kill may meet some that are under way.
        let until = site.received().len() + 1 + chance.below(SEARCHES / 2);
        for number in 0..SEARCHES {
            let body = json!({"type": "username", "query": format!("alice{number}"), "modules": ["github"]});
            accepted.insert(server.post(&body).json()["run_id"].as_str().unwrap().to_owned());
        }
        eventually("messages arrive", || site.received().len() >= until);
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
