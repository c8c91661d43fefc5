//! `catalog record`: what it writes, and what it leaves out.

use serde_json::{Value, json};
use sightline::modules::outcome::Outcome;
use sightline::modules::recording::Recording;

use super::{Folder, ran};
use crate::recorded::replayed;
use crate::support::modules::{builtin, entry, with};
use crate::support::site::{Site, closed_port, ok, with_headers};

fn read(folder: &Folder, name: &str) -> Recording {
    Recording::parse(&std::fs::read_to_string(folder.path(name)).unwrap()).unwrap()
}

#[test]
fn a_recording_of_the_simulated_web_is_replayed_with_the_same_result() {
    let folder = Folder::new();
    let output = folder.path("new");
    let email = "everybody@example.com";
    for (id, known) in
        [("github", "torvalds"), ("gitlab_avatar", email), ("nodeinfo", "everybody.com"), ("hibp", email)]
    {
        let args = ["catalog", "record", id, "--sandbox", "--output", &output, "--known", known];
        let ran = ran(&args, &[("SIGHTLINE_KEY_HIBP_KEY", "hunter2")]);
        let ran = ran.code_is(0).never_prints("hunter2");
        assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
        let [hit, miss] = ["hit", "miss"].map(|outcome| read(&folder, &format!("new/{id}.{outcome}.json")));
        assert_eq!((hit.expected.outcome, miss.expected.outcome), (Outcome::Hit, Outcome::Miss), "{id}");
        assert!(!hit.expected.findings.is_empty() && hit.query != miss.query, "{id}");
        assert!(!hit.to_text().unwrap().contains("hunter2"), "{id}");
        let catalog = builtin();
        assert_eq!(replayed(catalog, &hit), hit.expected, "{id}");
        assert_eq!(replayed(catalog, &miss), miss.expected, "{id}");
    }
}

/// Returns a file with a module that asks the site at this port.
fn catalog_of(folder: &Folder, port: u16, hit: &Value) -> String {
    let changes = json!({
        "control": null, "hit": [hit],
        "result": {"type": "profile", "metadata": {"bio": "json:/bio", "contact": "json:/mail"}},
    });
    let module = with(entry("little_site", &format!("http://127.0.0.1:{port}/{{query}}")), &changes);
    folder.file("own.json", &json!([module]).to_string())
}

fn record(catalog: &str, output: &str, more: &[&str]) -> super::Ran {
    let args = ["catalog", "record", "little_site", "--no-builtin", "--catalog", catalog, "--output", output];
    let args: Vec<&str> = args.iter().chain(&["--allow-private-targets"]).chain(more).copied().collect();
    ran(&args, &[])
}

#[test]
fn a_recording_of_a_site_has_its_answers_without_tokens_and_data_of_others() {
    let site = Site::start(|stream, request| {
        let body = r#"{"bio": "écrivain", "mail": "bob@site.example", "csrf_token": "b2YgYSBzZXNzaW9u", "from": "203.0.113.7"}"#;
        let headers = "Set-Cookie: sid=hunter2\r\nContent-Type: application/json\r\nX-Served-By: cache-7\r\n";
        let answer = match request.path() {
            "/alice" => with_headers(headers, body.as_bytes()),
            _ => b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}".to_vec(),
        };
        let _ = std::io::Write::write_all(stream, &answer);
    });
    let folder = Folder::new();
    let output = folder.path("");
    let catalog = catalog_of(&folder, site.addr.port(), &json!({"status": [200]}));
    record(&catalog, &output, &[]).code_is(2).err_has("little_site has no known name: give one with --known");
    let ran = record(&catalog, &output, &["--known", "alice"]).code_is(0);
    assert!(ran.out.contains("cookies, email addresses, tokens and session ids"), "{}", ran.out);

    let hit = read(&folder, "little_site.hit.json");
    let text = hit.to_text().unwrap();
    for gone in ["hunter2", "bob@", "b2YgYSBzZXNzaW9u", "203.0.113.7", "cache-7"] {
        assert!(!text.contains(gone), "{gone} in {text}");
    }
    assert_eq!(hit.exchanges[0].headers["content-type"], "application/json");
    let metadata = &hit.expected.findings[0].metadata;
    assert_eq!((&metadata["bio"], &metadata["contact"]), (&json!("écrivain"), &json!("person1@example.org")));
    let miss = read(&folder, "little_site.miss.json");
    assert_eq!((miss.exchanges[0].status, miss.exchanges[0].body.as_str()), (404, "{}"));
    assert!(site.received().iter().any(|request| request.path() == format!("/{}", miss.query)));
}

#[test]
fn two_recordings_with_one_outcome_are_two_files() {
    let site = Site::saying(ok("welcome"));
    let folder = Folder::new();
    let output = folder.path("");
    let catalog = catalog_of(&folder, site.addr.port(), &json!({"status": [200]}));
    record(&catalog, &output, &["--known", "alice"]).code_is(0);
    assert_eq!(read(&folder, "little_site.hit.json").query, "alice");
    assert_ne!(read(&folder, "little_site.hit.made_up.json").query, "alice");
}

#[test]
fn a_site_without_an_answer_is_not_recorded() {
    let folder = Folder::new();
    let output = folder.path("new");
    let catalog = catalog_of(&folder, closed_port(), &json!({"status": [200]}));
    record(&catalog, &output, &["--known", "alice"]).code_is(3).err_has("no answer for alice: connect");
    assert_eq!(std::fs::read_dir(&output).unwrap().count(), 0);
    ran(&["catalog", "record", "githubb", "--output", &output], &[])
        .code_is(2)
        .err_has("did you mean \"github\"?");
    ran(&["catalog", "record", "instagram", "--known", "nasa", "--output", &output], &[])
        .code_is(2)
        .err_has("instagram needs a browser");
}
