//! Searches of one account that ask a module the same query share its answer.

use super::*;
use crate::support::admin;

const SHARED: &str = "sightline_shared_answers_total";

/// Starts a server with the one module `m`, whose answers it shares for this time.
fn sharing_for(site: &Site, time: &str) -> Server {
    server_for(site, &[site.module("m", 1)], &[&format!("--times=share-answers={time}")])
}

fn outcome(server: &Server, run: &str) -> String {
    ended(server, run, "m").0["status"].as_str().unwrap().to_owned()
}

#[test]
fn two_searches_at_once_and_a_later_one_ask_a_site_once() {
    let site = Site::start();
    let server = sharing_for(&site, "10m");
    let first = server.search("username", "alice");
    site.wait_for_held(1);
    let second = server.search("username", "alice");
    eventually("the second waits for the first", || server.figure("sightline_checks_waiting") == 1.0);
    assert_eq!(server.figure("sightline_check_workers_busy"), 1.0, "without a worker");
    site.answer_one(200);
    for run in [first, second] {
        assert_eq!(outcome(&server, &run), "hit");
    }
    let third = server.search("username", "@alice");
    assert_eq!(server.finished(&third)["total_results"], 1, "the normal form is the same");
    let report = server.get(&format!("/v1/searches/{third}/modules")).json()["modules"][0].clone();
    assert_eq!((&report["status"], &report["elapsed_ms"]), (&json!("hit"), &json!(0)));
    assert_eq!(report["http_status"], 200);
    assert_eq!((site.asked().len(), server.figure(SHARED)), (1, 2.0));
    let module = server.get("/v1/modules").json()["modules"][0].clone();
    assert_eq!(module["health"]["checks"], 1, "its health counts one check: {module}");
}

#[test]
fn a_search_whose_answers_are_all_shared_does_not_wait() {
    let site = Site::start();
    let server = sharing_for(&site, "10m");
    site.answer_at_once("m", 200);
    let checkpoints = || {
        let figure = "sightline_store_operation_duration_seconds_count{operation=\"checkpoint\"}";
        let page = admin::get(admin::admin_of(&server), "/metrics");
        admin::figure(page.text(), figure).unwrap_or(0.0)
    };
    let found = || {
        let run = server.search("username", "alice");
        server.finished(&run)["total_results"].clone()
    };
    assert_eq!(found(), 1);
    // A search writes its first checkpoint after a second. On a busy machine some may take as long.
    let before = checkpoints();
    for _ in 0..10 {
        assert_eq!(found(), 1);
    }
    assert_eq!(server.figure(SHARED), 10.0);
    assert!(checkpoints() - before < 10.0, "each of them waited for its first checkpoint");
}

#[test]
fn only_searches_of_one_account_for_one_query_share() {
    let site = Site::start();
    let server = sharing_for(&site, "10m");
    site.answer_at_once("m", 404);
    let other = server.new_key("unlimited");
    let alice = server.search("username", "alice");
    assert_eq!(outcome(&server, &alice), "miss");
    let bob = server.search("username", "bob");
    assert_eq!((outcome(&server, &bob), site.asked().len()), ("miss".into(), 2));
    let body = json!({"type": "username", "query": "alice", "wait": true});
    let foreign = server.request("POST", "/v1/searches").key(&other).json(&body).send();
    assert_eq!((&foreign.json()["coverage"]["miss"], site.asked().len()), (&json!(1), 3));
    // An answer is forgotten with the search that got it.
    let deleted = server.delete(&format!("/v1/searches/{alice}"));
    assert_eq!(deleted.status, 204, "{deleted}");
    for (query, requests) in [("alice", 4), ("bob", 4)] {
        let run = server.search("username", query);
        assert_eq!((outcome(&server, &run), site.asked().len()), ("miss".into(), requests), "{query}");
    }
}

#[test]
fn a_failure_is_not_shared() {
    let site = Site::start();
    let server = sharing_for(&site, "10m");
    let runs = [(); 2].map(|()| server.search("username", "alice"));
    site.wait_for_held(1);
    eventually("the second waits for the first", || server.figure("sightline_checks_waiting") == 1.0);
    assert_eq!(server.figure("sightline_check_workers_busy"), 1.0, "without a worker");
    site.answer_one(429);
    // The one that waited asks the site itself.
    site.answer_one(503);
    let mut outcomes = runs.map(|run| outcome(&server, &run));
    outcomes.sort();
    assert_eq!((outcomes, site.asked().len()), (["error", "rate_limited"].map(str::to_owned), 2));
    let later = server.search("username", "alice");
    site.answer_one(200);
    assert_eq!((outcome(&server, &later), server.figure(SHARED)), ("hit".into(), 0.0));
}

#[test]
fn an_answer_expires_and_with_a_time_of_zero_none_is_shared() {
    let site = Site::start();
    site.answer_at_once("m", 404);
    let server = sharing_for(&site, "1s");
    eventually("the site is asked again", || {
        let run = server.search("username", "alice");
        outcome(&server, &run);
        site.asked().len() == 2
    });
    let asked = site.asked().len();
    let server = sharing_for(&site, "0s");
    for more in 1..=2 {
        let run = server.search("username", "alice");
        outcome(&server, &run);
        assert_eq!(site.asked().len(), asked + more);
    }
}
