//! Stopping a search, and asking again what gave no answer, as a client sees it.

use serde_json::{Value, json};

use crate::support::databases::databases;
use crate::support::gated_site::GatedSite;
use crate::support::server::{Answer, Server, Setup, run_ids};
use crate::support::{awaited, eventually};

fn post(server: &Server, id: &str, what: &str) -> Answer {
    server.request("POST", &format!("/v1/searches/{id}/{what}")).key(&server.key).send()
}

fn run(server: &Server, id: &str) -> Value {
    server.get(&format!("/v1/searches/{id}")).json()
}

fn used(server: &Server) -> u64 {
    server.get("/v1/credits").json()["credits_used"].as_u64().unwrap()
}

#[test]
fn a_search_is_stopped_and_its_rest_is_asked_again() {
    for database in databases() {
        let site = GatedSite::start();
        let server = Setup::real().database(&database.url).flags(&site.flags(3, 4)).start();
        let before = used(&server);
        let id = server.search("username", "alice");
        eventually("the quick sites have answered", || run(&server, &id)["total_results"] == 3);
        assert_eq!(post(&server, &id, "retry").status, 409);
        assert!(run(&server, &id)["stopped_at"].is_null());

        let stopped = post(&server, &id, "stop");
        assert_eq!(stopped.status, 200, "{stopped}");
        assert!(stopped.json()["stopped_at"].is_string(), "{stopped}");
        let ended = server.finished(&id);
        assert_eq!((&ended["status"], &ended["credits_charged"]), (&json!("completed"), &json!(1)));
        assert_eq!((&ended["coverage"]["hit"], &ended["coverage"]["skipped"]), (&json!(3), &json!(4)));
        assert_eq!(ended["stopped_at"], stopped.json()["stopped_at"]);
        let modules = server.get(&format!("/v1/searches/{id}/modules")).json();
        let reasons = modules["modules"].as_array().unwrap().iter().filter(|it| it["reason"] == "stopped");
        assert_eq!(reasons.count(), 4, "{modules}");
        // Nothing changes when it is stopped again.
        assert_eq!(post(&server, &id, "stop").json()["stopped_at"], ended["stopped_at"]);
        assert_eq!(server.finished(&id), ended);

        site.open();
        let key = ("Idempotency-Key", "again-1");
        let path = format!("/v1/searches/{id}/retry");
        let retry = || server.request("POST", &path).key(&server.key).header(key.0, key.1).send();
        let (first, second) = (retry(), retry());
        assert_eq!(first.status, 200, "{first}");
        let again = first.json()["run_id"].as_str().unwrap().to_owned();
        assert_eq!(second.json()["run_id"], again, "the key makes it one run");
        assert_eq!(first.header("location").unwrap(), format!("/v1/searches/{again}"));
        let again = server.finished(&again);
        assert_eq!((&again["retry_of"], &again["credits_charged"]), (&json!(id), &json!(1)));
        assert_eq!((&again["total_results"], &again["progress"]["modules_total"]), (&json!(4), &json!(4)));
        assert_eq!(used(&server) - before, 2);
        let nothing = post(&server, again["run_id"].as_str().unwrap(), "retry");
        assert_eq!(nothing.status, 409, "{nothing}");
        assert!(nothing.json()["message"].as_str().unwrap().contains("another answer"), "{nothing}");
        let path = format!("/v1/searches/{}/retry", again["run_id"].as_str().unwrap());
        let odd = server.request("POST", &path).key(&server.key).header("Idempotency-Key", &"x".repeat(256));
        assert_eq!(odd.send().status, 400);
    }
}

