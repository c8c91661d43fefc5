//! The modules of a run, and the public description of the service.

use serde_json::{Value, json};

use crate::support::server::Setup;

#[test]
fn every_module_of_a_run_has_an_outcome() {
    let server = Setup::new().all_modules().realistic().flag("--check-timeout=3s").start();
    let run = server.search("username", "alice");
    let run = server.finished(&run);
    let modules = server.get(&format!("/v1/searches/{}/modules", run["run_id"].as_str().unwrap())).json();
    let rows = modules["modules"].as_array().unwrap();
    assert_eq!(modules["count"], rows.len());
    assert_eq!(run["progress"]["modules_total"], rows.len());
    for row in rows {
        let fields: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        let is_conclusive = row["status"] == "hit" || row["status"] == "miss";
        let mut wanted = vec!["module", "platform", "status", "reason", "http_status", "elapsed_ms"];
        wanted.extend((is_conclusive && row["reason"] != "known_unclear").then_some("rules"));
        wanted.extend((row["partial"] == true).then_some("partial"));
        assert_eq!(fields, wanted, "{row}");
        assert!(is_conclusive || row["reason"].is_string(), "an inconclusive outcome has a reason: {row}");
    }
    let health = server.get("/v1/modules").json();
    let asked =
        health["modules"].as_array().unwrap().iter().filter(|module| module["health"]["checks"] == 1).count();
    assert!(asked > 20, "the catalogue shows what the run taught");
}

#[test]
fn the_capabilities_have_the_limits_and_the_numbers_of_modules() {
    let flags = ["--rate-limits=search=30", "--base-url=https://api.example.org/", "--times=wait=30s"]
        .map(str::to_owned);
    let server = Setup::new().all_modules().flags(&flags).start();
    let capabilities = server.request("GET", "/v1/capabilities").send().json();
    let limits = &capabilities["limits"];
    assert_eq!((&limits["rate_limit_per_minute"], &limits["sync_wait_seconds"]), (&json!(30), &json!(30)));
    assert_eq!(capabilities["auth"]["plan_required"], json!(["pro", "unlimited"]));
    assert_eq!(capabilities["docs_url"], "https://api.example.org/docs");
    let modules = server.get("/v1/modules").json();
    let of = |wanted: &dyn Fn(&Value) -> bool| {
        let takes_part = |module: &&Value| module["enabled"] == true && module["nsfw"] == false;
        let modules = modules["modules"].as_array().unwrap().iter().filter(takes_part);
        modules.filter(|module| wanted(module)).count()
    };
    for kind in ["domain", "email", "username"] {
        let is_asked = |it: &Value| it["type"] == kind && it["discovery"] == false && it["premium"] == false;
        assert_eq!(capabilities["modules"][kind], of(&is_asked), "{kind}");
    }
    let premium = of(&|module| module["premium"] == true);
    assert!(premium > 20);
    assert_eq!(capabilities["premium"]["module_count"], premium);
}
