//! `/metrics`.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use super::scrape;
use crate::support::admin::{admin_of, ask, get};
use crate::support::awaited;
use crate::support::modules::builtin;
use crate::support::python::venv;
use crate::support::server::{Server, Setup};

/// Parses the page with Prometheus' own parser.
const READ: &str = "import sys
from prometheus_client.parser import text_string_to_metric_families as read
assert list(read(sys.stdin.read()))";

#[test]
fn an_ended_run_that_is_read_again_is_not_made_again() {
    let server = Setup::new().all_modules().start();
    let admin = admin_of(&server);
    let run = server.finished(&server.search("username", "everybody"));
    let path = format!("/v1/searches/{}", run["run_id"].as_str().unwrap());
    let reads =
        || scrape(admin).get("sightline_store_operation_duration_seconds_count{operation=\"results\"}");
    // It is kept for a while only.
    awaited("two reads cost one", || {
        let before = reads();
        let [first, second] = [(); 2].map(|()| server.get(&path).json());
        assert_eq!((&first, &second), (&run, &run));
        if reads() - before < 2.0 { Ok(()) } else { Err("each was made".to_owned()) }
    });
    assert_eq!(server.delete(&path).status, 204);
    assert_eq!(server.get(&path).status, 404);
}

#[test]
fn counters_follow_the_events() {
    let server = Setup::new().all_modules().start();
    let admin = admin_of(&server);
    let before = scrape(admin);
    let found = server.finished(&server.search("username", "everybody"));
    let failed = server.finished(&server.search("email", "blocked@example.com"));
    assert_eq!((&found["status"], &failed["status"]), (&json!("completed"), &json!("failed")));
    let polled = format!("/v1/searches/{}", found["run_id"].as_str().unwrap());
    assert_eq!(server.request("GET", &polled).send().status, 401);
    assert_eq!(server.get("/nothing").status, 404);
    assert_eq!(server.get("/app/sign-in").status, 200);
    assert_eq!(server.get("/app/nothing").status, 404);
    // A browser gets a page, which is counted once.
    let page = server.request("GET", "/manual/nothing").header("Accept", "text/html").send();
    assert_eq!(page.status, 404);
    let of = |run: &serde_json::Value, field: &str| run["progress"][field].as_f64().unwrap();
    let expected = [
        ("sightline_runs_started_total{type=\"username\"}", 1.0),
        ("sightline_runs_started_total{type=\"email\"}", 1.0),
        ("sightline_runs_started_total{type=\"domain\"}", 0.0),
        ("sightline_runs_ended_total{status=\"completed\"}", 1.0),
        ("sightline_runs_ended_total{status=\"failed\"}", 1.0),
        ("sightline_run_duration_seconds_count", 2.0),
        ("sightline_queue_duration_seconds_count", 2.0),
        ("sightline_charges_total", 2.0),
        ("sightline_credits_charged_total", 2.0),
        ("sightline_refunds_total", 1.0),
        ("sightline_credits_refunded_total", 1.0),
        ("sightline_http_requests_total{method=\"POST\",route=\"/v1/searches\",status=\"200\"}", 2.0),
        ("sightline_http_requests_total{method=\"GET\",route=\"/v1/searches/{run_id}\",status=\"401\"}", 1.0),
        ("sightline_http_requests_total{method=\"GET\",route=\"none\",status=\"404\"}", 1.0),
        ("sightline_http_requests_total{method=\"GET\",route=\"/app/sign-in\",status=\"200\"}", 1.0),
        ("sightline_http_requests_total{method=\"GET\",route=\"/app none\",status=\"404\"}", 2.0),
        ("sightline_http_requests_total{method=\"GET\",route=\"/manual/{topic}\",status=\"404\"}", 0.0),
        ("sightline_store_operation_duration_seconds_count{operation=\"start\"}", 2.0),
        ("sightline_store_operation_duration_seconds_count{operation=\"finish\"}", 2.0),
        (
            "sightline_results_total",
            found["total_results"].as_f64().unwrap() + failed["total_results"].as_f64().unwrap(),
        ),
    ];
    // The end of a run may be seen before it is counted.
    let after = awaited("the counters follow", || {
        let after = scrape(admin);
        let rose = |name: &str| after.get(name) - before.get(name);
        let wrong: Vec<_> =
            expected.iter().filter(|(name, by)| rose(name).to_bits() != by.to_bits()).collect();
        if wrong.is_empty() { Ok(after) } else { Err(format!("{wrong:?}")) }
    });
    let rose = |name: &str| after.get(name) - before.get(name);
    for (kind, run) in [("username", &found), ("email", &failed)] {
        let by_outcome: f64 =
            ["hit", "miss", "blocked", "rate_limited", "timeout", "error", "unreliable", "skipped"]
                .iter()
                .map(|outcome| {
                    rose(&format!("sightline_checks_total{{outcome=\"{outcome}\",type=\"{kind}\"}}"))
                })
                .sum();
        assert_eq!(by_outcome, of(run, "modules_total"), "{kind}");
    }
    let answered = "sightline_http_requests_total";
    let timed = "sightline_http_request_duration_seconds_count";
    assert_eq!(after.sum(answered), after.sum(timed), "every answer is timed");
    let modules = builtin().modules().len();
    assert_eq!(after.sum("sightline_modules{"), modules as f64);
    assert!(after.get("process_threads") > 20.0 && after.get("process_resident_memory_bytes") > 1e7);
    assert!(after.get("process_open_fds") < after.get("process_max_fds"));
    assert!(after.get("process_cpu_seconds_total") > 0.0);
    assert!(after.get("process_start_time_seconds") > 1.7e9);
}

