//! When the searches of batches start: after single searches, with few drivers, and with a place of each host left free.

use serde_json::json;

use super::{post, read};
use crate::support::eventually;
use crate::support::gated_site::GatedSite;
use crate::support::server::{Server, Setup};

fn pending(server: &Server, id: &str) -> u64 {
    read(server, id)["counts"]["pending"].as_u64().unwrap()
}

#[test]
fn single_searches_find_a_driver_while_batches_run() {
    let site = GatedSite::start();
    let server = Setup::real().flags(&site.flags(0, 2)).flag("--max-runs=32").start();
    let search = |name: &str, host: u8| json!({"type": "username", "query": name, "modules": [format!("site-127-0-1-{host}")]});
    let searches: Vec<_> = (0..20).map(|number| search(&format!("batch{number}"), 1)).collect();
    let answer = post(&server, &server.key, &json!({ "searches": searches }));
    let id = answer.json()["batch_id"].as_str().unwrap().to_owned();
    let asked = || (0..20).map(|number| site.asked(&format!("batch{number}"))).sum::<usize>();
    // One of sixteen drivers is busy with the batch, and the others are free. A new host gets two checks at once, of which
    // the batch leaves one free.
    eventually("the batch has begun", || (asked(), pending(&server, &id)) == (1, 18));
    for (name, host) in [("single1", 1), ("single2", 2)] {
        let answer = server.post(&search(name, host));
        assert_eq!(answer.status, 200, "{answer}");
        eventually("a single search starts at once", || site.asked(name) == 1);
    }
    assert_eq!((asked(), pending(&server, &id)), (1, 18));
    site.open();
    let batch = super::ended(&server, &id);
    assert_eq!(batch["counts"]["completed"], 20, "{batch}");
}
