//! Bodies that are not text, and runs that do not exist for the caller. `bad_input.txt` has all other invalid values.

use serde_json::json;

use super::openapi::operations;
use crate::support::eventually;
use crate::support::server::Setup;

#[test]
fn a_body_that_is_not_utf_8_is_refused() {
    let server = Setup::new().start();
    let request = server.request("POST", "/v1/searches").key(&server.key);
    let request = request.header("Content-Type", "application/json");
    let refused = request.body(b"{\"type\":\"username\",\"query\":\"\xff\xfe\"}").send();
    assert_eq!(refused.is_error(400, "invalid_request")["detail"]["field"], "body", "{refused}");
}

/// Returns path and method of each operation on a run, and of requests with other mistakes.
fn requests_for_a_run() -> Vec<(String, String)> {
    let all = operations().map(|(path, method, _)| (path.to_owned(), method.to_uppercase()));
    let mut all: Vec<_> = all.filter(|(path, _)| path.contains("{run_id}")).collect();
    let formats = ["json", "ndjson", "csv", "html", "md", "xml", "csv&format=csv"];
    let more = formats.map(|format| format!("export?format={format}"));
    for end in more.iter().map(String::as_str).chain(["stream?after=x", "graph?format=xml"]) {
        all.push((format!("/v1/searches/{{run_id}}/{end}"), "GET".to_owned()));
    }
    all
}

#[test]
fn malformed_unknown_deleted_and_foreign_runs_are_the_same_404() {
    // One run goes on until the end of the test.
    let server = Setup::new().flag("--check-timeout=10m").flag("--run-timeout=1h").start();
    let owner = server.new_key("pro");
    let read = |id: &str| server.request("GET", &format!("/v1/searches/{id}")).key(&owner).send().json();
    let [ended, running] = ["everybody", "silent"].map(|query| {
        let body = json!({"type": "username", "query": query, "modules": ["github", "gitlab"]});
        let answer = server.request("POST", "/v1/searches").key(&owner).json(&body).send().json();
        answer["run_id"].as_str().unwrap().to_owned()
    });
    eventually("one has ended", || read(&ended)["status"] == "completed");
    let (before, other) = (read(&ended), server.search("username", "alice"));
    let deleted = server.search("username", "alice");
    server.finished(&deleted);
    let path = format!("/v1/searches/{deleted}");
    assert_eq!(server.delete(&path).status, 204);
    let ids = [
        ended.clone(),
        running.clone(),
        deleted,
        "00000000-0000-0000-0000-000000000000".into(),
        "not-a-uuid".into(),
        ended.replace('-', ""),
        format!("{ended}0"),
        "%01%0a".into(),
        "%ff".into(),
        "%00".into(),
        "..%2f..%2fetc".into(),
        "'%20or%201=1".into(),
        "%C3%A9".into(),
        "x".repeat(3000),
    ];
    for (path, method) in requests_for_a_run() {
        let path = path.replace("{other}", &other).replace("{lead_id}", "1").replace("{result_id}", "1");
        let answer = |id: &String| {
            let request = server.request(&method, &path.replace("{run_id}", id)).key(&server.key);
            let request = request.header("X-Request-Id", "same");
            let notes = json!({"tags": ["x"], "verdict": "mine"});
            let answer = if method == "PATCH" { request.json(&notes).send() } else { request.send() };
            answer.is_error(404, "not_found");
            String::from_utf8(answer.body).unwrap()
        };
        let bodies: Vec<String> = ids.iter().map(answer).collect();
        // With a well-formed id of a run, an operation on a result says that the result is unknown.
        let (formed, malformed) = bodies.split_at(if path.contains("/results/") { 4 } else { 0 });
        for same in [formed, malformed] {
            assert!(same.iter().all(|body| *body == same[0]), "{method} {path}: {same:#?}");
        }
    }
    // They are unknown as the second run of a comparison, too.
    for second in &ids[..4] {
        server.get(&format!("/v1/searches/{other}/diff/{second}")).is_error(404, "not_found");
    }
    // Their owner still has them, unchanged.
    assert_eq!(read(&ended), before);
    let running = read(&running);
    assert_eq!((&running["status"], running.get("tags")), (&json!("running"), None), "{running}");
    assert!(running["stopped_at"].is_null(), "{running}");
    server.get("/v1/nothing").is_error(404, "not_found");
    // The deleted run was charged.
    assert_eq!(server.get("/v1/credits").json()["credits_used"], 2);
    assert_eq!(server.get("/v1/searches").json()["count"], 1);
}
