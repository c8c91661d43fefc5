//! The results of a batch as files.

use serde_json::{Value, json};

use super::{accepted, ended};
use crate::support::server::{Answer, Setup};

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

#[test]
fn the_results_of_all_searches_come_in_one_file() {
    let server = Setup::new().start();
    let search = |name| json!({"type": "username", "query": name, "modules": ["github", "gitlab"]});
    let id =
        accepted(&server, &json!({"searches": [search("everybody1"), search("everybody2")], "name": "two"}));
    let batch = ended(&server, &id);
    assert_eq!(batch["status"], "completed", "{batch}");
    assert_eq!(batch["counts"]["completed"], 2, "{batch}");
    let run = batch["searches"][0]["run_id"].as_str().unwrap();
    assert_eq!(server.get(&format!("/v1/searches/{run}")).json()["batch_id"], id);
    let found: u64 =
        batch["searches"].as_array().unwrap().iter().map(|row| row["total_results"].as_u64().unwrap()).sum();
    assert!(found > 0, "{batch}");

    let file = |path: &str| {
        let answer = server.get(&format!("/v1/batches/{id}/{path}"));
        assert_eq!(answer.status, 200, "{answer}");
        answer
    };
    let report = file("export").json();
    assert_eq!((&report["batch_id"], &report["name"]), (&json!(id), &json!("two")));
    assert_eq!(report["searches"][1]["run"]["query"], "everybody2");
    assert_eq!(report["searches"][0]["run"]["modules"].as_array().unwrap().len(), 2);
    let lines = text(&file("export?format=ndjson"));
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len() as u64, found);
    assert_eq!((&lines[0]["row"], &lines[0]["query"]), (&json!(1), &json!("everybody1")));
    let answer = file("export?format=csv");
    assert!(answer.header("content-disposition").unwrap().ends_with("-simulated.csv\""), "{answer}");
    assert!(text(&answer).starts_with("\u{feff}row,"), "spreadsheets need the mark: {answer}");
    let rows = csv::Reader::from_reader(text(&answer).as_bytes()).into_records().count();
    assert_eq!(rows as u64, found);

    let matrix = file("matrix").json();
    let columns: Vec<&str> =
        matrix["columns"].as_array().unwrap().iter().map(|one| one["module"].as_str().unwrap()).collect();
    let mut sorted = columns.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["github", "gitlab"]);
    let modules = server.get(&format!("/v1/searches/{run}/modules")).json();
    for (column, outcome) in columns.iter().zip(matrix["rows"][0]["outcomes"].as_array().unwrap()) {
        let modules = modules["modules"].as_array().unwrap();
        let report = modules.iter().find(|report| report["module"] == *column).unwrap();
        assert_eq!(*outcome, report["status"], "{column}");
    }
    let text = text(&file("matrix?format=csv"));
    assert!(text.starts_with("\u{feff}row,"), "{text}");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(
        reader.headers().unwrap().iter().take(4).collect::<Vec<_>>(),
        ["row", "type", "query", "status"]
    );
    let second = reader.records().nth(1).unwrap().unwrap();
    assert_eq!((&second[2], &second[3], second.len()), ("everybody2", "completed", 6));
}
