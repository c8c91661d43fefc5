//! Kills while watches start their runs: each interval has one run, charged once, and each run is compared.

use serde_json::json;

use crate::support::chance::{Chance, setting};
use crate::support::databases::{TestDatabase, postgres, sqlite};
use crate::support::eventually;
use crate::support::server::Setup;
use crate::support::tier::often;

const WATCHES: usize = 6;

#[test]
fn watches_survive_kills_on_sqlite() {
    watches_survive_kills(&sqlite());
}

#[test]
fn watches_survive_kills_on_postgresql() {
    watches_survive_kills(&postgres());
}

fn watches_survive_kills(database: &TestDatabase) {
    let mut chance = Chance::new(setting("SIGHTLINE_TEST_KILLS_SEED", 3));
    let mut server = Setup::new().database(&database.url).flag("--times=lease=5s").start();
    for number in 0..WATCHES {
        let query = format!("alice{number}");
        let body = json!({"type": "username", "query": query, "modules": ["github"], "every": "1h"});
        let answer = server.request("POST", "/v1/watches").key(&server.key).json(&body).send();
        assert_eq!(answer.status, 201, "{answer}");
    }
    let mut before = runs_by_watch(database);
    for _ in 0..setting("SIGHTLINE_TEST_KILLS", often(3, 10)) {
        let begun: usize = before.iter().sum();
        let until = begun + chance.below(WATCHES);
        eventually("runs are started", || {
            runs_by_watch(database).iter().sum::<usize>() >= until || has_none_due(database)
        });
        server.kill();
        server = server.restart(&["--times=lease=5s"]);
        eventually("all runs that were due are started", || has_none_due(database));
        let after = runs_by_watch(database);
        // A watch whose last run was interrupted waits for its end.
        assert!(before.iter().zip(&after).all(|(before, after)| after - before <= 1), "{before:?} {after:?}");
        before = after;
        database.execute("UPDATE watches SET next_at = created_at WHERE NOT is_open");
    }
    eventually("all runs were compared", || {
        has_none_due(database) && database.number("SELECT count(*) FROM watches WHERE is_open") == 0
    });
    let runs = database.number("SELECT count(*) FROM runs WHERE watch IS NOT NULL");
    assert_eq!(database.number("SELECT count(*) FROM charges WHERE kind = 'charge'"), runs);
    assert_eq!(database.number("SELECT count(*) FROM watches WHERE baseline IS NULL"), 0);
    assert_eq!(database.number("SELECT count(*) FROM watch_changes"), 0);
}

/// Returns the numbers of runs of all watches.
fn runs_by_watch(database: &TestDatabase) -> Vec<usize> {
    let sql = "SELECT CAST(count(r.id) AS text) FROM watches w LEFT JOIN runs r ON r.watch = w.id \
               GROUP BY w.id ORDER BY w.id";
    database.texts(sql).iter().map(|text| text.parse().unwrap()).collect()
}

fn has_none_due(database: &TestDatabase) -> bool {
    let sql = "SELECT count(*) FROM watches WHERE next_at = created_at AND NOT is_open";
    database.number(sql) == 0
}
