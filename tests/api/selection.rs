//! The choice of modules: in a request body and on the command line.

use std::collections::BTreeSet;
use std::process::Command;

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

#[test]
fn an_empty_choice_is_refused_and_costs_nothing() {
    let server = Setup::new().all_modules().start();
    let enabled =
        |of: &'static str| catalogued(&server, move |module| module[of] == true && module["enabled"] == true);
    let (discovery, premium) = (enabled("discovery"), enabled("premium"));
    let first = |ids: &BTreeSet<String>| ids.iter().next().unwrap().clone();
    let many: Vec<String> = (0..1001).map(|number| format!("m{number}")).collect();
    for (search_type, choice, field, names) in [
        (
            "username",
            json!({"modules": ["github", "gitub", "no such"]}),
            "modules",
            json!(["gitub", "no such"]),
        ),
        ("username", json!({"modules": ["crt_sh"]}), "modules", json!(["crt_sh"])),
        (
            "username",
            json!({"modules": ["nope", "crt_sh"], "categories": ["no\u{1b}"]}),
            "modules",
            json!(["nope", "crt_sh", "no\u{fffd}"]),
        ),
        ("username", json!({"categories": ["adult"]}), "categories", Value::Null),
        ("username", json!({"modules": [first(&premium)]}), "modules", json!([first(&premium)])),
        ("email", json!({"modules": [first(&discovery)]}), "modules", json!([first(&discovery)])),
        ("username", json!({"exclude_modules": ["gitub"]}), "exclude_modules", json!(["gitub"])),
        ("username", json!({"categories": ["coding", "dns"]}), "categories", json!(["dns"])),
        ("username", json!({"modules": []}), "modules", Value::Null),
        ("username", json!({"categories": []}), "categories", Value::Null),
        ("username", json!({"modules": "github"}), "modules", Value::Null),
        ("username", json!({"modules": ["github", 7]}), "modules", Value::Null),
        ("username", json!({"modules": [null]}), "modules", Value::Null),
        ("username", json!({"exclude_modules": many}), "exclude_modules", Value::Null),
        ("username", json!({"modules": ["github"], "exclude_modules": ["github"]}), "modules", Value::Null),
        ("domain", json!({"categories": ["dns"], "passive": true}), "categories", Value::Null),
        ("username", json!({"nsfw": "yes"}), "nsfw", Value::Null),
        ("username", json!({"passive": 1}), "passive", Value::Null),
    ] {
        let query = match search_type {
            "email" => "alice@example.com",
            "domain" => "example.com",
            _ => "alice",
        };
        let mut body = json!({"type": search_type, "query": query, "stream": true});
        body.as_object_mut().unwrap().extend(choice.as_object().unwrap().clone());
        let answer = server.post(&body);
        let error = answer.is_error(400, "invalid_request");
        assert_eq!(error["detail"]["field"], field, "{answer}");
        assert_eq!(error["detail"]["names"], names, "{answer}");
        assert!(!error["detail"]["allowed"].is_null(), "{answer}");
    }
    let adult = json!({"type": "username", "query": "alice", "categories": ["adult"]});
    let message = server.post(&adult).json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("`nsfw`"), "{message}");
    assert_eq!(server.get("/v1/credits").json()["credits_used"], 0);
    assert_eq!(server.get("/v1/searches").json()["count"], 0);
}

#[test]
fn the_command_line_takes_the_same_choice() {
    let search = |more: &[&str]| {
        let args =
            [&["search", "username", "everybody", "--sandbox=perfect", "--format=json"], more].concat();
        Command::new(env!("CARGO_BIN_EXE_sightline")).args(args).env_clear().output().unwrap()
    };
    let total = |more: &[&str]| {
        let run: Value = serde_json::from_slice(&search(more).stdout).unwrap();
        run["progress"]["modules_total"].as_u64().unwrap()
    };
    assert_eq!(total(&["--module", "github,gitlab", "--modules", "codeberg"]), 3);
    assert_eq!(total(&["--module=github,gitlab", "--exclude-module=gitlab"]), 1);
    assert_eq!(total(&[]) - total(&["--exclude-module", "gitlab"]), 1);
    assert!(total(&["--nsfw"]) > total(&[]));
    assert!(total(&["--category", "coding"]) < total(&["--categories", "coding,social", "--passive"]));
    for (flags, says) in [
        (["--module", "gitub"], "modules: unknown modules: gitub"),
        (["--category", "dns"], "categories: unknown categories of username modules: dns; allowed: "),
        (["--exclude-module", "no_x"], "exclude_modules: unknown modules: no_x"),
    ] {
        let refused = search(&flags);
        let error = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{error}");
        assert!(error.contains(says), "{error}");
        assert!(refused.stdout.is_empty());
    }
}
