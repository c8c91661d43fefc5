//! The cost, the permissions and the data of premium searches, tested through the real binary.

use serde_json::{Value, json};

use crate::support::server::{Answer, Server, Setup};

/// A few modules are enough, because other tests cover all of them.
const CATEGORIES: [&str; 3] = ["links", "video", "social"];

fn search(server: &Server, kind: &str, query: &str, premium: bool) -> Answer {
    let mut body = json!({"type": kind, "query": query, "premium": premium});
    if kind == "username" {
        body["categories"] = json!(CATEGORIES);
    }
    server.post(&body)
}

fn used(server: &Server) -> u64 {
    server.get("/v1/credits").json()["credits_used"].as_u64().unwrap()
}

/// Returns the run after it has ended.
fn ended(server: &Server, answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer}");
    server.finished(answer.json()["run_id"].as_str().unwrap())
}

/// Returns the numbers of the run's modules: without a browser, and with one.
fn asked(server: &Server, run: &Value, premium: &[String]) -> (usize, usize) {
    let path = format!("/v1/searches/{}/modules", run["run_id"].as_str().unwrap());
    let modules = server.get(&path).json();
    let ids = modules["modules"].as_array().unwrap().iter().map(|it| it["module"].as_str().unwrap());
    let (drawn, plain): (Vec<&str>, Vec<&str>) = ids.partition(|id| premium.iter().any(|it| it == id));
    (plain.len(), drawn.len())
}

/// Returns whether a premium search without a choice asks the module in a browser.
fn is_asked_by_premium_searches(module: &Value) -> bool {
    module["premium"] == true && module["enabled"] == true && module["nsfw"] == false
}

#[test]
fn a_premium_search_uses_browser_modules_and_costs_two_credits() {
    let mut server = Setup::new().all_modules().start();
    server.key = server.new_key("pro");
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

    let standard = ended(&server, &search(&server, "username", "everybody", false));
    let more = ended(&server, &search(&server, "username", "everybody", true));
    assert_eq!((&standard["premium"], &more["premium"]), (&json!(false), &json!(true)));
    assert_eq!((&standard["credits_charged"], &more["credits_charged"]), (&json!(1), &json!(2)));
    assert_eq!(used(&server), 3);
    let (plain, none) = asked(&server, &standard, &premium);
    assert_eq!(none, 0);
    assert_eq!(asked(&server, &more, &premium), (plain, premium.len()));
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
        let run = ended(&server, &search(&server, kind, query, true));
        assert_eq!((&run["premium"], used(&server)), (&json!(false), total), "{kind}");
        assert_eq!(run["credits_charged"], 1);
    }
}
