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
