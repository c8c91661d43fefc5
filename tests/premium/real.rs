//! All browser modules with real pages: the simulated web gives the same verdicts through Chromium as without a
//! browser.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::eventually;
use crate::support::server::{Server, Setup};

/// The number of modules of one search. A search with all of them would reach the deadline of a run on a busy machine.
const AT_ONCE: usize = 8;

/// Returns the outcome and the rule of each of these modules in premium searches.
fn verdicts(server: &Server, query: &str, modules: &[String]) -> BTreeMap<String, String> {
    modules.chunks(AT_ONCE).flat_map(|modules| verdicts_of_one_search(server, query, modules)).collect()
}

fn verdicts_of_one_search(server: &Server, query: &str, modules: &[String]) -> Vec<(String, String)> {
    let key = &server.key;
    let body = json!({"type": "username", "query": query, "premium": true, "modules": modules});
    let started = server.request("POST", "/v1/searches").key(key).json(&body).send();
    assert_eq!(started.status, 200, "{started}");
    let path = format!("/v1/searches/{}", started.json()["run_id"].as_str().unwrap());
    eventually("the run ends", || server.request("GET", &path).key(key).send().json()["status"] != "running");
    let reports = server.request("GET", &format!("{path}/modules")).key(key).send().json();
    let reports = reports["modules"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    reports
        .iter()
        .map(|it| (text(&it["module"]), format!("{} {}", text(&it["status"]), text(&it["reason"]))))
        .collect()
}

fn results(server: &Server, query: &str, modules: &[String]) -> Vec<Value> {
    let body = json!({"type": "username", "query": query, "premium": true, "modules": modules, "wait": true});
    let run = server.request("POST", "/v1/searches").key(&server.key).json(&body).send().json();
    run["results"].as_array().cloned().unwrap_or_default()
}

#[test]
fn real_pages_have_the_outcomes_of_the_simulated_web() {
    let played = Setup::new().all_modules().start();
    let real = Setup::new().all_modules().flag("--webdriver=auto").flag("--check-timeout=2m").start();
    let list = played.get("/v1/modules").json();
    let premium: Vec<String> = list["modules"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|module| module["premium"] == true && module["enabled"] == true)
        .map(|module| module["id"].as_str().unwrap().to_owned())
        .collect();
    assert!(premium.len() > 20, "{premium:?}");
    // Some modules accept it only with a dot, and others only with a word before it.
    let mut hits = 0;
    for query in ["alice", "everybody.example"] {
        let wanted = verdicts(&played, query, &premium);
        let found = verdicts(&real, query, &premium);
        assert_eq!(found, wanted, "{query}");
        let conclusive = |verdict: &&String| verdict.starts_with("hit") || verdict.starts_with("miss");
        assert!(wanted.values().filter(conclusive).count() > 10, "{wanted:?}");
        hits += wanted.values().filter(|verdict| verdict.starts_with("hit")).count();
    }
    assert!(hits > 15, "{hits} hits");
    // The extractors find the rendered values in the document that the browser returns.
    let named = ["bluesky_web".to_owned()];
    let found = results(&real, "everybody.example", &named);
    assert_eq!(
        found[0]["metadata"]["display_name"],
        results(&played, "everybody.example", &named)[0]["metadata"]["display_name"]
    );
    assert!(found[0]["metadata"]["display_name"].is_string(), "{found:?}");
}
