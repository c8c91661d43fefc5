//! Lists, modules, ETags, and the public endpoints.

use serde_json::{Value, json};

use crate::support::databases::databases;
use crate::support::server::{Server, Setup, run_ids};

#[test]
fn the_list_is_newest_first_paged_and_without_results() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let mut started: Vec<String> =
            (0..7).map(|number| server.search("username", &format!("user{number}"))).collect();
        started.push(server.search("email", "alice@example.com"));
        started.reverse();
        for run in &started {
            server.finished(run);
        }
        let all = server.get("/v1/searches").json();
        assert_eq!(run_ids(&all), started, "{}", database.name);
        assert_eq!((&all["count"], &all["limit"], &all["has_more"]), (&json!(8), &json!(20), &json!(false)));
        assert_eq!(all["next_cursor"], Value::Null);
        let first = &all["searches"][0];
        assert!(first.get("results").is_none());
        for field in
            ["status", "type", "query", "total_results", "progress", "created_at", "completed_at", "premium"]
        {
            assert!(first.get(field).is_some(), "{field}: {first}");
        }
        let (mut paged, mut path) = (Vec::new(), "/v1/searches?limit=3".to_owned());
        loop {
            let page = server.get(&path).json();
            assert!(page["count"].as_u64().unwrap() <= 3);
            paged.extend(run_ids(&page));
            let Some(cursor) = page["next_cursor"].as_str() else {
                assert_eq!(page["has_more"], false);
                break;
            };
            assert_eq!(page["has_more"], true);
            path = format!("/v1/searches?limit=3&cursor={cursor}");
        }
        assert_eq!(paged, started, "{}", database.name);
        assert_eq!(run_ids(&server.get("/v1/searches?type=email").json()), started[..1]);
        assert_eq!(run_ids(&server.get("/v1/searches?status=completed&limit=100").json()).len(), 8);
        assert_eq!(run_ids(&server.get("/v1/searches?status=failed").json()).len(), 0);
        let other = server.new_key("pro");
        assert_eq!(
            server.request("GET", "/v1/searches").key(&other).send().json()["count"],
            0,
            "only the caller's"
        );
    }
}

#[test]
fn an_etag_answers_304_until_the_run_changes() {
    let server = Setup::new().start();
    let run = server.search("username", "everybody");
    server.finished(&run);
    let path = format!("/v1/searches/{run}");
    let first = server.get(&path);
    let etag = first.header("etag").unwrap().to_owned();
    assert!(first.header("last-modified").is_some_and(|date| date.ends_with("GMT")));
    for (tag, want) in [(etag.as_str(), 304), (&format!("W/{etag}"), 304), ("*", 304), ("\"other\"", 200)] {
        let answer = server.request("GET", &path).key(&server.key).header("If-None-Match", tag).send();
        assert_eq!(answer.status, want, "{tag}: {answer}");
        assert_eq!(answer.header("etag"), Some(etag.as_str()));
        assert_eq!(answer.body.is_empty(), want == 304);
    }
    let date = first.header("last-modified").unwrap().to_owned();
    let asked = |headers: &[(&str, &str)]| {
        let request = server.request("GET", &path).key(&server.key);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        let answer = request.send();
        assert_eq!(answer.body.is_empty(), answer.status == 304, "{answer}");
        answer.status
    };
    fn since(date: &str) -> (&str, &str) {
        ("If-Modified-Since", date)
    }
    assert_eq!(asked(&[since(&date)]), 304);
    assert_eq!(asked(&[since("Fri, 01 Jan 2100 00:00:00 GMT")]), 304);
    for earlier in ["Thu, 01 Jan 1970 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:00 GMT", "yesterday", ""] {
        assert_eq!(asked(&[since(earlier)]), 200, "{earlier:?}");
    }
    assert_eq!(asked(&[since(&date), ("If-None-Match", "\"other\"")]), 200, "the tag is the better one");
    assert_eq!(asked(&[since("yesterday"), ("If-None-Match", &etag)]), 304);
    let server = server.restart(&[]);
    let stored = server.get(&path);
    assert_eq!(stored.header("etag"), Some(etag.as_str()), "the tag is the same from the store");
    assert_eq!(stored.body, first.body);
    let again = server.get(&path);
    assert_eq!(again.body, first.body);
}

