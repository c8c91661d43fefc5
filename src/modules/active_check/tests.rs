//! Tests of the validation of a feed's list.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use url::Url;

use super::*;
use crate::modules::keys::OperatorKeys;
use crate::modules::probe::{CookieJar, Prober};
use crate::modules::query::SearchType;

/// A prober that refuses every request.
struct NoWeb;

impl Prober for NoWeb {
    fn send(&self, _: &Request, _: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
        Err(ProbeError::ForbiddenAddress)
    }
}

fn module(rules: &serde_json::Value) -> Module {
    let mut entry = json!({
        "id": "m", "platform": "M", "type": "domain", "category": "test", "result": {"type": "domain"},
        "probes": [{"url": "https://site.example/list", "feed": {"keep_s": 3600}}],
    });
    for (name, value) in rules.as_object().unwrap() {
        entry[name] = value.clone();
    }
    Module::compile(serde_json::from_value(entry).unwrap()).unwrap()
}

/// Returns whether the module accepts the response as its list, for the query `example.org`.
fn is_list(module: &Module, content_type: &str, body: &str, truncated: bool) -> bool {
    let checker = Checker::new(Arc::new(NoWeb), OperatorKeys::default(), "t", Duration::ZERO);
    let query = Query::parse(SearchType::Domain, "example.org").unwrap();
    let now = Instant::now();
    let check = ActiveCheck::ask(&checker, module, &query, false, None, now.into());
    let response = Response {
        status: 200,
        final_url: Url::parse("https://site.example/list").unwrap(),
        headers: vec![("content-type".into(), content_type.into())],
        body: body.into(),
        truncated,
    };
    check.is_list(0, &response, now + Duration::from_secs(60))
}

const LIST: &str = r#"[{"name": "example.org"}, {"name": "example.net"}]"#;
const OTHERS: &str = r#"[{"name": "example.net"}]"#;
const DOWN: &str = "<html><title>Down for maintenance</title></html>";

#[test]
fn a_json_feed_is_accepted_if_it_is_complete_and_matches_a_rule() {
    let module = module(&json!({
        "hit": [{"status": [200], "json": [{"at": "/*/name", "equals_query": true}]}],
        "miss": [{"status": [200], "no_word": ["\"{query}\""]}, {"status": [404]}],
    }));
    for (body, truncated, want) in [
        (LIST, false, true),
        (OTHERS, false, true),
        (LIST, true, false),
        ("", false, false),
        (" \n", false, false),
        (DOWN, false, false),
    ] {
        assert_eq!(is_list(&module, "application/json", body, truncated), want, "{body} {truncated}");
    }
}

#[test]
fn a_text_feed_is_accepted_if_it_matches_a_rule() {
    let module = module(&json!({
        "hit": [{"status": [200], "regex": "(?m)^{domain}$"}],
        "miss": [{"status": [200], "regex": "\\A[a-z]+[.]", "no_word": ["{domain}"]}],
    }));
    let lines = |body, truncated| is_list(&module, "text/plain", body, truncated);
    assert!(lines("example.org\n", false) && lines("example.net\n", false));
    assert!(!lines("example.org\n", true) && !lines(DOWN, false) && !lines("", false));
}

#[test]
fn a_feed_with_a_saved_json_value_must_be_json() {
    let saving = |save: &str| {
        module(&json!({
            "probes": [
                {"url": "https://site.example/list", "feed": {"keep_s": 3600}, "save": {"at": save}},
                {"url": "https://other.example/{saved.at}/{query}"},
            ],
            "hit": [{"status": [200], "json": [{"at": "/a", "exists": true}]}], "miss": [{"status": [404]}],
        }))
    };
    let [json, text] = ["json:/0/name", "regex:name: (.+)"].map(saving);
    assert!(is_list(&json, "application/json", LIST, false));
    assert!(!is_list(&json, "text/html", DOWN, false));
    // Conditions of the rules on the second probe's response do not apply to this one.
    assert!(is_list(&text, "text/plain", "name: a", false));
}
