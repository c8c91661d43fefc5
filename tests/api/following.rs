//! Following leads, as a client sees it.

use serde_json::{Value, json};

use crate::support::databases::databases;
use crate::support::eventually;
use crate::support::server::{Server, Setup, run_ids};

/// Starts a search in a part of the catalogue that names enough leads.
fn start(server: &Server, follow: &Value) -> String {
    let body = json!({
        "type": "username", "query": "everybody", "categories": ["coding"], "follow": follow, "purpose": "ticket 4711"
    });
    let answer = server.post(&body);
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()["run_id"].as_str().unwrap().to_owned()
}

fn run(server: &Server, id: &str) -> Value {
    let answer = server.get(&format!("/v1/searches/{id}"));
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

fn wait_for_family(server: &Server, root: &str) -> Value {
    eventually("the family ends", || run(server, root)["follow"]["status"] == "completed");
    run(server, root)
}

fn leads(server: &Server, id: &str) -> Vec<Value> {
    server.get(&format!("/v1/searches/{id}/leads")).json()["leads"].as_array().unwrap().clone()
}

fn family(server: &Server, root: &str) -> Vec<String> {
    run_ids(&server.get(&format!("/v1/searches?root_run_id={root}&limit=100")).json())
}

#[test]
fn a_search_follows_its_leads() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let root = start(&server, &json!({"max_searches": 2}));
        let ended = wait_for_family(&server, &root);
        let follow = &ended["follow"];
        assert_eq!((&follow["searches_started"], &follow["searches_completed"]), (&json!(2), &json!(2)));
        let leads = leads(&server, &root);
        let with = |status: &str| leads.iter().filter(|lead| lead["status"] == status).count();
        assert_eq!((with("followed"), with("pending")), (2, 0), "{leads:?}");
        assert_eq!(follow["lookups"], with("looked_up"));
        assert!(leads.iter().all(|lead| lead["reason"].is_null() == (lead["status"] != "not_followed")));
        let runs = family(&server, &root);
        assert_eq!(runs.len(), 3);
        for child in runs.iter().filter(|id| **id != root) {
            let child = run(&server, child);
            let place = (&child["parent_run_id"], &child["root_run_id"], &child["depth"]);
            assert_eq!(place, (&json!(root), &json!(root), &json!(1)), "{child}");
            assert_eq!((&child["status"], &child["follow"]), (&json!("completed"), &Value::Null));
        }
        // The purpose is in the audit and in no answer.
        assert!(server.cli(&["audit"]).contains("ticket 4711"));
        for path in ["", "/export?format=json", "/export?format=html", "/leads", "/modules"] {
            let answer = server.get(&format!("/v1/searches/{root}{path}"));
            assert!(!answer.to_string().contains("ticket 4711"), "{path}");
        }
        let report = server.get(&format!("/v1/searches/{root}/export?format=json")).json();
        assert_eq!(report["follow"], *follow);
        // The graph and the people are those of the family, unless the caller wants only this search.
        for path in ["graph", "people"] {
            let get = |parameter: &str| server.get(&format!("/v1/searches/{root}/{path}{parameter}")).body;
            assert_eq!(get(""), get("?family=true"));
            assert!(get("").len() > get("?family=false").len(), "{path}");
        }
        let stream = server.stream(&format!("/v1/searches/{root}/stream"));
        let events = stream.all();
        let names: Vec<&str> = events.iter().map(|event| event.event.as_str()).collect();
        assert_eq!(names.iter().filter(|name| **name == "child").count(), 2);
        assert!(names.contains(&"lead") && names.last() == Some(&"done"), "{names:?}");
        let after_restart = server.restart(&[]);
        assert_eq!(self::leads(&after_restart, &root), leads, "{}", database.name);
    }
}

#[test]
fn a_lead_is_followed_on_request_and_charged_once() {
    let server = Setup::new().all_modules().start();
    let root = start(&server, &Value::Null);
    server.finished(&root);
    let all = leads(&server, &root);
    assert!(all.iter().all(|lead| lead["status"] == "found" || lead["status"] == "not_followed"));
    // Some accounts have a module that cannot be asked without a browser or a key.
    let is_open = |lead: &&Value| lead["reason"] == "not_requested" && lead["type"] != "account";
    let lead = all.iter().find(is_open).unwrap();
    let path = |lead: &str| format!("/v1/searches/{root}/leads/{lead}/follow");
    let post = |lead: &str| server.request("POST", &path(lead)).key(&server.key).send();
    let first = post(lead["lead_id"].as_str().unwrap());
    assert_eq!(first.status, 200, "{first}");
    let child = first.json()["run_id"].as_str().unwrap().to_owned();
    assert_eq!(first.header("x-run-id"), Some(child.as_str()));
    let again = post(lead["lead_id"].as_str().unwrap());
    assert_eq!(again.json()["run_id"], json!(child));
    assert_eq!(server.finished(&child)["parent_run_id"], json!(root));
    assert_eq!(server.get("/v1/credits").json()["credits_used"], 2);
    for lead in ["0b3c1c1e-7f0f-5b0e-8f5e-1d2c3b4a5968", "x"] {
        post(lead).is_error(404, "not_found");
    }
    let found = all.iter().find(|lead| lead["status"] == "found").unwrap();
    post(found["lead_id"].as_str().unwrap()).is_error(409, "conflict");
}
