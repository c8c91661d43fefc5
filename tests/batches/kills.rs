//! Tests of `kill -9` at random moments: each search of a batch is made once and charged once, and the end of the batch
//! is reported.
//!
//! `SIGHTLINE_TEST_KILLS_BATCHES` is the number of kills for each database.

use std::io::Write as _;

use serde_json::{Value, json};

use super::{accepted, ended, read};
use crate::outages::kit::has_no_faults;
use crate::support::chance::{Chance, setting};
use crate::support::databases::{TestDatabase, postgres, sqlite};
use crate::support::eventually;
use crate::support::site::Site;
use crate::support::tier::often;
use crate::webhooks::lab::{key_flag, lab};

/// The searches of the batch.
const SEARCHES: usize = 200;

#[test]
fn each_search_is_made_once_despite_kills_on_sqlite() {
    each_search_is_made_once_despite_kills(&sqlite());
}

#[test]
fn each_search_is_made_once_despite_kills_on_postgresql() {
    each_search_is_made_once_despite_kills(&postgres());
}

fn each_search_is_made_once_despite_kills(database: &TestDatabase) {
    let kills = setting("SIGHTLINE_TEST_KILLS_BATCHES", often(3, 10));
    let mut chance = Chance::new(setting("SIGHTLINE_TEST_KILLS_SEED", 7));
    let site = Site::start(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
    });
    let flags = ["--allow-private-targets".to_owned(), key_flag(), "--times=lease=5s".to_owned()];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut server = lab(database).flag("--times=lease=5s").start();
    let webhook = json!({"url": site.url("/"), "events": ["batch.completed"]});
    let answer = server.request("POST", "/v1/webhooks").key(&server.key).json(&webhook).send();
    assert_eq!(answer.status, 201, "{answer}");
    let names: Vec<String> = (0..SEARCHES).map(|number| format!("alice{number}")).collect();
    let id = accepted(&server, &super::names(&names.iter().map(String::as_str).collect::<Vec<_>>()));
    for kill in 1..=kills {
        let most = SEARCHES as u64 * kill / (kills + 2) + chance.below(5) as u64;
        eventually("searches are made", || {
            let counts = read(&server, &id)["counts"].clone();
            counts["completed"].as_u64().unwrap() + counts["running"].as_u64().unwrap() >= most
        });
        server.kill();
        server = server.restart(&flags);
    }
    let batch = ended(&server, &id);
    assert_eq!(batch["counts"]["completed"], SEARCHES, "{batch}");
    let runs: std::collections::BTreeSet<&str> =
        batch["searches"].as_array().unwrap().iter().map(|row| row["run_id"].as_str().unwrap()).collect();
    assert_eq!(runs.len(), SEARCHES);
    assert_eq!(database.number("SELECT count(*) FROM runs"), SEARCHES as i64);
    assert_eq!(database.number("SELECT count(*) FROM charges"), SEARCHES as i64);
    has_no_faults(|sql| database.number(sql));
    eventually("the end is reported", || !site.received().is_empty());
    let ids: std::collections::BTreeSet<_> =
        site.received().iter().map(|request| request.header("webhook-id").unwrap()).collect();
    assert_eq!(ids.len(), 1, "the end is reported once");
    let body: Value = serde_json::from_slice(&site.received()[0].body).unwrap();
    assert_eq!((&body["type"], &body["data"]["batch_id"]), (&json!("batch.completed"), &json!(id)));
}
