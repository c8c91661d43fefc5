//! Sites that begin to report every name as found.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::support::folder::Folder;
use crate::support::modules::{entry, own_flags, with};
use crate::support::server::{Server, Setup};
use crate::support::site::{Site, page};

/// Returns the number of results and the outcome of the only module.
fn outcome(server: &Server, run: &str) -> (Value, Value) {
    let total = server.finished(run)["total_results"].clone();
    let modules = server.get(&format!("/v1/searches/{run}/modules")).json();
    (total, modules["modules"][0]["status"].clone())
}

#[test]
fn no_hit_is_shown_while_made_up_names_are_hits() {
    let finds_all = Arc::new(AtomicBool::new(false));
    let is_tired = Arc::clone(&finds_all);
    let site = Site::start(move |socket, request| {
        let is_found = is_tired.load(Ordering::SeqCst) || request.path().contains("known");
        let _ = socket.write_all(&page(if is_found { 200 } else { 404 }));
    });
    let folder = Folder::new();
    let types = ["username", "email", "domain"];
    let modules = types.map(|search_type| {
        let base = entry(search_type, &site.url(&format!("/{search_type}/{{query}}")));
        with(base, &json!({"type": search_type, "control": true}))
    });
    let server = Setup::real().flags(&own_flags(&folder, &modules)).start();
    let query = |search_type: &str, name: &str| match search_type {
        "username" => name.to_owned(),
        "email" => format!("{name}@example.org"),
        _ => format!("{name}.example.org"),
    };
    for search_type in types {
        finds_all.store(false, Ordering::SeqCst);
        for (name, want) in [("known1", "hit"), ("known2", "hit"), ("nobody", "miss")] {
            let run = server.search(search_type, &query(search_type, name));
            assert_eq!(outcome(&server, &run).1, want, "{search_type} {name}");
        }
        finds_all.store(true, Ordering::SeqCst);
        let names = ["first", "second", "third"].map(|name| query(search_type, name));
        let runs = names.map(|name| server.search(search_type, &name));
        for run in runs {
            assert_eq!(outcome(&server, &run), (json!(0), json!("unreliable")), "{search_type}");
        }
    }
}
