//! `--log-format`.

use serde_json::{Value, json};

use crate::cli::Folder;
use crate::support::admin::{admin_of, get};
use crate::support::eventually;
use crate::support::modules::{entry, own_flags, with};
use crate::support::server::Setup;
use crate::support::site::Site;
use crate::web::person::Person;

#[test]
fn every_line_has_a_time_of_fixed_length_and_a_request_id() {
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
    let line = of_request[0];
    assert_eq!((&line["message"], &line["status"]), (&"GET /v1/me".into(), &200.into()), "{line}");
    assert!(line["duration_ms"].as_u64().is_some(), "{line}");
    assert_eq!(line["account_id"], answer.json()["user_id"], "{line}");

    let log_at = |level: &str, format: &str| {
        let setup = Setup::new().flag(&format!("--log-format={format}"));
        let server = setup.flag(&format!("--log-level={level}")).start();
        server.request("GET", "/v1/me").key(&server.key).header("X-Request-Id", "my-own.id").send();
        server.log()
    };
    let log = log_at("debug", "text");
    for line in log.lines() {
        let (time, rest) = line.split_once(' ').unwrap();
        assert!(time.len() == 24 && time.ends_with('Z') && rest.starts_with('['), "{line}");
        assert!(rest.split_once("] ").is_some_and(|(_, text)| text.starts_with("sightline")), "{line}");
    }
    let is_it = |line: &str| line.contains("my-own.id GET /v1/me status=200 duration_ms=");
    assert!(log.lines().any(|line| is_it(line) && line.contains("[DEBUG]")), "{log}");
    // Lines below the level are left out.
    for format in ["text", "json"] {
        let log = log_at("info", format);
        assert!(!log.is_empty() && !log.contains("/v1/me") && !log.to_lowercase().contains("debug"), "{log}");
    }
}

/// A word in every part of the configuration that is secret, and its forms in headers.
const SECRET: &str = "hunter2";
const SECRET_FORMS: [&str; 3] = [SECRET, "dTpodW50ZXIy", "hunter%32"];

#[test]
fn no_log_line_and_no_page_shows_a_secret() {
    let (folder, site) = (Folder::new(), Site::saying("HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n"));
    let headers =
        json!({"Authorization": "Bearer hunter2", "Cookie": "a=hunter2", "X-Key": "{config.github_token}"});
    let probes = json!({"probes": [{"url": "https://mine.example/{query}", "headers": headers}], "needs": ["config.github_token"]});
    let flags: Vec<String> = own_flags(&folder, &[with(entry("mine", "https://mine.example/"), &probes)]);
    let server = Setup::real()
        .flags(&flags)
        .flag("--log-level=trace")
        .flag("--outbound-proxy=http://u:hunter2@127.0.0.1:1")
        .flag("--browser=http://127.0.0.1:1")
        .flag("--key=github_token=hunter2")
        .start();
    let webhook =
        json!({"url": site.url("/hunter2?token=hunter2"), "events": ["run.completed", "run.failed"]});
    let made = server.request("POST", "/v1/webhooks").key(&server.key).json(&webhook).send();
    assert_eq!(made.status, 201, "{made}");
    server.finished(&server.search("username", "alice"));
    let path = format!("/v1/webhooks/{}/deliveries", made.json()["id"].as_str().unwrap());
    eventually("a delivery has failed", || {
        server.get(&path).json()["deliveries"][0]["last_attempt"].is_object()
    });
    let person = Person::signed_in(&server, "ann@example.org", "pro");
    server.cli(&["account", "set-role", "--email", "ann@example.org", "--role", "operator"]);
    let admin = admin_of(&server);
    let said = ["/metrics", "/readyz", "/healthz"].map(|path| get(admin, path).to_string());
    let public =
        ["/v1/health", "/v1/capabilities", "/v1/modules", "/v1/modules/mine"].map(|path| server.get(path));
    let pages = ["/app/operator", "/app/operator/load"].map(|path| person.get(path));
    let answers = public.into_iter().chain(pages).map(|answer| answer.to_string());
    for text in answers.chain(said).chain([server.log()]) {
        assert!(SECRET_FORMS.iter().all(|form| !text.contains(form)), "{text}");
    }
}
