//! Modules that were not asked, or not until the configured deadline, in all views of one search.

use std::time::Duration;

use serde_json::{Value, json};

use super::Desk;
use crate::speed::circuits::{free_port, modules};
use crate::speed::site::Site;
use crate::support::server::Setup;

const EMAIL: &str = "ann@example.com";

/// Starts a search of these modules, or of all modules. Returns its id.
fn start(desk: &Desk, modules: &[&str], budget: Option<u64>) -> String {
    let mut body = json!({"type": "username", "query": "alice"});
    if !modules.is_empty() {
        body["modules"] = json!(modules);
    }
    if let Some(secs) = budget {
        body["time_budget"] = json!(secs);
    }
    desk.server.post(&body).json()["run_id"].as_str().unwrap().to_owned()
}

/// Starts a server on which searches open the circuit of `down`, put `lies` in quarantine and learn the deadline of
/// `slow`, and signs in.
fn prepare(site: &Site) -> Desk {
    let mut all: Vec<Value> = modules(site, free_port()).into();
    all.extend([site.module("slow", 2), site.module("silent", 3), site.module("lies", 4)]);
    all[4]["control"] = json!(true);
    site.answer_at_once("lies", 200);
    let setup =
        Setup::real().flag("--no-builtin").flag("--allow-private-targets").flag("--times=host-retry=1h");
    let setup = setup.flag("--times=quarantine-retry=1h").flag("--times=control-ttl=0s");
    let mut desk = Desk::new(setup.flag("--check-timeout=60s").flag(&site.catalog(&all)));
    desk.sign_up(EMAIL, "pro");
    desk.server.key = desk.server.cli(&["key", "create", "--account", EMAIL]).trim().to_owned();
    for _ in 0..5 {
        let run = start(&desk, &["up", "down", "slow", "lies"], None);
        site.answer_one(200);
        desk.server.finished(&run);
    }
    desk
}

#[test]
fn every_view_says_how_many_modules_were_cut_and_why() {
    let site = Site::start();
    let desk = prepare(&site);
    let health = desk.server.get("/v1/modules").json();
    let slow = health["modules"].as_array().unwrap().iter().find(|module| module["id"] == "slow").unwrap();
    let learnt = Duration::from_millis(slow["health"]["deadline_ms"].as_u64().unwrap());
    let run = start(&desk, &[], Some(learnt.as_secs() + 8));
    let coverage = desk.server.finished(&run)["coverage"].clone();
    let counts = ["checked", "miss", "down", "quarantined", "cut_by_learnt_deadline", "cut_by_time_budget"];
    assert_eq!(counts.map(|name| &coverage[name]), [5, 1, 1, 1, 1, 1], "{coverage}");
    for reason in ["circuit_open", "quarantined", "learnt_deadline", "time_budget"] {
        let figure = desk.server.figure(&format!("sightline_checks_cut_total{{reason=\"{reason}\"}}"));
        assert_eq!(figure.to_bits(), 1f64.to_bits(), "{reason}: {figure}");
    }

    let since = coverage["down_since"].as_str().unwrap()[..16].replace('T', " ");
    let cuts = format!(
        "1 not asked: down since {since} UTC; 1 not asked: in quarantine; 1 cut short: learnt deadline; \
         1 cut short: time budget."
    );
    let report = desk.server.get(&format!("/v1/searches/{run}/export?format=html"));
    assert!(String::from_utf8_lossy(&report.body).contains(&format!("<p>{cuts}</p>")), "{report}");
    let page = format!("/app/searches/{run}");
    let answered = format!("1 of 5 sites gave an answer (20%). {cuts}");
    desk.open(&page);
    desk.reads(&answered);
}
