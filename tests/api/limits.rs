//! Rate limits: counted per account, shown in headers, refused with the time to wait.

use serde_json::json;

use crate::support::server::Setup;

#[test]
fn each_policy_counts_down_and_then_refuses() {
    let server = Setup::new()
        .flag("--rate-limits=search=2")
        .flag("--rate-limits=stream=1")
        .flag("--rate-limits=read=4")
        .start();
    let body = json!({"type": "username", "query": "alice"});
    let first = server.post(&body);
    assert_eq!(first.header("ratelimit-policy"), Some("\"search\";q=2;w=60"));
    assert_eq!(first.header("ratelimit"), Some("\"search\";r=1;t=30"));
    assert_eq!(first.header("x-ratelimit-limit"), Some("2"));
    assert_eq!(first.header("x-ratelimit-remaining"), Some("1"));
    assert_eq!(first.header("x-ratelimit-reset"), Some("30"));
    // A refused body counts too.
    assert_eq!(server.post(&json!({"type": "phone"})).header("x-ratelimit-remaining"), Some("0"));
    let refused = server.post(&body);
    let error = refused.is_error(429, "rate_limited");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait));
    assert_eq!(error["detail"]["retry_after"], wait);
    assert_eq!(refused.header("x-ratelimit-remaining"), Some("0"));

    for left in ["3", "2", "1", "0"] {
        assert_eq!(server.get("/v1/me").header("x-ratelimit-remaining"), Some(left));
    }
    server.get("/v1/credits").is_error(429, "rate_limited");
    // Public pages are not counted.
    for _ in 0..10 {
        let health = server.request("GET", "/v1/health").send();
        assert_eq!((health.status, health.header("ratelimit")), (200, None));
    }
    // Another account has limits of its own.
    let other = server.new_key("pro");
    assert_eq!(server.request("GET", "/v1/me").key(&other).send().status, 200);
}

#[test]
fn more_keys_of_an_account_give_no_more_quota() {
    let server = Setup::new().flag("--rate-limits=read=3").start();
    let email = "two-keys@example.com";
    server.cli(&["account", "create", "--email", email, "--plan", "pro"]);
    let keys: Vec<String> =
        (0..2).map(|_| server.cli(&["key", "create", "--account", email]).trim().to_owned()).collect();
    for (key, want) in [(&keys[0], 200), (&keys[1], 200), (&keys[0], 200), (&keys[1], 429), (&keys[0], 429)] {
        assert_eq!(server.request("GET", "/v1/me").key(key).send().status, want);
    }
}

#[test]
fn a_streamed_search_counts_as_search_and_as_stream() {
    let server = Setup::new().flag("--rate-limits=search=3").flag("--rate-limits=stream=2").start();
    let streamed = json!({"type": "username", "query": "alice", "stream": true});
    let stream = server.post_stream(&streamed);
    assert_eq!(stream.header("ratelimit-policy"), Some("\"search\";q=3;w=60, \"stream\";q=2;w=60"));
    assert_eq!(stream.header("x-ratelimit-remaining"), Some("1"), "the tightest of both");
    let run_id = stream.header("x-run-id").unwrap().to_owned();
    stream.all();
    server.stream(&format!("/v1/searches/{run_id}/stream")).all();
    let refused = server.post(&streamed);
    refused.is_error(429, "rate_limited");
    assert_eq!(refused.json()["detail"]["policy"], "stream");
    // The refused one did not count as a search: 3 less the one that was taken, less this one.
    let plain = server.post(&json!({"type": "username", "query": "bob"}));
    assert_eq!(plain.header("x-ratelimit-remaining"), Some("1"));
    assert_eq!(server.get("/v1/credits").json()["credits_used"], 2, "a refused search is not charged");
}

/// These starts have no body, and answer with no stream.
#[test]
fn a_retried_followed_or_watched_start_counts_as_a_search_only() {
    let server = Setup::new().start();
    let run = server.search("username", "alice");
    let watch = server.request("POST", "/v1/watches").key(&server.key);
    let watch = watch.json(&json!({"type": "username", "query": "alice", "every": "1d"})).send().json();
    let watch = watch["id"].as_str().unwrap().to_owned();
    for path in [
        format!("/v1/searches/{run}/retry"),
        format!("/v1/searches/{run}/leads/1/follow"),
        format!("/v1/watches/{watch}/run"),
        "/v1/batches".to_owned(),
    ] {
        let answer = server.request("POST", &path).key(&server.key).json(&json!({"stream": true})).send();
        let counted = answer.header("ratelimit-policy").unwrap();
        assert!(counted.contains("search") && !counted.contains("stream"), "{path}: {answer}");
    }
}
