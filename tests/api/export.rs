//! Reports: each format is complete, safe to open, and marked if the run is incomplete.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::databases::databases;
use crate::support::server::{Answer, Server, Setup};

/// The formats that need no browser.
const FORMATS: [&str; 7] = ["json", "ndjson", "csv", "html", "md", "graphml", "stix"];

fn export(server: &Server, run: &str, format: &str) -> Answer {
    let answer = server.get(&format!("/v1/searches/{run}/export?format={format}"));
    assert_eq!(answer.status, 200, "{answer}");
    answer
}

fn ids(results: &[Value]) -> Vec<u64> {
    results.iter().map(|result| result["id"].as_u64().unwrap()).collect()
}

/// Returns the ids and values of a CSV file, and its header.
fn rows(text: &str) -> (Vec<String>, Vec<csv::StringRecord>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().iter().map(str::to_owned).collect();
    (head, reader.records().map(Result::unwrap).collect())
}

#[test]
fn every_format_contains_the_whole_run_before_and_after_a_restart() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let id = server.search("username", "alice");
        let run = server.finished(&id);
        let results = run["results"].as_array().unwrap();
        assert!(results.len() > 5, "{run}");
        let live: Vec<Answer> = FORMATS.iter().map(|format| export(&server, &id, format)).collect();

        let document = live[0].json();
        for (field, value) in run.as_object().unwrap() {
            assert_eq!(&document[field], value, "{}: {field}", database.name);
        }
        assert_eq!(document["modules"].as_array().unwrap().len(), run["coverage"]["checked"]);
        let lines: Vec<Value> =
            live[1].text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(&lines, results, "{}", database.name);
        assert!(live[2].text().starts_with("\u{feff}id,"), "spreadsheets need the mark: {}", live[2]);
        let (head, rows) = rows(live[2].text());
        assert_eq!((head[0].as_str(), head.last().unwrap().as_str()), ("id", "not_this_person"));
        let from_rows: Vec<u64> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
        assert_eq!(from_rows, ids(results));
        for (row, result) in rows.iter().zip(results) {
            assert_eq!(serde_json::from_str::<Value>(&row[head.len() - 3]).unwrap(), result["metadata"]);
        }
        assert!(live[4].text().starts_with("# username search for alice\n"), "{}", live[4]);
        // A graph tells the run and what gave no answer.
        let (graphml, stix) = (live[5].text(), live[6].json());
        assert!(graphml.contains("<data key=\"about\">username search for alice, "), "{graphml}");
        let note =
            stix["objects"].as_array().unwrap().iter().find(|object| object["type"] == "note").unwrap();
        let coverage = note["content"].as_str().unwrap();
        assert!(
            coverage.contains(&format!(
                "{} of ",
                run["coverage"]["hit"].as_u64().unwrap() + run["coverage"]["miss"].as_u64().unwrap()
            )),
            "{note}"
        );
        assert!(graphml.contains(&format!("<data key=\"coverage\">{}", &coverage[..30])), "{graphml}");
        let articles = live[3].text().matches("<article id=").count();
        assert_eq!(articles, results.len());

        let server = server.restart(&[]);
        for (format, before) in FORMATS.iter().zip(&live) {
            let after = export(&server, &id, format);
            if *format == "html" {
                // The page contains the time of its creation.
                assert_eq!(after.text().matches("<article id=").count(), articles);
            } else {
                assert!(after.body == before.body, "{} {format}: {after}", database.name);
            }
        }
    }
}

#[test]
fn each_format_has_its_content_type_and_file_name() {
    let server = Setup::new().start();
    let id = server.search("email", " Alice+x@Example.com");
    server.finished(&id);
    let end = id.rsplit('-').next().unwrap();
    for (format, media) in [
        ("json", "application/json"),
        ("ndjson", "application/x-ndjson"),
        ("csv", "text/csv; charset=utf-8; header=present"),
        ("html", "text/html; charset=utf-8"),
        ("md", "text/markdown; charset=utf-8"),
        ("graphml", "application/xml"),
        ("stix", "application/stix+json;version=2.1"),
    ] {
        let answer = export(&server, &id, format);
        assert_eq!(answer.header("content-type"), Some(media));
        let name = format!("sightline-email-Alice+x_Example.com-{end}-simulated.{format}");
        assert_eq!(
            answer.header("content-disposition").unwrap(),
            format!("attachment; filename=\"{name}\""),
            "{answer}"
        );
        assert_eq!(answer.header("x-run-status"), Some("completed"));
        assert_eq!(answer.header("x-run-id"), Some(id.as_str()));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert!(answer.header("ratelimit-policy").unwrap().starts_with("\"read\""), "a read: {answer}");
        let policy = answer.header("content-security-policy");
        assert_eq!(policy.is_some_and(|policy| policy.starts_with("default-src 'none'")), format == "html");
        let path = format!("/v1/searches/{id}/export?format={format}");
        let head = server.request("HEAD", &path).key(&server.key).send();
        assert_eq!((head.status, head.body.len(), head.header("content-type")), (200, 0, Some(media)));
    }
}