#[test]
fn a_run_that_goes_on_is_never_unmodified() {
    // Silent sites keep it running during the test.
    let server = Setup::new().flag("--check-timeout=60s").flag("--run-timeout=120s").start();
    let path = format!("/v1/searches/{}", server.search("username", "silent"));
    let future = "Fri, 01 Jan 2100 00:00:00 GMT";
    let answer = server.request("GET", &path).key(&server.key).header("If-Modified-Since", future).send();
    assert_eq!((answer.status, answer.header("last-modified")), (200, None), "{answer}");
}

#[test]
fn every_module_of_a_run_has_an_outcome() {
    let server = Setup::new().all_modules().realistic().flag("--check-timeout=3s").start();
    let run = server.search("username", "alice");
    let run = server.finished(&run);
    let modules = server.get(&format!("/v1/searches/{}/modules", run["run_id"].as_str().unwrap())).json();
    let rows = modules["modules"].as_array().unwrap();
    assert_eq!(modules["count"], rows.len());
    assert_eq!(run["progress"]["modules_total"], rows.len());
    for row in rows {
        let fields: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        let is_conclusive = row["status"] == "hit" || row["status"] == "miss";
        let mut wanted = vec!["module", "platform", "status", "reason", "http_status", "elapsed_ms"];
        wanted.extend((is_conclusive && row["reason"] != "known_unclear").then_some("rules"));
        wanted.extend((row["partial"] == true).then_some("partial"));
        assert_eq!(fields, wanted, "{row}");
        assert!(is_conclusive || row["reason"].is_string(), "an inconclusive outcome has a reason: {row}");
    }
    let health = server.get("/v1/modules").json();
    let asked =
        health["modules"].as_array().unwrap().iter().filter(|module| module["health"]["checks"] == 1).count();
    assert!(asked > 20, "the catalogue shows what the run taught");
}

fn documented(server: &Server, path: &str) -> Value {
    let answer = server.request("GET", path).send();
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

#[test]
fn health_and_capabilities_are_public_and_have_the_documented_form() {
    for database in databases() {
        let server = Setup::new().all_modules().database(&database.url).start();
        let health = documented(&server, "/v1/health");
        for (field, want) in [
            ("status", json!("ok")),
            ("service", json!("sightline")),
            ("version", json!("v1")),
            ("database", json!("ok")),
            ("streaming", json!(true)),
            ("sandbox", json!(true)),
        ] {
            assert_eq!(health[field], want, "{field}");
        }
        let members: Vec<&str> = health.as_object().unwrap().keys().map(String::as_str).collect();
        let public = ["status", "service", "version", "database", "streaming", "time", "release", "sandbox"];
        assert_eq!(members, public, "figures of load are the operator's");
        assert!(health["time"].as_str().is_some_and(|time| time.ends_with('Z') && time.len() == 24));
    }
    let flags = ["--rate-limits=search=30", "--base-url=https://api.example.org/", "--times=wait=30s"]
        .map(str::to_owned);
    let server = Setup::new().all_modules().flags(&flags).start();
    let capabilities = documented(&server, "/v1/capabilities");
    let limits = &capabilities["limits"];
    assert_eq!((&limits["rate_limit_per_minute"], &limits["sync_wait_seconds"]), (&json!(30), &json!(30)));
    assert_eq!(capabilities["auth"]["plan_required"], json!(["pro", "unlimited"]));
    assert_eq!(capabilities["docs_url"], "https://api.example.org/docs");
    let modules = server.get("/v1/modules").json();
    let of = |wanted: &dyn Fn(&Value) -> bool| {
        let takes_part = |module: &&Value| module["enabled"] == true && module["nsfw"] == false;
        let modules = modules["modules"].as_array().unwrap().iter().filter(takes_part);
        modules.filter(|module| wanted(module)).count()
    };
    for kind in ["domain", "email", "username"] {
        let is_asked = |it: &Value| it["type"] == kind && it["discovery"] == false && it["premium"] == false;
        assert_eq!(capabilities["modules"][kind], of(&is_asked), "{kind}");
    }
    let premium = of(&|module| module["premium"] == true);
    assert!(premium > 20);
    assert_eq!(capabilities["premium"]["module_count"], premium);
}
