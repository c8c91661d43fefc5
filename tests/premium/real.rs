//! All browser modules with real pages: the simulated web gives the same verdicts through Chromium as without a
//! browser. And reports that Chromium prints.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cli::{Folder, ran};
use crate::support::eventually;
use crate::support::server::{Server, Setup};

/// The number of modules of one search. A search with all of them would reach the deadline of a run on a busy machine.
const AT_ONCE: usize = 8;

/// Returns the outcome and the rule of each of these modules in premium searches.
fn verdicts(server: &Server, query: &str, modules: &[String]) -> BTreeMap<String, String> {
    modules.chunks(AT_ONCE).flat_map(|modules| verdicts_of_one_search(server, query, modules)).collect()
}

fn verdicts_of_one_search(server: &Server, query: &str, modules: &[String]) -> Vec<(String, String)> {
    let key = &server.key;
    let body = json!({"type": "username", "query": query, "premium": true, "modules": modules});
    let started = server.request("POST", "/v1/searches").key(key).json(&body).send();
    assert_eq!(started.status, 200, "{started}");
    let path = format!("/v1/searches/{}", started.json()["run_id"].as_str().unwrap());
    eventually("the run ends", || server.request("GET", &path).key(key).send().json()["status"] != "running");
    let reports = server.request("GET", &format!("{path}/modules")).key(key).send().json();
    let reports = reports["modules"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    reports
        .iter()
        .map(|it| (text(&it["module"]), format!("{} {}", text(&it["status"]), text(&it["reason"]))))
        .collect()
}

fn results(server: &Server, query: &str, modules: &[String]) -> Vec<Value> {
    let body = json!({"type": "username", "query": query, "premium": true, "modules": modules, "wait": true});
    let run = server.request("POST", "/v1/searches").key(&server.key).json(&body).send().json();
    run["results"].as_array().cloned().unwrap_or_default()
}

/// Fails unless it is a PDF with the links of a report.
#[track_caller]
fn is_printed_report(pdf: &[u8], link: &str) {
    let holds = |text: &str| pdf.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(
        pdf.starts_with(b"%PDF-") && holds("%%EOF"),
        "{}",
        String::from_utf8_lossy(&pdf[..pdf.len().min(200)])
    );
    assert!(holds("/Type /Page") && holds(link), "{} bytes without {link}", pdf.len());
}

#[test]
fn a_report_is_printed_by_the_browser() {
    let server = Setup::new().flag("--webdriver=auto").start();
    let started = server.post(&json!({"type": "username", "query": "alice", "avatars": true})).json();
    let id = started["run_id"].as_str().unwrap().to_owned();
    let run = server.finished(&id);
    let pictures = |pdf: &[u8]| pdf.windows(15).filter(|part| part == b"/Subtype /Image").count();
    let links =
        run["results"].as_array().unwrap().iter().filter_map(|it| it["metadata"]["profile_url"].as_str());
    let link = links.map(str::to_owned).find(|link| link.starts_with("https://")).unwrap();
    // The second one uses the open session again.
    for _ in 0..2 {
        let printed = server.get(&format!("/v1/searches/{id}/export?format=pdf"));
        assert_eq!(
            (printed.status, printed.header("content-type")),
            (200, Some("application/pdf")),
            "{printed}"
        );
        assert!(printed.header("content-disposition").unwrap().ends_with("-simulated.pdf\""), "{printed}");
        is_printed_report(&printed.body, &link);
        assert!(pictures(&printed.body) > 0, "the profile pictures are in it");
    }
    let folder = Folder::new();
    let (pdf, csv) = (folder.path("alice.pdf"), folder.path("alice.csv"));
    let outputs = [&pdf, &csv].map(|path| format!("--output={path}"));
    let query = ["search", "alice", "--sandbox=perfect", "--category=coding", "--webdriver=auto"];
    ran(&[&query[..], &outputs.each_ref().map(String::as_str)].concat(), &[]).code_is(0);
    is_printed_report(&std::fs::read(pdf).unwrap(), "https://");
    let without = ["search", "alice", "--sandbox", outputs[0].as_str()];
    ran(&without, &[]).code_is(2).err_has("a PDF needs a browser: --webdriver auto");
}

mod campaigns {
    use super::*;

    #[test]
    fn real_pages_have_the_outcomes_of_the_simulated_web() {
        let played = Setup::new().all_modules().start();
        let real = Setup::new().all_modules().flag("--webdriver=auto").flag("--check-timeout=2m").start();
        let list = played.get("/v1/modules").json();
        let premium: Vec<String> = list["modules"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|module| module["premium"] == true && module["enabled"] == true)
            .map(|module| module["id"].as_str().unwrap().to_owned())
            .collect();
        assert!(premium.len() > 20, "{premium:?}");
        // Some modules accept it only with a dot, and others only with a word before it.
        let mut hits = 0;
        for query in ["alice", "everybody.example"] {
            let wanted = verdicts(&played, query, &premium);
            let found = verdicts(&real, query, &premium);
            assert_eq!(found, wanted, "{query}");
            let conclusive = |verdict: &&String| verdict.starts_with("hit") || verdict.starts_with("miss");
            assert!(wanted.values().filter(conclusive).count() > 10, "{wanted:?}");
            hits += wanted.values().filter(|verdict| verdict.starts_with("hit")).count();
        }
        assert!(hits > 15, "{hits} hits");
        // The extractors find the rendered values in the document that the browser returns.
        let named = ["bluesky_web".to_owned()];
        let found = results(&real, "everybody.example", &named);
        assert_eq!(
            found[0]["metadata"]["display_name"],
            results(&played, "everybody.example", &named)[0]["metadata"]["display_name"]
        );
        assert!(found[0]["metadata"]["display_name"].is_string(), "{found:?}");
    }
}
