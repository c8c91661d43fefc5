//! Kills while a batch, watches and messages are under way: each search is made and charged once, each run of a watch is
//! compared, and each end is delivered at least once, each time under the same id.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::outages::kit::has_no_faults;
use crate::support::chance::{Chance, setting};
use crate::support::databases::{TestDatabase, on_each_database};
use crate::support::server::Server;
use crate::support::site::{Site, hold};
use crate::support::tier::often;
use crate::support::{awaited, eventually};
use crate::webhooks::lab::{deliveries, id, key_flag, lab, test};

const WATCHES: usize = 6;
/// The searches of the batch.
const SEARCHES: u64 = 200;
/// The messages to a receiver that hangs.
const HANGING: usize = 40;
const LEASE: &str = "--times=lease=5s";

on_each_database!(background_work_survives_kills);

fn create(server: &Server, path: &str, body: &Value) -> Value {
    let answer = server.call("POST", path, Some(body));
    assert_eq!(answer.status, 201, "{answer}");
    answer.json()
}

fn background_work_survives_kills(database: &TestDatabase) {
    let kills = setting("SIGHTLINE_TEST_KILLS", often(3, 10));
    let mut chance = Chance::new(setting("SIGHTLINE_TEST_KILLS_SEED", 7));
    let (receiver, hanging) =
        (Site::saying("HTTP/1.1 204 No Content\r\n\r\n"), Site::start(|stream, _| hold(stream)));
    let mut server = lab(database).flag(LEASE).start();
    let events = json!(["run.completed", "run.failed", "batch.completed"]);
    create(&server, "/v1/webhooks", &json!({"url": receiver.url("/"), "events": events}));
    let dead = json!({"url": hanging.url("/"), "events": ["watch.changed"]});
    let dead = create(&server, "/v1/webhooks", &dead);
    let waiting: BTreeSet<String> = (0..HANGING).map(|_| test(&server, &dead)).collect();
    let search = |query: String| json!({"type": "username", "query": query, "modules": ["github"]});
    for number in 0..WATCHES {
        let mut watch = search(format!("bob{number}"));
        watch["every"] = "1h".into();
        create(&server, "/v1/watches", &watch);
    }
    let searches: Vec<Value> = (0..SEARCHES).map(|number| search(format!("alice{number}"))).collect();
    let batch = create(&server, "/v1/batches", &json!({"searches": searches}))["batch_id"].clone();
    let path = format!("/v1/batches/{}?limit=1000", batch.as_str().unwrap());
    let mut before = runs_by_watch(database);
    for kill in 1..=kills {
        let made = SEARCHES * kill / (kills + 2) + chance.below(5) as u64;
        eventually("searches are made", || {
            let counts = server.get(&path).json()["counts"].clone();
            counts["completed"].as_u64().unwrap() + counts["running"].as_u64().unwrap() >= made
        });
        server.kill();
        server = server.restart(&["--allow-private-targets", &key_flag(), LEASE]);
        eventually("all runs that were due are started", || has_none_due(database));
        let after = runs_by_watch(database);
        // A watch whose last run was interrupted waits for its end.
        assert!(before.iter().zip(&after).all(|(before, after)| after - before <= 1), "{before:?} {after:?}");
        before = after;
        database.execute("UPDATE watches SET next_at = created_at WHERE NOT is_open");
    }
    let ended = awaited("the batch ends", || {
        let batch = server.get(&path).json();
        if batch["ended_at"].is_null() { Err(batch) } else { Ok(batch) }
    });
    assert_eq!(ended["counts"]["completed"], SEARCHES, "{ended}");
    let rows = ended["searches"].as_array().unwrap().iter().map(|row| row["run_id"].as_str().unwrap());
    assert_eq!(rows.collect::<BTreeSet<_>>().len() as u64, SEARCHES);
    eventually("all runs of watches were compared", || {
        has_none_due(database) && database.number("SELECT count(*) FROM watches WHERE is_open") == 0
    });
    let runs = database.number("SELECT count(*) FROM runs");
    assert_eq!(runs, SEARCHES as i64 + runs_by_watch(database).iter().sum::<i64>());
    assert_eq!(database.number("SELECT count(*) FROM charges"), runs);
    assert_eq!(database.number("SELECT count(*) FROM watches WHERE baseline IS NULL"), 0);
    assert_eq!(database.number("SELECT count(*) FROM watch_changes"), 0);
    has_no_faults(|sql| database.number(sql));
    let ids = awaited("the end of each search and of the batch arrives", || {
        let ids = ids_by_subject(&receiver);
        if ids.len() as i64 == runs + 1 { Ok(ids) } else { Err(format!("{} of {runs} + 1", ids.len())) }
    });
    assert!(ids.values().all(|ids| ids.len() == 1), "a delivery changed its id: {ids:?}");
    assert!(ids.contains_key(batch.as_str().unwrap()));
    let kept = deliveries(&server, &dead);
    let pending = kept.iter().filter(|delivery| delivery["status"] == "pending");
    assert_eq!(pending.map(|delivery| id(delivery).to_owned()).collect::<BTreeSet<_>>(), waiting);
}

/// Returns the numbers of runs of all watches.
fn runs_by_watch(database: &TestDatabase) -> Vec<i64> {
    let sql = "SELECT CAST(count(r.id) AS text) FROM watches w LEFT JOIN runs r ON r.watch = w.id \
               GROUP BY w.id ORDER BY w.id";
    database.texts(sql).iter().map(|text| text.parse().unwrap()).collect()
}

fn has_none_due(database: &TestDatabase) -> bool {
    database.number("SELECT count(*) FROM watches WHERE next_at = created_at AND NOT is_open") == 0
}

/// Returns the ids under which the end of each run and batch was delivered.
fn ids_by_subject(receiver: &Site) -> BTreeMap<String, BTreeSet<String>> {
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for request in receiver.received() {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let subject =
            body["data"]["run_id"].as_str().or(body["data"]["batch_id"].as_str()).unwrap().to_owned();
        ids.entry(subject).or_default().insert(request.header("webhook-id").unwrap());
    }
    ids
}
