//! What a premium search costs, who may have one, and what it says of itself: the real binary, black-box.

use serde_json::{Value, json};

use crate::support::databases::databases;
use crate::support::eventually;
use crate::support::server::{Answer, Server, Setup};

/// Some are enough: what all 27 come to is told elsewhere.
const CATEGORIES: [&str; 3] = ["links", "video", "social"];

fn search(server: &Server, key: &str, kind: &str, query: &str, premium: bool) -> Answer {
    let mut body = json!({"type": kind, "query": query, "premium": premium});
    if kind == "username" {
        body["categories"] = json!(CATEGORIES);
    }
    server.request("POST", "/v1/searches").key(key).json(&body).send()
}

fn used(server: &Server, key: &str) -> u64 {
    let credits = server.request("GET", "/v1/credits").key(key).send().json();
    credits["credits_used"].as_u64().unwrap()
}

/// The run, once it has ended.
fn ended(server: &Server, key: &str, answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer}");
    let path = format!("/v1/searches/{}", answer.json()["run_id"].as_str().unwrap());
    let mut run = Value::Null;
    eventually("the run ends", || {
        run = server.request("GET", &path).key(key).send().json();
        run["status"] != "running"
    });
    run
}

/// The ids of the modules with which a run ended, by whether they need a browser.
fn asked(server: &Server, key: &str, run: &Value, premium: &[String]) -> (usize, usize) {
    let path = format!("/v1/searches/{}/modules", run["run_id"].as_str().unwrap());
    let modules = server.request("GET", &path).key(key).send().json();
    let ids: Vec<&str> =
        modules["modules"].as_array().unwrap().iter().map(|it| it["module"].as_str().unwrap()).collect();
    let drawn = ids.iter().filter(|id| premium.iter().any(|it| it == *id)).count();
    (ids.len() - drawn, drawn)
}

#[test]
fn a_premium_search_asks_browser_modules_too_for_one_credit_more() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let key = server.new_key("pro");
        let modules = server.get("/v1/modules").json();
        let modules = modules["modules"].as_array().unwrap();
        let drawn = || modules.iter().filter(|module| module["premium"] == true);
        let premium: Vec<String> = drawn()
            .filter(|module| CATEGORIES.contains(&module["category"].as_str().unwrap()))
            .map(|module| module["id"].as_str().unwrap().to_owned())
            .collect();
        let capabilities = server.get("/v1/capabilities").json();
        assert_eq!(capabilities["premium"]["module_count"], 27);
        assert!((10..27).contains(&premium.len()), "{premium:?}");
        assert_eq!((drawn().count(), &capabilities["premium"]["available"]), (27, &json!(true)));
        let health = server.get("/v1/health").json();
        assert_eq!(health["load"]["browser_sessions"], 2, "{health}");
        assert!(health["load"]["browser_sessions_busy"].is_u64(), "{health}");

        let standard = ended(&server, &key, &search(&server, &key, "username", "everybody", false));
        let more = ended(&server, &key, &search(&server, &key, "username", "everybody", true));
        assert_eq!((&standard["premium"], &more["premium"]), (&json!(false), &json!(true)));
        assert_eq!((&standard["credits_charged"], &more["credits_charged"]), (&json!(1), &json!(2)));
        assert_eq!(used(&server, &key), 3);
        let (plain, none) = asked(&server, &key, &standard, &premium);
        assert_eq!(none, 0);
        assert_eq!(asked(&server, &key, &more, &premium), (plain, premium.len()));
        let count = |run: &Value, what: &str| run["coverage"][what].as_u64().unwrap();
        // One takes names with a dot alone.
        assert_eq!(
            count(&more, "hit"),
            count(&standard, "hit") + premium.len() as u64 - 1,
            "{}",
            more["coverage"]
        );
        assert_eq!(count(&more, "skipped"), count(&standard, "skipped") + 1, "{}", more["coverage"]);

        for (kind, query, total) in [("email", "a@example.com", 4), ("domain", "example.com", 5)] {
            let run = ended(&server, &key, &search(&server, &key, kind, query, true));
            assert_eq!((&run["premium"], used(&server, &key)), (&json!(false), total), "{kind}");
            assert_eq!(run["credits_charged"], 1);
        }
    }
}

#[test]
fn a_plan_without_premium_is_told_so_before_a_missing_browser_and_neither_costs_anything() {
    let server = Setup::real().flag("--plans=plain=9:api,pro=9:api:premium,unlimited=unlimited:api").start();
    assert_eq!(server.get("/v1/capabilities").json()["premium"]["available"], false);
    assert_eq!(server.get("/v1/health").json()["load"]["browser_sessions"], 0);
    let plain = server.new_key("plain");
    let refused = search(&server, &plain, "username", "alice", true).is_error(403, "plan_required");
    assert_eq!(refused["detail"]["plans"], json!(["pro"]));
    let pro = server.new_key("pro");
    for mode in ["wait", "stream", "premium"] {
        let body = json!({"type": "username", "query": "alice", "premium": true, mode: true});
        let answer = server.request("POST", "/v1/searches").key(&pro).json(&body).send();
        assert!(answer.header("retry-after").is_some_and(|secs| secs.parse::<u64>().is_ok()), "{answer}");
        let refused = answer.is_error(503, "premium_unavailable");
        assert!(refused["detail"]["retry_after"].is_u64(), "{refused}");
    }
    assert_eq!((used(&server, &plain), used(&server, &pro)), (0, 0));
    let runs = server.request("GET", "/v1/searches").key(&pro).send().json();
    assert_eq!(runs["count"], 0, "{runs}");
}
