//! Reports: each format is complete, safe to open, and marked if the run is incomplete.

use std::collections::BTreeSet;

use serde_json::Value;

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
