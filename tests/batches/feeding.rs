//! When the searches of batches start: after single searches, and with few drivers.

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
    // A new host gets two checks at once, so batch and single searches ask different ones.
    let search = |name: &str, host: u8| json!({"type": "username", "query": name, "modules": [format!("site-127-0-1-{host}")]});
    let searches: Vec<_> = (0..20).map(|number| search(&format!("batch{number}"), 1)).collect();
    let answer = post(&server, &server.key, &json!({ "searches": searches }));
    let id = answer.json()["batch_id"].as_str().unwrap().to_owned();
    let asked = || (0..20).map(|number| site.asked(&format!("batch{number}"))).sum::<usize>();
    // One of sixteen drivers is busy with the batch, and the others are free.
    eventually("the batch has begun", || asked() == 2);
    assert_eq!(pending(&server, &id), 18);
    for name in ["single1", "single2"] {
        let answer = server.post(&search(name, 2));
        assert_eq!(answer.status, 200, "{answer}");
        eventually("a single search starts at once", || site.asked(name) == 1);
    }
    assert_eq!((asked(), pending(&server, &id)), (2, 18));
    site.open();
    let batch = super::ended(&server, &id);
    assert_eq!(batch["counts"]["completed"], 20, "{batch}");
}
