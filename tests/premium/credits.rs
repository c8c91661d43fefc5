//! The cost, the permissions and the data of premium searches, tested through the real binary.

use serde_json::{Value, json};

use crate::support::eventually;
use crate::support::server::{Answer, Server, Setup};

/// A few modules are enough, because other tests cover all of them.
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

/// Returns the run after it has ended.
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

/// Returns the ids of the run's modules: without a browser, and with one.
fn asked(server: &Server, key: &str, run: &Value, premium: &[String]) -> (usize, usize) {
    let path = format!("/v1/searches/{}/modules", run["run_id"].as_str().unwrap());
    let modules = server.request("GET", &path).key(key).send().json();
    let ids: Vec<&str> =
        modules["modules"].as_array().unwrap().iter().map(|it| it["module"].as_str().unwrap()).collect();
    let drawn = ids.iter().filter(|id| premium.iter().any(|it| it == *id)).count();
    (ids.len() - drawn, drawn)
}

/// Returns whether a premium search without a choice asks the module in a browser.
fn is_asked_by_premium_searches(module: &Value) -> bool {
    module["premium"] == true && module["enabled"] == true && module["nsfw"] == false
}

#[test]
fn a_premium_search_uses_browser_modules_and_costs_two_credits() {
    let server = Setup::new().all_modules().start();
    let key = server.new_key("pro");
    let modules = server.get("/v1/modules").json();
    let modules = modules["modules"].as_array().unwrap();
    let drawn = || modules.iter().filter(|module| is_asked_by_premium_searches(module));
    let premium: Vec<String> = drawn()
        .filter(|module| CATEGORIES.contains(&module["category"].as_str().unwrap()))
        .map(|module| module["id"].as_str().unwrap().to_owned())
        .collect();
    let capabilities = server.get("/v1/capabilities").json();
    assert_eq!(capabilities["premium"]["module_count"], drawn().count());
    assert!((10..drawn().count()).contains(&premium.len()), "{premium:?}");
    assert_eq!(capabilities["premium"]["available"], true);
    assert_eq!(server.figure("sightline_browser_sessions"), 2.0);
    assert!(server.figure("sightline_browser_sessions_busy") <= 2.0);

    let standard = ended(&server, &key, &search(&server, &key, "username", "everybody", false));
    let more = ended(&server, &key, &search(&server, &key, "username", "everybody", true));
    assert_eq!((&standard["premium"], &more["premium"]), (&json!(false), &json!(true)));
    assert_eq!((&standard["credits_charged"], &more["credits_charged"]), (&json!(1), &json!(2)));
    assert_eq!(used(&server, &key), 3);
    let (plain, none) = asked(&server, &key, &standard, &premium);
    assert_eq!(none, 0);
    assert_eq!(asked(&server, &key, &more, &premium), (plain, premium.len()));
    let count = |run: &Value, what: &str| run["coverage"][what].as_u64().unwrap();
    // One module accepts only names with a dot.
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

#[test]
fn the_plan_is_checked_before_the_browser_and_neither_refusal_costs_credits() {
    let server = Setup::real().flag("--plans=plain=9:api,pro=9:api:premium,unlimited=unlimited:api").start();
    assert_eq!(server.get("/v1/capabilities").json()["premium"]["available"], false);
    assert_eq!(server.figure("sightline_browser_sessions"), 0.0);
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
