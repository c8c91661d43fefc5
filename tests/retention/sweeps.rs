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

#[test]
fn writers_are_not_blocked_while_old_runs_are_removed() {
    on_both(&["--retain-days=1"], |server, database| {
        let account = "(SELECT id FROM accounts ORDER BY created_at LIMIT 1)";
        // 600 runs with 5 results each that ended 25 hours ago.
        let pile = match database.name {
            "sqlite" => format!(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
                 INSERT INTO runs (id, account, status, search_type, premium, simulated, total_results,
                     credits_charged, created_at, completed_at, query, progress, coverage, planned)
                 SELECT randomblob(16), {account}, 'completed', 'username', 0, 1, 5, 1, 1000,
                     (unixepoch('now') - 25 * 3600) * 1000 + i, 'x',
                     '{{}}', '{{}}', '[]' FROM n;
                 INSERT INTO results (run, id, dedup, record)
                 SELECT r.id, n.i, randomblob(16), printf('%.2000c', 'x')
                 FROM runs r, (SELECT 1 AS i UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5) n
                 WHERE r.created_at = 1000;"
            ),
            _ => format!(
                "INSERT INTO runs (id, account, status, search_type, premium, simulated, total_results,
                     credits_charged, created_at, completed_at, query, progress, coverage, planned)
                 SELECT gen_random_uuid(), {account}, 'completed', 'username', false, true, 5, 1, 'epoch',
                     now() - interval '25 hours' + i * interval '1 ms', 'x', '{{}}', '{{}}', '[]'
                 FROM generate_series(1, 600) i;
                 INSERT INTO results (run, id, dedup, record)
                 SELECT r.id, i, decode(md5(r.id::text || i), 'hex'), to_json(repeat('x', 2000))
                 FROM runs r, generate_series(1, 5) i WHERE r.created_at = 'epoch';"
            ),
        };
        database.try_to(&pile).unwrap();
        let old = || database.number("SELECT count(*) FROM runs WHERE query = 'x'");
        eventually("the pile is gone", || {
            let body = json!({"type": "username", "query": "nobody", "modules": ["github"], "wait": true});
            let answer = server.post(&body);
            assert_eq!((answer.status, &answer.json()["status"]), (200, &json!("completed")), "{answer}");
            old() == 0
        });
        // The removal takes several batches, so no writer waits for all of it.
        let batches: Vec<u64> = audit(server, &[])
            .iter()
            .filter(|entry| entry["action"] == "runs.swept")
            .map(|entry| entry["detail"]["runs"].as_u64().unwrap())
            .collect();
        assert_eq!(batches.iter().sum::<u64>(), 600);
        assert!(batches.iter().all(|runs| *runs <= 50), "{batches:?}");
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
