//! `--retain-days` and `migrate`: the real binary, on both databases.

use serde_json::{Value, json};

use crate::cli::{Ran, ran};
use crate::store::erasing::stands_in_log;
use crate::support::databases::{TestDatabase, databases, empty_databases};
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
        let audit: Value = serde_json::from_str(&server.cli(&["audit", "--format", "json"])).unwrap();
        let mut swept = audit.as_array().unwrap().iter().filter(|entry| entry["action"] == "runs.swept");
        assert_eq!((&swept.next().unwrap()["detail"]["runs"], swept.next()), (&json!(1), None));
        assert!(!server.log().contains("everybody"), "{}", server.log());
    }
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

fn migrate(database: &TestDatabase, flags: &[&str]) -> Ran {
    ran(&[&["migrate", "--database", &database.url], flags].concat(), &[])
}

#[test]
fn a_dry_run_says_what_a_run_then_does() {
    for database in empty_databases() {
        let dry = migrate(&database, &["--dry-run"]).code_is(1);
        assert!(dry.out.starts_with("would run schema\nwould run 0024_"), "{}", dry.out);
        if database.name == "sqlite" {
            assert!(!database.path().exists(), "a dry run made a file");
        } else {
            let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
            assert_eq!(database.number(tables), 0);
        }
        let done = migrate(&database, &[]).code_is(0);
        assert_eq!(done.out.lines().filter(|line| line.starts_with("ran ")).count(), dry.out.lines().count());
        assert!(done.out.ends_with(" is up to date\n"), "{}", done.out);
        for flags in [&["--dry-run"][..], &[]] {
            let nothing = migrate(&database, flags).code_is(0);
            assert!(
                nothing.out.ends_with(" is up to date\n") && nothing.out.lines().count() == 1,
                "{}",
                nothing.out
            );
        }
        let audit = ran(&["audit", "--database", &database.url], &[]).code_is(0).out;
        assert!(audit.contains(" schema.migrated by cli object=schema"), "{audit}");
    }
}
