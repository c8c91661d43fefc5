//! Stopping a search, and asking again what gave no answer, as a client sees it.

use serde_json::{Value, json};

use crate::support::eventually;
use crate::support::gated_site::GatedSite;
use crate::support::server::{Answer, Server, Setup};

fn post(server: &Server, id: &str, what: &str) -> Answer {
    server.request("POST", &format!("/v1/searches/{id}/{what}")).key(&server.key).send()
}

fn run(server: &Server, id: &str) -> Value {
    server.get(&format!("/v1/searches/{id}")).json()
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
