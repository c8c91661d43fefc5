//! `--retain-days`.

use serde_json::json;

use super::{audit, on_both};
use crate::store::erasing::stands_in_log;
use crate::support::databases::{TestDatabase, databases};
use crate::support::eventually;
use crate::support::server::Setup;

/// Changes the end of the run to so many days ago.
fn age(database: &TestDatabase, run: &str, days: i64) {
    let sql = match database.name {
        "sqlite" => format!(
            "UPDATE runs SET completed_at = completed_at - {days} * 86400000 WHERE id = X'{}'",
            run.replace('-', "")
        ),
        _ => {
            format!("UPDATE runs SET completed_at = completed_at - interval '{days} days' WHERE id = '{run}'")
        }
    };
    database.execute(&format!("{sql};"));
}

#[test]
fn an_old_run_is_removed_and_its_charge_is_kept() {
    for database in databases() {
        let server = Setup::new().database(&database.url).flag("--retain-days=2").start();
        let (old, young) = (server.search("username", "everybody"), server.search("username", "nobody"));
        server.finished(&old);
        server.finished(&young);
        let credits = server.get("/v1/credits").json();
        let deleted = server.search("username", "everybody_forgotten");
        server.finished(&deleted);
        let path = format!("/v1/searches/{deleted}");
        assert_eq!(server.delete(&path).status, 204);
        let as_deleted = server.get(&path).is_error(404, "not_found");
        if database.name == "sqlite" {
            // Not the database file: SQLite may leave copies of moved cells in unused bytes of a page.
            eventually("nothing of it is left in the write-ahead log", || {
                !stands_in_log(&database, "everybody_forgotten")
            });
        }

        age(&database, &old, 3);
        age(&database, &young, 1);
        // A run that has just ended stays in memory for a minute; one that ended 3 days ago does not.
        let server = server.restart(&["--retain-days=2"]);
        let path = format!("/v1/searches/{old}");
        let mut answers = Vec::new();
        eventually("the old run is gone", || {
            answers.push(server.get(&path).status);
            answers.last() == Some(&404)
        });
        for path in [path.clone(), format!("{path}/stream"), format!("{path}/modules")] {
            let gone = server.get(&path).is_error(404, "not_found");
            assert_eq!(gone["message"], as_deleted["message"], "{path}");
        }
        assert_eq!(server.delete(&path).status, 404);
        assert_eq!(server.get(&format!("/v1/searches/{young}")).status, 200);
        let list = server.get("/v1/searches").json();
        assert_eq!((&list["count"], &list["searches"][0]["run_id"]), (&json!(1), &json!(young)));
        assert_eq!(
            server.get("/v1/credits").json()["credits_used"],
            credits["credits_used"].as_u64().unwrap() + 1
        );
        assert_eq!(database.number("SELECT count(*) FROM charges"), 3);
        let swept: Vec<_> =
            audit(&server, &[]).into_iter().filter(|entry| entry["action"] == "runs.swept").collect();
        assert_eq!((swept.len(), &swept[0]["detail"]["runs"]), (1, &json!(1)));
        assert!(!server.log().contains("everybody"), "{}", server.log());
    }
}

#[test]
fn zero_days_keep_runs_for_ever() {
    on_both(&["--retain-days=0"], |server, database| {
        let old = server.search("username", "everybody");
        server.finished(&old);
        age(database, &old, 36_500);
        // When the last use of the key is stored, maintenance has run several times.
        let seen = "SELECT count(*) FROM api_keys WHERE last_used_at IS NOT NULL";
        eventually("maintenance has run", || database.number(seen) > 0);
        assert_eq!(database.number("SELECT count(*) FROM runs"), 1);
        assert_eq!(server.get(&format!("/v1/searches/{old}")).status, 200);
    });
}

/// At the start of a server, a clock that jumped ahead by 41 days looks like 41 days in which nothing happened.
#[test]
fn a_jump_of_the_clock_delays_removal() {
    for database in databases() {
        let start = || Setup::new().database(&database.url).flag("--retain-days=30").start();
        let server = start();
        let (old, other) = (server.search("username", "nobody"), server.search("username", "everybody"));
        server.finished(&old);
        server.finished(&other);
        drop(server);
        age(&database, &old, 41);
        let is_there = || database.number("SELECT count(*) FROM runs") == 2;
        // The same happens after a restart, whatever happened meanwhile.
        for _ in 0..2 {
            let server = start();
            eventually("it is told", || server.log().contains("the clock jumped ahead from"));
            assert_eq!(server.get("/v1/me").status, 200);
            // When the last use of the key is stored, maintenance has run several times.
            let seen = "SELECT count(*) FROM api_keys WHERE last_used_at IS NOT NULL";
            eventually("maintenance has run", || database.number(seen) > 0);
            assert!(is_there(), "it was removed");
            assert_eq!(server.log().matches("the clock jumped ahead from").count(), 1);
        }
        // It continues if something happened for longer than a day.
        age(&database, &other, 2);
        let _server = start();
        eventually("it is removed", || !is_there());
    }
}