#[test]
fn an_unknown_format_is_refused_and_the_default_is_json() {
    let server = Setup::new().start();
    let id = server.search("username", "alice");
    server.finished(&id);
    let whole = export(&server, &id, "json");
    for query in ["", "?", "?Format=csv"] {
        let answer = server.get(&format!("/v1/searches/{id}/export{query}"));
        assert_eq!(answer.status, 200, "{answer}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{answer}");
        assert!(answer.header("content-disposition").unwrap().contains(".json\""), "{answer}");
        assert!(answer.body == whole.body, "{answer}");
    }
    for query in ["", "xml", "JSON", "json%20", "table", "csv&format=json"] {
        let refused = server.get(&format!("/v1/searches/{id}/export?format={query}"));
        let body = refused.is_error(400, "invalid_request");
        assert_eq!(body["detail"]["field"], "format", "{refused}");
        let all = json!(["json", "ndjson", "csv", "html", "pdf", "md", "graphml", "stix"]);
        let allowed = if query.contains('&') { json!("one value") } else { all };
        assert_eq!(body["detail"]["allowed"], allowed, "{refused}");
    }
}

#[test]
fn a_running_run_exports_its_results_so_far() {
    // Silent sites keep it running during the test.
    let server = Setup::new().flag("--check-timeout=60s").flag("--run-timeout=120s").start();
    let id = server.search("username", "silent");
    for format in FORMATS {
        let answer = export(&server, &id, format);
        assert_eq!(answer.header("x-run-status"), Some("running"), "{answer}");
        let name = answer.header("content-disposition").unwrap();
        assert!(name.contains("-running-simulated."), "{name}");
        match format {
            "json" => assert_eq!(answer.json()["status"], "running"),
            "html" | "md" => assert!(answer.text().contains("Still running."), "{answer}"),
            _ => {}
        }
    }
}

#[test]
fn a_pdf_needs_a_browser() {
    let server = Setup::new().start();
    let id = server.search("username", "alice");
    server.finished(&id);
    let refused = server.get(&format!("/v1/searches/{id}/export?format=pdf"));
    refused.is_error(503, "premium_unavailable");
    assert!(refused.header("retry-after").is_some(), "{refused}");
}

#[test]
fn the_report_lists_modules_without_a_conclusion_with_their_reasons() {
    let server = Setup::new().realistic().flag("--check-timeout=3s").start();
    let id = server.search("username", "alice");
    let run = server.finished(&id);
    let page = export(&server, &id, "html");
    let page = page.text();
    let modules = server.get(&format!("/v1/searches/{id}/modules")).json();
    let mut reasons = BTreeSet::new();
    for module in modules["modules"].as_array().unwrap() {
        let named = format!("<li title=\"{}\">", module["module"].as_str().unwrap());
        assert_eq!(page.matches(&named).count(), usize::from(module["status"] != "hit"), "{module}");
        if !["hit", "miss"].contains(&module["status"].as_str().unwrap()) {
            reasons.extend(module["reason"].as_str());
        }
    }
    assert!(!reasons.is_empty(), "the faults of the simulated web leave nothing unconcluded");
    for reason in reasons {
        assert!(page.contains(&format!("<small>{}</small>", reason.replace('_', " "))), "{reason}");
    }
    let coverage = &run["coverage"];
    let asked = coverage["checked"].as_u64().unwrap() - coverage["skipped"].as_u64().unwrap();
    assert!(page.contains(&format!("{} of {asked} modules", coverage["conclusive"])), "{coverage}");
    for absent in ["<script", "<img", "<link", " style=\"", "src=", "url("] {
        assert!(!page.contains(absent), "{absent}");
    }
}