#[test]
fn a_search_that_is_stopped_before_any_answer_is_refunded() {
    for database in databases() {
        let site = GatedSite::start();
        let setup = Setup::real().database(&database.url).flags(&site.flags(0, 3));
        let server = setup.flag("--max-runs=1").start();
        let driven = server.search("username", "alice");
        eventually("it is driven", || site.asked("alice") == 3);
        let waiting = server.search("username", "bob");
        for id in [&waiting, &driven] {
            post(&server, id, "stop");
            let ended = server.finished(id);
            assert_eq!((&ended["status"], &ended["error"]["code"]), (&json!("failed"), &json!("stopped")));
            let (charged, skipped) = (&ended["credits_charged"], &ended["coverage"]["skipped"]);
            assert_eq!((charged, skipped), (&json!(0), &json!(3)), "{ended}");
        }
        assert_eq!((site.asked("bob"), used(&server)), (0, 0));
        site.open();
        let again = post(&server, &driven, "retry").json();
        let again = server.finished(again["run_id"].as_str().unwrap());
        assert_eq!((&again["credits_charged"], &again["retry_of"]), (&json!(1), &json!(driven)), "{again}");
        assert_eq!(again["total_results"], 3);
    }
}

#[test]
fn a_stopped_search_says_which_modules_were_not_asked() {
    let site = GatedSite::start();
    let server = Setup::real().flags(&site.flags(3, 60)).flag("--check-workers=16").start();
    // Sites that are known to be quick are asked first.
    let quick = ["site-127-0-2-1", "site-127-0-2-2", "site-127-0-2-3"];
    let body = json!({"type": "username", "query": "bob", "modules": quick});
    server.finished(server.post(&body).json()["run_id"].as_str().unwrap());
    let id = server.search("username", "alice");
    eventually("the quick sites have answered", || run(&server, &id)["total_results"] == 3);
    post(&server, &id, "stop");
    let coverage = &server.finished(&id)["coverage"];
    let count = |name: &str| coverage[name].as_u64().unwrap();
    assert!(count("stopped") > 0 && count("cut_by_stop") > 0, "{coverage}");
    assert_eq!(count("not_asked"), count("stopped"), "{coverage}");
    assert_eq!(count("stopped") + count("cut_by_stop"), 60, "{coverage}");
    assert_eq!((count("skipped"), count("applicable"), &coverage["ratio"]), (60, 63, &json!(0.048)));
    // A check that was given up may have had no time for its request.
    assert!(site.asked("alice") as u64 <= 3 + count("cut_by_stop"), "{coverage}");
    let said =
        format!("{} not asked: stopped; {} cut short: stopped", count("stopped"), count("cut_by_stop"));
    for format in ["md", "html", "graphml", "stix"] {
        let report = server.get(&format!("/v1/searches/{id}/export?format={format}"));
        let report = String::from_utf8_lossy(&report.body).into_owned();
        assert!(report.contains(&said) && report.contains("3 of 63 modules"), "{format}");
    }
    let metric = |reason: &str| server.figure(&format!("sightline_checks_cut_total{{reason=\"{reason}\"}}"));
    assert_eq!(metric("stopped") as u64, count("stopped"));
    assert_eq!(metric("given_up") as u64, count("cut_by_stop"));
}

#[test]
fn a_stopped_root_stops_the_search_that_its_lead_has_started() {
    for database in databases() {
        let site = GatedSite::start();
        let server = Setup::real().database(&database.url).flags(&site.family_flags()).start();
        let body = json!({"type": "username", "query": "alice", "follow": {"max_searches": 5}});
        let root = server.post(&body).json()["run_id"].as_str().unwrap().to_owned();
        assert_eq!(server.finished(&root)["total_results"], 1);
        let child = awaited("the lead is followed", || {
            let page = server.get(&format!("/v1/searches?root_run_id={root}")).json();
            run_ids(&page).into_iter().find(|id| *id != root).ok_or(page)
        });
        eventually("the quick site has answered", || run(&server, &child)["total_results"] == 1);
        assert_eq!(run(&server, &root)["follow"]["status"], "running");

        let stopped = post(&server, &root, "stop");
        assert_eq!(stopped.status, 200, "{stopped}");
        let ended = server.finished(&child);
        assert_eq!(ended["status"], "completed");
        assert_eq!(ended["query"], "alice@mail.example.net");
        assert!(ended["stopped_at"].is_string(), "{ended}");
        assert_eq!((&ended["coverage"]["hit"], &ended["coverage"]["skipped"]), (&json!(1), &json!(1)));
        eventually("no lead is followed", || run(&server, &root)["follow"]["status"] == "completed");
        site.open();
    }
}
