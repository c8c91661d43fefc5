//! Plans, charges and the last credit.

use serde_json::{Value, json};

use crate::support::databases::databases;
use crate::support::server::{Answer, Server, Setup};
use crate::support::{awaited, race};

fn post_as(server: &Server, key: &str, body: &Value) -> Answer {
    server.request("POST", "/v1/searches").key(key).json(body).send()
}

fn credits(server: &Server, key: &str) -> Value {
    server.request("GET", "/v1/credits").key(key).send().json()
}

#[test]
fn balances_are_those_of_the_plan() {
    let server = Setup::new().start();
    let pro = server.new_key("pro");
    let me = server.request("GET", "/v1/me").key(&pro).send().json();
    assert_eq!((&me["tier"], &me["api_access"]), (&json!("pro"), &json!(true)));
    assert_eq!(me["search_types"], json!(["domain", "email", "username"]));
    let [limited, unlimited] = [&pro, &server.key].map(|key| credits(&server, key));
    for (balance, remaining) in [(&limited, json!(100)), (&unlimited, json!("unlimited"))] {
        assert_eq!((&balance["credits_remaining"], &balance["credits_allowed"]), (&remaining, &remaining));
        assert_eq!(balance["credits_used"], 0);
    }
    let same = ["remaining", "used", "allowed"].map(|name| limited[format!("credits_{name}")].clone());
    assert_eq!(["remaining", "used", "allowed"].map(|name| me["credits"][name].clone()), same);
    assert_eq!(me["credits"]["period_end"], limited["period_end"]);
}

#[test]
fn plans_without_access_are_refused_before_any_charge() {
    let server = Setup::new()
        .flag("--plans=free=5,basic=30:premium,plain=9:api,pro=100:api:premium,unlimited=unlimited:api")
        .start();
    for plan in ["free", "basic"] {
        let key = server.new_key(plan);
        for path in ["/v1/me", "/v1/credits", "/v1/searches"] {
            let body = server.request("GET", path).key(&key).send().is_error(403, "plan_required");
            assert_eq!(body["detail"]["plans"], json!(["plain", "pro", "unlimited"]));
        }
    }
    let plain = server.new_key("plain");
    let body = post_as(&server, &plain, &json!({"type": "username", "query": "alice", "premium": true}))
        .is_error(403, "plan_required");
    assert_eq!(body["detail"]["plans"], json!(["basic", "pro"]));
    assert_eq!(credits(&server, &plain)["credits_used"], 0);
    assert_eq!(
        post_as(&server, &plain, &json!({"type": "email", "query": "a@example.com", "premium": true})).status,
        200
    );
}

#[test]
fn concurrent_searches_spend_the_last_credit_once() {
    for database in databases() {
        let server = Setup::new()
            .database(&database.url)
            .flag("--plans=pro=7:api:premium,unlimited=unlimited:api")
            .start();
        let key = server.new_key("pro");
        // A request that waits too long for the database is refused with 503, and nothing is charged.
        let statuses = race(50, |_| {
            awaited("the start is decided", || {
                match post_as(&server, &key, &json!({"type": "username", "query": "alice"})).status {
                    503 => Err("503"),
                    status => Ok(status),
                }
            })
        });
        let count = |status| statuses.iter().filter(|known| **known == status).count();
        assert_eq!((count(200), count(402)), (7, 43), "{}: {statuses:?}", database.name);
        let balance = credits(&server, &key);
        assert_eq!((&balance["credits_used"], &balance["credits_remaining"]), (&json!(7), &json!(0)));
        let refused = post_as(&server, &key, &json!({"type": "username", "query": "bob"}))
            .is_error(402, "insufficient_credits");
        let detail = &refused["detail"];
        assert_eq!(detail["limit"], 7);
        assert_eq!(detail["cost"], 1);
        assert_eq!(detail["remaining"], 0);
        assert_eq!(detail["period_end"], balance["period_end"]);
        let list = server.request("GET", "/v1/searches").key(&key).send().json();
        assert_eq!(list["count"], 7, "no run without a charge");
    }
}

#[test]
fn a_premium_search_needs_two_credits() {
    let server = Setup::new().flag("--plans=pro=3:api:premium,unlimited=unlimited:api").start();
    let key = server.new_key("pro");
    let premium = json!({"type": "username", "query": "alice", "premium": true});
    assert_eq!(post_as(&server, &key, &premium).status, 200);
    let refused = post_as(&server, &key, &premium).is_error(402, "insufficient_credits");
    assert_eq!((&refused["detail"]["cost"], &refused["detail"]["remaining"]), (&json!(2), &json!(1)));
    assert_eq!(post_as(&server, &key, &json!({"type": "username", "query": "alice"})).status, 200);
}
