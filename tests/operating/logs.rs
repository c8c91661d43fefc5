//! `--log-format`.

use serde_json::Value;

use crate::support::server::Setup;

#[test]
fn every_line_is_an_object_with_a_moment_of_fixed_length_and_the_requests_id() {
    let server = Setup::new().flag("--log-format=json").start();
    server.finished(&server.search("username", "everybody"));
    let answer = server.request("GET", "/v1/me").key(&server.key).header("X-Request-Id", "my-own.id").send();
    assert_eq!(answer.status, 200, "{answer}");
    let log = server.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() > 5, "{log}");
    for line in &lines {
        let time = line["time"].as_str().unwrap();
        assert_eq!((time.len(), &time[23..]), (24, "Z"), "{line}");
        assert!(["error", "warn", "info", "debug"].contains(&line["level"].as_str().unwrap()), "{line}");
        assert!(line["target"].as_str().unwrap().starts_with("sightline"), "{line}");
        assert!(!line["message"].as_str().unwrap().is_empty(), "{line}");
    }
    let of_request: Vec<_> = lines.iter().filter(|line| line["request_id"] == "my-own.id").collect();
    assert_eq!(of_request.len(), 1, "{log}");
    assert_eq!(of_request[0]["message"], "GET /v1/me");
}

#[test]
fn lines_for_people_begin_with_a_moment_of_fixed_length() {
    let server = Setup::new().start();
    server.request("GET", "/v1/me").key(&server.key).header("X-Request-Id", "my-own.id").send();
    let log = server.log();
    for line in log.lines() {
        let (time, rest) = line.split_once(' ').unwrap();
        assert!(time.len() == 24 && time.ends_with('Z') && rest.starts_with('['), "{line}");
    }
    assert!(
        log.lines().any(|line| line.ends_with("my-own.id GET /v1/me") && line.contains("[DEBUG]")),
        "{log}"
    );
}
