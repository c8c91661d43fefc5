//! A search with a time budget ends with the answers that it has.

use super::*;

/// A time budget in seconds: long enough for a site that answers at once, also on a busy machine.
const BUDGET: u64 = 8;

/// Returns a site on which `ok` answers at once, and the modules `silent0`, `silent1`, … never.
fn with_silent_modules(count: usize) -> (Site, Vec<Value>) {
    let site = Site::start();
    let silent = (0..count).map(|number| site.module(&format!("silent{number}"), 10 + number));
    let modules = std::iter::once(site.module("ok", 1)).chain(silent).collect();
    site.answer_at_once("ok", 200);
    (site, modules)
}

fn cut_reports(server: &Server, run: &str) -> Vec<Value> {
    let reports = server.get(&format!("/v1/searches/{run}/modules")).json();
    let all = reports["modules"].as_array().unwrap().iter();
    all.filter(|report| report["reason"] == "time_budget").cloned().collect()
}

#[test]
fn at_the_end_of_its_time_budget_a_search_completes_with_its_hits() {
    let (site, modules) = with_silent_modules(12);
    let server = server_for(&site, &modules, &["--check-workers=8"]);
    let body = json!({"type": "username", "query": "alice", "time_budget": BUDGET});
    let start = |body: &Value| server.post_once("once", body);
    let run = start(&body).json()["run_id"].as_str().unwrap().to_owned();
    let ended = server.finished(&run);
    assert_eq!((&ended["status"], &ended["total_results"]), (&json!("completed"), &json!(1)));
    assert_eq!((&ended["time_budget"], &ended["coverage"]["timeout"]), (&json!(BUDGET), &json!(12)));
    assert_eq!(ended["coverage"]["cut_by_time_budget"], 12, "{ended}");
    let cut = cut_reports(&server, &run);
    assert_eq!(cut.len(), 12, "those under way, and those that wait for a worker");
    // The deadline of a check is ten minutes.
    assert!(
        cut.iter()
            .all(|report| report["status"] == "timeout" && report["elapsed_ms"].as_u64() < Some(300_000))
    );
    let same = json!({"type": "username", "query": "alice", "time_budget": BUDGET as f64});
    assert_eq!(start(&same).json()["run_id"], json!(run), "the same request");
    start(&json!({"type": "username", "query": "alice", "time_budget": BUDGET + 1}))
        .is_error(422, "idempotency_mismatch");
    for budget in [json!(0), json!(121), json!("6"), json!(1.5)] {
        let error = server.post(&json!({"type": "username", "query": "alice", "time_budget": budget}));
        assert_eq!(error.is_error(400, "invalid_request")["detail"]["field"], "time_budget");
    }
}

#[test]
fn the_time_in_the_queue_is_no_part_of_the_time_budget() {
    let (site, modules) = with_silent_modules(1);
    let server = server_for(&site, &modules, &["--max-runs=1"]);
    let start = |modules: &[&str], secs| {
        let body = json!({"type": "username", "query": "alice", "modules": modules, "time_budget": secs});
        server.post(&body).json()["run_id"].as_str().unwrap().to_owned()
    };
    // The first one holds the only driver for longer than the budget of the second one.
    let (first, second) = (start(&["ok", "silent0"], BUDGET + 2), start(&["ok", "silent0"], BUDGET));
    for run in [first, second] {
        let ended = server.finished(&run);
        let [hits, cut] = ["hit", "timeout"].map(|outcome| &ended["coverage"][outcome]);
        assert_eq!((hits, cut), (&json!(1), &json!(1)), "{ended}");
        assert_eq!(cut_reports(&server, &run).len(), 1);
    }
}
