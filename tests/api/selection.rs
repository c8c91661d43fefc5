//! The choice of modules in a request body.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::server::{Server, Setup};

/// Runs a search with these additional members. Returns the modules that it asked, and checks its price.
fn asked(server: &Server, search_type: &str, query: &str, choice: &Value) -> BTreeSet<String> {
    let mut body = json!({"type": search_type, "query": query, "wait": true});
    body.as_object_mut().unwrap().extend(choice.as_object().unwrap().clone());
    let answer = server.post(&body);
    assert_eq!(answer.status, 200, "{answer}");
    let run = answer.json()["run_id"].as_str().unwrap().to_owned();
    let total = server.finished(&run)["progress"]["modules_total"].as_u64().unwrap();
    let reports = server.get(&format!("/v1/searches/{run}/modules")).json();
    let ids: BTreeSet<String> = reports["modules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|report| report["module"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len() as u64, total);
    ids
}

/// Returns the ids of the modules for which `holds` is true.
fn catalogued(server: &Server, holds: impl Fn(&Value) -> bool) -> BTreeSet<String> {
    server.get("/v1/modules").json()["modules"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|module| holds(module))
        .map(|module| module["id"].as_str().unwrap().to_owned())
        .collect()
}

fn set(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn a_choice_decides_which_modules_are_asked() {
    let server = Setup::new().all_modules().start();
    let standard = |kind: &'static str| {
        move |module: &Value| {
            module["type"] == kind
                && module["enabled"] == true
                && module["discovery"] == false
                && module["premium"] == false
        }
    };
    let by_default = catalogued(&server, |module| standard("username")(module) && module["nsfw"] == false);
    assert_eq!(asked(&server, "username", "alice", &json!({})), by_default);

    let two = json!({"modules": ["github", "gitlab", "github"]});
    assert_eq!(asked(&server, "username", "alice", &two), set(&["github", "gitlab"]));
    let one = json!({"modules": ["github", "gitlab"], "exclude_modules": ["gitlab", "crt_sh"]});
    assert_eq!(asked(&server, "username", "alice", &one), set(&["github"]));

    let coding = catalogued(&server, |module| standard("username")(module) && module["category"] == "coding");
    assert!(coding.len() > 5 && coding.len() < by_default.len(), "{coding:?}");
    assert_eq!(asked(&server, "username", "alice", &json!({"categories": ["coding"]})), coding);

    let everything = catalogued(&server, standard("username"));
    assert_eq!(asked(&server, "username", "alice", &json!({"nsfw": true})), everything);
    let adult: BTreeSet<String> = everything.difference(&by_default).cloned().collect();
    assert!(!adult.is_empty());
    assert_eq!(asked(&server, "username", "alice", &json!({"modules": adult})), adult);

    let passive =
        catalogued(&server, |module| standard("domain")(module) && module["contact"] == "third_party");
    assert!(passive.len() > 5 && passive.len() < catalogued(&server, standard("domain")).len());
    assert_eq!(asked(&server, "domain", "example.com", &json!({"passive": true})), passive);
}

#[test]
fn a_disabled_module_has_a_reason_and_is_refused() {
    let server = Setup::new().all_modules().start();
    let list = server.get("/v1/modules").json();
    let module = |id: &str| {
        let mut modules = list["modules"].as_array().unwrap().iter();
        modules.find(|module| module["id"] == id).unwrap().clone()
    };
    let reddit = module("reddit");
    assert_eq!((&reddit["enabled"], &reddit["verified"]), (&json!(false), &Value::Null), "{reddit}");
    assert_eq!(reddit["off"]["date"], "2026-08-06", "{reddit}");
    assert!(reddit["off"]["reason"].as_str().unwrap().contains("403"), "{reddit}");
    let hashnode = module("hashnode");
    assert_eq!((&hashnode["enabled"], &hashnode["off"]), (&json!(true), &Value::Null), "{hashnode}");
    assert_eq!(hashnode["verified"], json!({"by": "list", "date": "2026-03-09"}));
    let named = json!({"type": "username", "query": "alice", "modules": ["reddit"]});
    let error = server.post(&named).is_error(400, "invalid_request");
    assert_eq!(error["detail"]["names"], json!(["reddit"]));
}

/// Modules that are asked only in other searches.
#[test]
fn a_choice_of_modules_that_are_not_asked_is_refused() {
    let server = Setup::new().all_modules().start();
    for (kind, search_type, query) in
        [("discovery", "email", "alice@example.com"), ("premium", "username", "alice")]
    {
        let enabled = catalogued(&server, |module| module[kind] == true && module["enabled"] == true);
        let first = enabled.first().unwrap();
        let body = json!({"type": search_type, "query": query, "modules": [first]});
        let error = server.post(&body).is_error(400, "invalid_request");
        assert_eq!(
            (&error["detail"]["field"], &error["detail"]["names"]),
            (&json!("modules"), &json!([first]))
        );
    }
}
