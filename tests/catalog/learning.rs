//! `catalog learn` and `catalog check --repair`, on sites of the test's own.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::*;
use crate::checks::cases::served;
use crate::cli::{Folder, Ran, ran};
use crate::support::site::Site;

/// A site with a part for each kind of answer: `/PART/NAME`. Only `alice` and `bob` exist.
fn site() -> Site {
    let count = AtomicUsize::new(0);
    let missing = Mutex::new(BTreeSet::new());
    Site::start(move |stream, request| {
        let mut path = request.path().to_owned();
        // Only the first three names that do not exist are missing.
        let is_known = |path: &String| path.ends_with("/alice") || path.ends_with("/bob");
        if path.starts_with("/soon_yes/") && !is_known(&path) {
            let mut missing = missing.lock();
            if missing.len() < 3 && missing.insert(path.clone()) || missing.contains(&path) {
                path = format!("/not_yes{path}");
            }
        }
        // The client may have disconnected.
        let _ = stream.write_all(&served(
            include_str!("learned.txt"),
            &path,
            count.fetch_add(1, Ordering::SeqCst),
        ));
    })
}

fn learn(site: &Site, path: &str, more: &[&str]) -> Ran {
    let url = site.url(path);
    let args = ["catalog", "learn", &url, "--known", "alice", "--allow-private-targets"];
    ran(&[&args[..], more].concat(), &[])
}

fn rules(ran: &Ran) -> (Value, Value) {
    let document: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out));
    let entry = if document.is_array() { &document[0] } else { &document["entry"] };
    (entry["hit"].clone(), entry["miss"].clone())
}

#[test]
fn an_entry_for_a_page_is_learned_and_works() {
    let site = site();
    let folder = Folder::new();
    let file = folder.path("own.json");
    let (hit, miss) = rules(&learn(&site, "/page/{query}", &[]).code_is(0));
    assert_eq!(hit, json!([{"status": [200], "shows_query": true}]));
    assert_eq!(miss, json!([{"status": [200], "css": [{"select": "title", "matches": "^Page not found$"}]}]));

    // The known name stands for the variable, and the entry goes into a file.
    let written = learn(&site, "/page/alice", &["--id", "page", "--output", &file]).code_is(0);
    assert!(written.out.contains("+    \"known\": [\"alice\"]"), "{}", written.out);
    ran(&["catalog", "format", "--check", &file], &[]).code_is(0);
    let more = learn(&site, "/api/alice", &["--id", "api", "--output", &file]).code_is(0);
    assert!(!more.out.contains("-    \"id\": \"page\""), "{}", more.out);
    let args = [
        "catalog",
        "check",
        "--no-builtin",
        "--catalog",
        &file,
        "--allow-private-targets",
        "--format",
        "json",
    ];
    let report: Value = serde_json::from_str(&ran(&args, &[]).code_is(0).out).unwrap();
    assert_eq!(report["counts"]["ok"], 2, "{report:#}");
}

#[test]
fn an_entry_for_an_api_is_learned_also_behind_a_redirect() {
    let site = site();
    let want = (
        json!([{"status": [200], "json": [{"at": "/user/handle", "equals_query": true}]}]),
        json!([{"status": [200], "json": [{"at": "/error/code", "equals": "user_not_found"}]}]),
    );
    assert_eq!(rules(&learn(&site, "/api/{query}", &[]).code_is(0)), want);
    let moved = learn(&site, "/old_api/{query}", &["--format", "json"]).code_is(0);
    assert_eq!(rules(&moved), want);
    let document: Value = serde_json::from_str(&moved.out).unwrap();
    assert_eq!(document["entry"]["probes"][0]["follow"], true);
    let folder = Folder::new();
    let file = folder.file("own.json", &json!([document["entry"]]).to_string());
    ran(&["catalog", "format", &file], &[]).code_is(0);
}

#[test]
fn nothing_is_learned_from_a_site_that_proves_nothing() {
    let site = site();
    for (path, why) in [
        ("/yes/{query}", "no reliable rule separates the answers"),
        // The rules that separate the first answers do not hold for the names that prove them.
        ("/soon_yes/{query}", "did not hold for further made-up names"),
        ("/walled/{query}", "blocked a request (cloudflare_challenge)"),
        ("/half_walled/{query}", "blocked a request (login_wall)"),
        // The text is of one account only.
        ("/by_text/{query}", "no reliable rule separates the answers"),
        ("/none/{query}", "no reliable rule separates the answers"),
    ] {
        let told = learn(&site, path, &[]).code_is(1).out;
        assert!(told.starts_with("nothing learned: ") && told.contains(why), "{path}: {told}");
    }
    let url = site.url("/page/x");
    ran(&["catalog", "learn", &url, "--known", "alice"], &[]).code_is(2).err_has("write {query}");
    ran(&["catalog", "learn", "ftp://a/{query}", "--known", "a"], &[])
        .code_is(2)
        .err_has("expected one that starts");
    ran(&["catalog", "learn", &url, "--known", "x", "--sandbox"], &[]).code_is(2).err_has("omit --sandbox");
    let closed = format!("http://127.0.0.1:{}/{{query}}", crate::support::site::closed_port());
    ran(&["catalog", "learn", &closed, "--known", "a", "--allow-private-targets"], &[]).code_is(3);
}

