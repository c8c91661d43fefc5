//! The number of checks that ask one host at once follows its answers, and that of a module in a day is limited.

use super::*;
use crate::support::admin;

#[test]
fn a_host_that_answers_gets_more_checks_at_once_and_one_that_refuses_gets_one() {
    let site = Site::start();
    let server = server_for(&site, &[site.module("host", 1)], &["--host-concurrency=3"]);
    let runs: Vec<String> = (0..10).map(|n| server.search("username", &format!("user{n}"))).collect();
    site.wait_for_held(2);
    site.answer_one(200);
    site.wait_for_held(3);
    site.answer_one(404);
    site.wait_for_held(3);
    assert_eq!(site.take_most_held(), 3, "not above the option");
    for _ in 0..3 {
        site.answer_one(429);
    }
    site.wait_for_held(1);
    site.take_most_held();
    for _ in 5..10 {
        site.answer_one(429);
    }
    let ended: Vec<Value> = runs.iter().map(|run| server.finished(run)).collect();
    assert_eq!(site.take_most_held(), 1);
    let of = |outcome: &str| ended.iter().filter(|run| run["coverage"][outcome] == json!(1)).count();
    assert_eq!((of("hit"), of("miss"), of("rate_limited")), (1, 1, 8));
}

#[test]
fn the_checks_of_a_day_are_counted_over_instances_and_restarts() {
    for database in databases() {
        let site = Site::start();
        site.answer_at_once("limited", 404);
        let mut module = site.module("limited", 1);
        module["per_day"] = json!(3);
        let catalog = [module];
        let start =
            || setup_for(&site, &catalog, &["--times=share-answers=0s"]).database(&database.url).start();
        let coverage =
            |server: &Server, name| server.finished(&server.search("username", name))["coverage"].clone();
        let mut first = start();
        assert_eq!(coverage(&first, "first")["miss"], 1);
        if database.name == "sqlite" {
            assert!(first.terminate().success());
        }
        let mut second = start();
        second.key.clone_from(&first.key);
        assert_eq!(coverage(&second, "second")["miss"], 1);
        assert_eq!(coverage(&second, "third")["miss"], 1);
        for server in if database.name == "sqlite" { vec![&second] } else { vec![&first, &second] } {
            let refused = coverage(server, "fourth");
            assert_eq!((&refused["miss"], &refused["limited"]), (&json!(0), &json!(1)), "{refused}");
        }
        assert_eq!(site.asked().len(), 3);
    }
}

#[test]
fn a_search_whose_answers_are_all_shared_does_not_wait() {
    let site = Site::start();
    let server = server_for(&site, &[site.module("m", 1)], &["--times=share-answers=10m"]);
    let saves = || {
        let figure = "sightline_store_operation_duration_seconds_count{operation=\"save\"}";
        let page = admin::get(admin::admin_of(&server), "/metrics");
        admin::figure(page.text(), figure).unwrap()
    };
    let found = |name| {
        let run = server.search("username", name);
        server.finished(&run)["total_results"].clone()
    };
    // A result is saved at once.
    site.answer_at_once("m", 200);
    assert_eq!(found("bob"), 1);
    site.answer_at_once("m", 404);
    assert_eq!(found("alice"), 0);
    // A search without results saves only to renew its lease, after a second. On a busy machine some may take as long.
    let before = saves();
    for _ in 0..10 {
        assert_eq!(found("alice"), 0);
    }
    assert_eq!(server.figure("sightline_shared_answers_total"), 10.0);
    assert!(saves() - before < 10.0, "each of them waited for the renewal");
}