/// Sends a mark in every place that a client can fill.
fn send_marked(server: &Server, mark: &str) -> String {
    let run = server.search("username", mark);
    server.finished(&run);
    for (method, path) in [
        ("GET", format!("/{mark}")),
        ("GET", format!("/v1/searches/{mark}")),
        ("GET", format!("/v1/modules?category={mark}")),
        ("GET", format!("/docs/assets/{mark}")),
        ("GET", format!("/app/{mark}")),
        ("GET", format!("/app/set-up/{mark}")),
        ("XQ", format!("/v1/{mark}")),
        ("GET", format!("/v1/searches/{run}/modules")),
    ] {
        server.request(method, &path).key(&server.key).header("X-Request-Id", mark).send();
    }
    run
}

#[test]
fn no_label_contains_text_of_a_client() {
    let mark = "zqxjkvwb";
    let server = Setup::new().all_modules().start();
    let run = send_marked(&server, mark);
    let admin = admin_of(&server);
    let text = get(admin, "/metrics").text().to_owned();
    for secret in [mark, run.as_str(), server.key.as_str(), "sl_live_", "XQ", "example.com"] {
        assert!(!text.contains(secret), "{secret}");
    }
    let page = scrape(admin);
    let routes: Vec<&str> = sightline::api::routes::ROUTES
        .iter()
        .map(|route| route.path)
        .chain(sightline::web::routes::ROUTES.iter().map(|route| route.path))
        .chain(["none", "/app none"])
        .collect();
    for (name, value) in &page.labels {
        match name.as_str() {
            "route" => assert!(routes.contains(&value.as_str()), "{value}"),
            "le" | "version" => {}
            "method" => assert!(value.chars().all(|c| c.is_ascii_uppercase()) || value == "other", "{value}"),
            "status" => {
                assert!(
                    value.parse::<u16>().is_ok()
                        || ["other", "completed", "failed"].contains(&value.as_str()),
                    "{value}"
                );
            }
            "type" | "outcome" | "reason" | "health" | "operation" | "kind" | "state" | "result" | "task" => {
                assert!(value.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name} {value}");
            }
            _ => panic!("a label that nobody expects: {name}=\"{value}\""),
        }
    }
}

#[test]
fn there_is_no_admin_listener_unless_one_is_asked_for() {
    let server = Setup::new().without_admin().start();
    assert!(!server.log().contains("metrics and probes"), "{}", server.log());
    assert_eq!(server.get("/healthz").status, 404);
}

mod campaigns {
    use super::*;

    #[test]
    fn the_metrics_pages_are_valid_for_prometheus() {
        let server = Setup::new().start();
        server.finished(&server.search("username", "everybody"));
        let admin = admin_of(&server);
        let said = get(admin, "/metrics");
        assert_eq!(said.status, 200);
        assert_eq!(said.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
        let mut python = venv(&["prometheus-client==0.22.1"]).command("python");
        let mut child = python.args(["-c", READ]).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&said.body).unwrap();
        assert!(child.wait().unwrap().success(), "{said}");
        let head = ask(admin, "HEAD", "/metrics");
        assert_eq!((head.status, head.text()), (200, ""));
        assert_eq!(ask(admin, "POST", "/metrics").status, 405);
        assert_eq!(get(admin, "/nothing").status, 404);
        // Neither listener serves the paths of the other.
        assert_eq!(server.get("/metrics").status, 404);
        assert_eq!(get(admin, "/v1/health").status, 404);
    }
}