#[test]
fn broken_modules_are_repaired_with_a_diff() {
    let site = site();
    let folder = Folder::new();
    let mut api = entry();
    api["id"] = json!("api");
    api["known"] = json!(["alice"]);
    api["rank"] = json!(7);
    api["verified"] = json!({"by": "list", "date": "2026-07"});
    api["probes"][0]["url"] = json!(site.url("/old_api/{query}"));
    api["hit"] = json!([{
        "status": [200], "json": [{"at": "/user/login", "equals_query": true}, {"at": "/banned", "exists": false}],
        "no_word": ["suspended", "{query}"], "no_header": ["X-Trap"],
    }]);
    api["result"] = json!({"type": "profile", "metadata": {"display_name": "json:/user/login"}});
    let mut yes = entry();
    yes["id"] = json!("yes");
    yes["known"] = json!(["alice"]);
    yes["probes"][0]["url"] = json!(site.url("/yes/{query}"));
    let file = folder.file("own.json", &json!([api, yes]).to_string());
    let before = std::fs::read_to_string(&file).unwrap();
    let repaired = folder.path("repaired.json");
    let check = ["catalog", "check", "--no-builtin", "--catalog", &file, "--allow-private-targets"];

    let shown = ran(&[&check[..], &["--repair", "--repaired", &repaired]].concat(), &[]).code_is(1);
    for part in [
        "repaired: api\n",
        "\"at\": \"/user/handle\", \"equals_query\": true",
        "-    \"verified\": {\"by\": \"list\", \"date\": \"2026-07\"}",
        "not repaired: yes: no reliable rule",
    ] {
        assert!(shown.out.contains(part), "{part}: {}", shown.out);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "only --repaired names a file that changes");
    ran(&["catalog", "format", "--check", &repaired], &[]).code_is(0);
    let entries: Value = serde_json::from_str(&std::fs::read_to_string(&repaired).unwrap()).unwrap();
    assert_eq!((entries.as_array().unwrap().len(), &entries[0]["rank"]), (1, &json!(7)));
    assert_eq!(entries[0]["probes"][0]["follow"], true, "the endpoint has moved");
    assert_eq!(entries[0]["result"]["metadata"]["display_name"], "json:/user/login", "results stay");
    assert_eq!(entries[0]["miss"][0]["json"][0]["equals"], "user_not_found");
    let absent = json!({
        "status": [200], "json": [{"at": "/user/handle", "equals_query": true}, {"at": "/banned", "exists": false}],
        "no_word": ["suspended"], "no_header": ["X-Trap"],
    });
    assert_eq!(entries[0]["hit"][0], absent, "what must be absent still must be, as far as it is");

    let report =
        ran(&[&check[..], &["--repair", "--repaired", &file, "--format", "json"]].concat(), &[]).code_is(1);
    let report = report.err_has("wrote 1 repaired entries to");
    let report: Value = serde_json::from_str(&report.out).unwrap();
    assert_eq!(
        (&report["repairs"][0]["module"], &report["repairs"][0]["repaired"]),
        (&json!("api"), &json!(true))
    );
    assert_eq!(report["repairs"][0]["entry"], entries[0], "it is what a catalogue takes");
    let fixed = ran(&[&check[..], &["--module", "api"]].concat(), &[]).code_is(0);
    assert_eq!(fixed.out, "1 modules: 1 ok\n");

    ran(&["catalog", "check", "--repair", "--sandbox"], &[])
        .code_is(2)
        .err_has("cannot be used with '--sandbox");
}

#[test]
fn a_redirect_alone_is_no_miss_after_a_repair() {
    let site = site();
    let folder = Folder::new();
    let mut moved = entry();
    moved["known"] = json!(["alice"]);
    moved["probes"][0]["url"] = json!(site.url("/moved_home/{query}"));
    moved["hit"] = json!([{"status": [200], "shows_query": true}]);
    moved["miss"] = json!([{"status": [404], "words": ["Not found"]}]);
    let file = folder.file("own.json", &json!([moved]).to_string());
    let repaired = folder.path("repaired.json");
    let check = ["catalog", "check", "--no-builtin", "--catalog", &file, "--allow-private-targets"];
    ran(&[&check[..], &["--repair", "--repaired", &repaired]].concat(), &[]).code_is(1);
    let entries: Value = serde_json::from_str(&std::fs::read_to_string(&repaired).unwrap()).unwrap();
    assert_eq!(entries[0]["miss"][0], json!({"status": [302], "header": {"Location": "^/$"}}));
}
