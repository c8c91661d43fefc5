//! The check engine against a scripted prober.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use sightline::modules::catalog::Catalog;
use sightline::modules::check::Checker;
use sightline::modules::judge::judge;
use sightline::modules::keys::OperatorKeys;
use sightline::modules::module::Module;
use sightline::modules::outcome::{Outcome, Report};
use sightline::modules::probe::{
    CookieJar, MAX_BODY_BYTES, Phase, ProbeError, Prober, Request, Response, Timing,
};
use sightline::modules::query::{Query, SearchType};

type Script = dyn Fn(&Request) -> Result<Response, ProbeError> + Send + Sync;

/// Answers as its script says, and keeps what it was asked.
struct Scripted {
    script: Box<Script>,
    asked: Mutex<Vec<Request>>,
    cookies: Mutex<Vec<Option<String>>>,
}

impl Prober for Scripted {
    fn send(&self, request: &Request, jar: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
        let host = request.url.host_str().unwrap();
        self.cookies.lock().push(jar.header_for(host));
        self.asked.lock().push(request.clone());
        let response = (self.script)(request)?;
        for (name, value) in &response.headers {
            if name == "set-cookie" {
                jar.store(host, value);
            }
        }
        Ok(response)
    }
}

struct Bench {
    prober: Arc<Scripted>,
    checker: Checker,
}

impl Bench {
    fn new(script: impl Fn(&Request) -> Result<Response, ProbeError> + Send + Sync + 'static) -> Self {
        Self::with_keys(&[], script)
    }

    fn with_keys(
        keys: &[(&str, &str)],
        script: impl Fn(&Request) -> Result<Response, ProbeError> + Send + Sync + 'static,
    ) -> Self {
        let prober = Arc::new(Scripted {
            script: Box::new(script),
            asked: Mutex::default(),
            cookies: Mutex::default(),
        });
        let keys = OperatorKeys::new(keys.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let checker = Checker::new(prober.clone(), keys, "sightline-test", Duration::from_secs(3600));
        Self { prober, checker }
    }

    fn check(&self, module: &Module, query: &Query) -> Report {
        self.checker.check(module, query, Instant::now() + Duration::from_secs(60))
    }

    fn asked(&self) -> Vec<String> {
        self.prober.asked.lock().iter().map(|request| request.url.to_string()).collect()
    }
}

/// A module from the fields that matter; the rest is filled in.
fn module(fields: &Value) -> Arc<Module> {
    let mut entry = json!({
        "id": "site", "platform": "Site", "type": "username", "category": "test",
        "probes": [{"url": "https://site.example/u/{query}"}],
        "hit": [{"status": [200]}], "miss": [{"status": [404]}],
    });
    for (name, value) in fields.as_object().unwrap() {
        entry[name] = value.clone();
    }
    let catalog = Catalog::from_text("test", &json!([entry]).to_string()).unwrap_or_else(|e| panic!("{e}"));
    catalog.modules()[0].clone()
}

fn respond(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Response {
    Response {
        status,
        final_url: "https://site.example/u/x".parse().unwrap(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        body: body.into(),
        truncated: false,
        timing: Timing { first_byte: Duration::from_millis(5), ..Timing::default() },
    }
}

fn username(name: &str) -> Query {
    Query::parse(SearchType::Username, name).unwrap()
}

/// 200 for `bob`, 404 for everyone else.
fn only_bob(request: &Request) -> Result<Response, ProbeError> {
    Ok(respond(if request.url.path().ends_with("/bob") { 200 } else { 404 }, &[], ""))
}

#[test]
fn a_hit_a_miss_and_the_control_that_guards_the_hit() {
    let bench = Bench::new(only_bob);
    let site = module(&json!({"profile": "https://site.example/@{query}"}));
    let report = bench.check(&site, &username("bob"));
    assert_eq!((report.outcome, report.reason.as_deref()), (Outcome::Hit, None));
    assert_eq!(report.evidence.http_status, Some(200));
    assert_eq!(report.evidence.final_host.as_deref(), Some("site.example"));
    assert_eq!(report.evidence.matcher.as_deref(), Some("hit[0]: status 200"));
    assert_eq!((report.evidence.requests, report.evidence.timing.first_byte), (2, Duration::from_millis(5)));
    let [finding] = report.findings.as_slice() else { panic!("{report:?}") };
    assert_eq!((finding.result_type.as_str(), finding.value.as_deref()), ("account", Some("bob")));
    assert_eq!(finding.platform.as_deref(), Some("Site"));
    assert_eq!(Value::Object(finding.metadata.clone()), json!({"profile_url": "https://site.example/@bob"}));
    assert!((finding.confidence - 0.58).abs() < 1e-9, "a bare status, control passed");
    {
        let asked = bench.prober.asked.lock();
        assert_eq!((asked[0].trace.control, asked[1].trace.control), (false, true));
        assert_eq!(
            (&*asked[0].trace.module, &*asked[0].trace.query, asked[0].trace.probe),
            ("site", "bob", 0)
        );
        let agent = asked[0].headers.iter().find(|(name, _)| name == "User-Agent").unwrap();
        assert_eq!(agent.1, "sightline-test");
    }
    let miss = bench.check(&site, &username("alice"));
    assert_eq!((miss.outcome, miss.findings.len(), miss.evidence.requests), (Outcome::Miss, 0, 1));
    let again = bench.check(&site, &username("bob"));
    assert_eq!((again.outcome, again.evidence.requests), (Outcome::Hit, 1), "the verdict is known");
}

#[test]
fn a_site_that_says_yes_to_everyone_is_unreliable_and_yields_nothing() {
    let bench = Bench::new(|_| Ok(respond(200, &[], "")));
    let report = bench.check(&module(&json!({})), &username("bob"));
    assert_eq!((report.outcome, report.reason.as_deref()), (Outcome::Unreliable, Some("control_hit")));
    assert!(report.findings.is_empty());
}

#[test]
fn an_unclear_control_lowers_the_confidence_and_no_control_leaves_it() {
    let confidence = |fields: Value, control_status: u16| {
        let bench = Bench::new(move |request| {
            Ok(respond(if request.trace.control { control_status } else { 200 }, &[], ""))
        });
        let report = bench.check(&module(&fields), &username("bob"));
        assert_eq!(report.outcome, Outcome::Hit);
        report.findings[0].confidence
    };
    let (passed, shaky, none) =
        (confidence(json!({}), 404), confidence(json!({}), 500), confidence(json!({"control": false}), 200));
    assert!(shaky < none && none < passed, "{shaky} {none} {passed}");
}

#[test]
fn the_control_name_fits_what_the_module_accepts() {
    for accepts in ["[a-z]{3,8}", "[0-9]{6,10}", "[A-Z][a-z]+-[0-9]{4}", "u_[a-f0-9]{12}"] {
        let known = sightline::modules::sample::sample(&format!("^(?:{accepts})$"), 1).unwrap();
        let bench = Bench::new(|request| Ok(respond(if request.trace.control { 404 } else { 200 }, &[], "")));
        let report = bench.check(&module(&json!({"accepts": accepts})), &username(&known));
        assert_eq!(report.outcome, Outcome::Hit);
        let asked = bench.prober.asked.lock();
        assert!(asked[1].trace.control, "{accepts}");
        let made = &*asked[1].trace.query;
        assert!(regex_full(accepts, made) && made != known, "{accepts}: {made}");
    }
    let email = module(&json!({"type": "email", "probes": [{"url": "https://site.example/?q={query}"}]}));
    let bench = Bench::new(|request| Ok(respond(if request.trace.control { 404 } else { 200 }, &[], "")));
    let query = Query::parse(SearchType::Email, "bob@example.org").unwrap();
    assert_eq!(bench.check(&email, &query).outcome, Outcome::Hit);
    assert!(bench.prober.asked.lock()[1].trace.query.ends_with("@example.org"));
}

fn regex_full(pattern: &str, text: &str) -> bool {
    regex::Regex::new(&format!("^(?:{pattern})$")).unwrap().is_match(text)
}

#[test]
fn checks_of_one_module_share_one_control() {
    let controls = Arc::new(AtomicUsize::new(0));
    let counted = controls.clone();
    // The control is answered once every check has its hit.
    let hits = (Mutex::new(0), parking_lot::Condvar::new());
    let bench = Bench::new(move |request| {
        let mut count = hits.0.lock();
        if request.trace.control {
            counted.fetch_add(1, Ordering::SeqCst);
            hits.1.wait_while(&mut count, |count| *count < 8);
            return Ok(respond(404, &[], ""));
        }
        *count += 1;
        hits.1.notify_all();
        Ok(respond(200, &[], ""))
    });
    let site = module(&json!({}));
    std::thread::scope(|scope| {
        for index in 0..8 {
            let (bench, site) = (&bench, &site);
            scope.spawn(move || {
                assert_eq!(bench.check(site, &username(&format!("bob{index}"))).outcome, Outcome::Hit);
            });
        }
    });
    assert_eq!(controls.load(Ordering::SeqCst), 1);
}

#[test]
fn where_the_domain_is_the_host_each_domain_has_its_own_control() {
    let page = module(&json!({
        "type": "domain", "probes": [{"url": "https://{domain}/x"}], "control": true,
        "results": [{"type": "url", "each": "lines:"}],
    }));
    let bench = Bench::new(|request| {
        let is_real = matches!(request.url.host_str(), Some("example.org" | "example.net"));
        Ok(respond(if is_real { 200 } else { 404 }, &[], "a"))
    });
    for (domain, requests) in [("example.org", 2), ("example.net", 2), ("example.org", 1)] {
        let query = Query::parse(SearchType::Domain, domain).unwrap();
        let report = bench.check(&page, &query);
        assert_eq!((report.outcome, report.evidence.requests), (Outcome::Hit, requests), "{domain}");
    }
}

#[test]
fn a_barrier_wins_over_hit_and_miss() {
    let site = module(&json!({
        "hit": [{"status": ["2xx", "4xx", "5xx"]}], "barrier": [{"words": ["members only"]}],
    }));
    for (status, headers, body, outcome, reason, wait) in [
        (429, vec![("retry-after", "30")], "", Outcome::RateLimited, "rate_limit", Some(30)),
        (503, vec![("retry-after", "9")], "", Outcome::RateLimited, "rate_limit", Some(9)),
        (403, vec![], "<div class=g-recaptcha>", Outcome::Blocked, "captcha", None),
        (200, vec![("cf-mitigated", "challenge")], "", Outcome::Blocked, "challenge", None),
        (200, vec![], "for members only", Outcome::Blocked, "barrier", None),
    ] {
        let headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let bench = Bench::new(move |_| {
            let headers: Vec<(&str, &str)> =
                headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            Ok(respond(status, &headers, body))
        });
        let report = bench.check(&site, &username("bob"));
        assert_eq!((report.outcome, report.reason.as_deref()), (outcome, Some(reason)), "{status} {body}");
        assert_eq!(report.retry_after_secs, wait);
        assert!(report.evidence.matcher.unwrap().starts_with("barrier"));
    }
}

#[test]
fn an_answer_that_no_rule_knows_or_both_know_is_an_error() {
    let site = module(&json!({"hit": [{"words": ["yes"]}], "miss": [{"words": ["no"]}], "weak_miss": true}));
    for (status, body, outcome, reason) in [
        (200, "yes no", Outcome::Error, Some("conflict")),
        (200, "maybe", Outcome::Error, Some("unrecognized")),
        (502, "maybe", Outcome::Error, Some("server_error")),
        (403, "maybe", Outcome::Blocked, Some("forbidden")),
        (200, "no", Outcome::Miss, Some("weak")),
    ] {
        let bench = Bench::new(move |_| Ok(respond(status, &[], body)));
        let report = bench.check(&site, &username("bob"));
        assert_eq!((report.outcome, report.reason.as_deref()), (outcome, reason), "{status} {body}");
    }
}

#[test]
fn a_fallback_is_asked_only_without_a_conclusion() {
    let site = module(&json!({
        "probes": [{"url": "https://site.example/{query}"}, {"url": "https://other.example/{query}", "fallback": true}],
    }));
    for (first, want, outcome) in [
        (Ok(200), 1, Outcome::Hit),
        (Ok(404), 1, Outcome::Miss),
        (Ok(500), 2, Outcome::Hit),
        (Ok(429), 2, Outcome::Hit),
        (Err(ProbeError::Dns("no such name".into())), 2, Outcome::Hit),
    ] {
        let bench = Bench::new(move |request| {
            if request.trace.control {
                return Ok(respond(404, &[], ""));
            }
            match request.url.host_str() {
                Some("site.example") => first.clone().map(|status| respond(status, &[], "")),
                _ => Ok(respond(200, &[], "")),
            }
        });
        let report = bench.check(&site, &username("bob"));
        let asked = bench.prober.asked.lock().iter().filter(|request| !request.trace.control).count();
        assert_eq!((asked, report.outcome), (want, outcome));
    }
}

/// First a page with a token, then the question with token and cookie.
fn two_steps() -> Arc<Module> {
    module(&json!({
        "control": false,
        "probes": [
            {"url": "https://site.example/join", "save": {
                "token": "css:input[name=csrf]@value", "host": "regex:api=(\\w+)",
            }},
            {"url": "https://site.example/{saved.host}/check", "method": "POST",
             "headers": {"X-Token": "{saved.token}"}, "json": {"name": "{query}", "n": [1, "{saved.token}"]}},
        ],
        "hit": [{"json": [{"at": "/taken", "equals": true}]}],
        "miss": [{"json": [{"at": "/taken", "equals": false}]}, {"probe": 0, "status": [410]}],
        "result": {"type": "account", "metadata": {"seen": "template:{saved.host}/{query}"}},
    }))
}

#[test]
fn values_and_cookies_are_carried_from_probe_to_probe() {
    let bench = Bench::new(|request| match request.trace.probe {
        0 => Ok(respond(200, &[("set-cookie", "sid=42; Path=/")], "<input name=csrf value='a\"b'> api=v7")),
        _ => Ok(respond(200, &[], r#"{"taken": true}"#)),
    });
    let report = bench.check(&two_steps(), &username("bob"));
    assert_eq!((report.outcome, report.evidence.requests), (Outcome::Hit, 2), "{report:?}");
    assert_eq!(report.findings[0].metadata["seen"], json!("v7/bob"));
    let asked = bench.prober.asked.lock();
    let second = &asked[1];
    assert_eq!(second.url.as_str(), "https://site.example/v7/check");
    assert!(second.headers.contains(&("X-Token".into(), "a\"b".into())));
    let (content_type, body) = second.body.as_ref().unwrap();
    assert_eq!(content_type, "application/json");
    assert_eq!(serde_json::from_slice::<Value>(body).unwrap(), json!({"name": "bob", "n": [1, "a\"b"]}));
    assert_eq!(*bench.prober.cookies.lock(), [None, Some("sid=42".to_owned())]);
    drop(asked);
    bench.check(&two_steps(), &username("eve"));
    assert_eq!(bench.prober.cookies.lock()[2], None, "a jar lives for one check");
}

#[test]
fn a_value_that_is_not_there_ends_the_check_without_a_half_filled_request() {
    for (status, body, outcome, reason) in [
        (200, "no token here", Outcome::Error, Some("not_saved")),
        (410, "gone", Outcome::Miss, None),
        (403, "<div class=h-captcha>", Outcome::Blocked, Some("captcha")),
        // A wall that holds what looks like the values.
        (403, "<div class=h-captcha><input name=csrf value=x> api=v7", Outcome::Blocked, Some("captcha")),
    ] {
        let bench = Bench::new(move |_| Ok(respond(status, &[], body)));
        let report = bench.check(&two_steps(), &username("bob"));
        assert_eq!((report.outcome, report.reason.as_deref()), (outcome, reason), "{body}");
        assert_eq!(bench.asked().len(), 1);
    }
}

#[test]
fn the_first_page_of_a_chain_that_broke_never_makes_a_hit() {
    let site = module(&json!({
        "probes": [
            {"url": "https://site.example/join", "save": {"token": "cookie:t"}},
            {"url": "https://site.example/check?t={saved.token}&q={query}"},
        ],
    }));
    let bench = Bench::new(|_| Ok(respond(200, &[], "")));
    let report = bench.check(&site, &username("bob"));
    assert_eq!((report.outcome, report.reason.as_deref()), (Outcome::Error, Some("not_saved")));
    let verdict = judge(&site, &username("bob"), &[Some(respond(200, &[], "")), None]);
    assert_eq!(verdict.outcome, Outcome::Error);
    let verdict = judge(&site, &username("bob"), &[Some(respond(200, &[], "")), Some(respond(200, &[], ""))]);
    assert_eq!(verdict.outcome, Outcome::Hit);
}

#[test]
fn only_connection_errors_are_tried_again_and_only_once() {
    for (error, requests, outcome, reason) in [
        (ProbeError::Connect("refused".into()), 2, Outcome::Error, "connect"),
        (ProbeError::Dns("unknown".into()), 1, Outcome::Error, "dns"),
        (ProbeError::Tls("bad certificate".into()), 1, Outcome::Error, "tls"),
        (ProbeError::Timeout(Phase::FirstByte), 1, Outcome::Timeout, "timeout_first_byte"),
        (ProbeError::ForbiddenAddress, 1, Outcome::Error, "forbidden_address"),
        (ProbeError::Body("cut off".into()), 1, Outcome::Error, "body"),
        (ProbeError::Unavailable("no browser".into()), 1, Outcome::Skipped, "unavailable"),
    ] {
        let bench = Bench::new(move |_| Err(error.clone()));
        let report = bench.check(&module(&json!({})), &username("bob"));
        assert_eq!((report.outcome, report.reason.as_deref()), (outcome, Some(reason)));
        assert_eq!(
            (bench.asked().len(), report.evidence.requests),
            (requests, u32::try_from(requests).unwrap())
        );
    }
    let tries = AtomicUsize::new(0);
    let bench = Bench::new(move |request| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => Err(ProbeError::Connect("reset".into())),
        _ => only_bob(request),
    });
    assert_eq!(bench.check(&module(&json!({})), &username("bob")).outcome, Outcome::Hit);
    let late = bench.checker.check(&module(&json!({})), &username("bob"), Instant::now());
    assert_eq!(
        (late.outcome, late.evidence.requests),
        (Outcome::Timeout, 0),
        "no time left: nothing is sent"
    );
}

#[test]
fn what_cannot_be_asked_is_skipped_and_says_why() {
    let any = |_: &Request| Ok(respond(200, &[], ""));
    let key =
        json!({"needs": ["config.k"], "probes": [{"url": "https://site.example/?k={config.k}&q={query}"}]});
    let email = json!({"type": "email", "domain_in": ["example.org"]});
    let mail = |text: &str| Query::parse(SearchType::Email, text).unwrap();
    for (fields, query, reason) in [
        (json!({"enabled": false}), username("bob"), Some("disabled")),
        (json!({"accepts": "[a-z]+"}), username("bob1"), Some("not_accepted")),
        (json!({"accepts": "a|[a-z]+"}), username("bob"), None),
        (json!({}), username("боб"), Some("script")),
        (json!({"scripts": "any"}), username("боб"), None),
        (json!({"strip": ".-"}), username("b.o-b"), None),
        (json!({"strip": ".-", "accepts": "[a-z]+"}), username("b.o-b"), None),
        (json!({}), mail("bob@example.org"), Some("wrong_type")),
        (email.clone(), mail("bob@example.org"), None),
        (email, mail("bob@example.net"), Some("other_domain")),
        (key.clone(), username("bob"), Some("needs_key")),
        (
            json!({"probes": [{"url": "https://{query}.site.example/"}]}),
            username("a.b"),
            Some("not_accepted"),
        ),
    ] {
        let bench = Bench::new(any);
        let report = bench.check(&module(&fields), &query);
        let skipped = report.reason.as_deref().filter(|_| report.outcome == Outcome::Skipped);
        assert_eq!(skipped, reason, "{fields}");
        assert_eq!(bench.asked().is_empty(), reason.is_some(), "{fields}");
    }
    let bench = Bench::with_keys(&[("k", "a&b")], any);
    let site = module(&key);
    assert_eq!(bench.check(&site, &username("bob")).outcome, Outcome::Unreliable);
    assert_eq!(bench.asked()[0], "https://site.example/?k=a%26b&q=bob");
    let stripped = Bench::new(any);
    stripped.check(&module(&json!({"strip": ".-"})), &username("b.o-b"));
    assert_eq!(stripped.asked()[0], "https://site.example/u/bob");
}

/// What the rule says to one answer.
fn fires(rule: &Value, response: Response) -> bool {
    let site = module(&json!({"hit": [rule], "miss": [{"status": [599]}]}));
    judge(&site, &username("Bob.1"), &[Some(response)]).outcome == Outcome::Hit
}

#[test]
fn every_condition_of_a_matcher() {
    let json = r#"{"login": "bob.1", "n": 3, "none": null, "list": [1, {"k": "v"}], "text": "hello Bob.1"}"#;
    let html = r#"<html><body><h1 class="name big">@BOB.1</h1><a rel="me" href="https://x.example/">x</a>ÄPFEL</body>"#;
    let headers = [("x-a", "one"), ("x-a", "two"), ("location", "/u/Bob.1")];
    for (rule, body, want) in [
        (json!({"status": [201, 200]}), "", true),
        (json!({"status": ["2xx"]}), "", true),
        (json!({"status": ["4xx", 201]}), "", false),
        (json!({"final_url": "/u/\\w$"}), "", true),
        (json!({"final_url": "{query}"}), "", false),
        (json!({"header": {"X-A": "^two$"}}), "", true),
        (json!({"header": {"X-A": ""}}), "", true),
        (json!({"header": {"X-A": "three"}}), "", false),
        (json!({"header": {"Location": "^/u/[A-Z]o{0,2}b"}}), "", true),
        (json!({"no_header": ["X-B"]}), "", true),
        (json!({"no_header": ["X-A"]}), "", false),
        (json!({"words": ["<h1", "</h1>"]}), html, true),
        (json!({"words": ["<h1", "<h2"]}), html, false),
        (json!({"words": ["äpfel", "{query}"], "ignore_case": true}), html, true),
        (json!({"words": ["äpfel"]}), html, false),
        (json!({"any_word": ["<h2", "<h1"]}), html, true),
        (json!({"no_word": ["<h2"]}), html, true),
        (json!({"no_word": ["<h2", "<h1"]}), html, false),
        (json!({"body_is": "YES", "ignore_case": true}), " yes\n", true),
        (json!({"body_is": ""}), " \n", true),
        (json!({"body_is": ""}), "x", false),
        (json!({"regex": "^hello\\s{2}{query}$"}), "x\nhello  Bob.1\ny", true),
        (json!({"regex": "^hello {query}$"}), "hello Bobx1", false),
        (json!({"json": [{"at": "/login", "equals_query": true}]}), json, true),
        (json!({"json": [{"at": "/text", "equals_query": false}]}), json, true),
        (json!({"json": [{"at": "/none", "exists": false}]}), json, true),
        (json!({"json": [{"at": "/none", "null": true}]}), json, true),
        (json!({"json": [{"at": "/gone", "null": true}]}), json, false),
        (json!({"json": [{"at": "/gone", "exists": false}]}), "no json", false),
        (json!({"json": [{"at": "/n", "equals": 3.0}]}), json, true),
        (json!({"json": [{"at": "/n", "any_of": [1, 3]}]}), json, true),
        (json!({"json": [{"at": "/n", "not_equals": 4}]}), json, true),
        (json!({"json": [{"at": "/n", "above": 2.5, "below": 3.5}]}), json, true),
        (json!({"json": [{"at": "/n", "above": 3}]}), json, false),
        (json!({"json": [{"at": "/list", "type": "array", "min_length": 2, "max_length": 2}]}), json, true),
        (json!({"json": [{"at": "/list/*/k", "equals": "v"}]}), json, true),
        (json!({"json": [{"at": "/list/*", "not_equals": 1}]}), json, false),
        (json!({"json": [{"at": "/text", "contains": "{query}"}]}), json, true),
        (json!({"json": [{"at": "/text", "not_contains": "{query}"}]}), json, false),
        (json!({"json": [{"at": "/text", "matches": "^hel{2}o {query}$"}]}), json, true),
        (json!({"json": [{"at": "/text", "equals_template": "HELLO {query}"}]}), json, true),
        (json!({"json": [{"at": "", "type": "object"}]}), json, true),
        (json!({"css": ["body > h1.name"]}), html, true),
        (json!({"css": ["h2"]}), html, false),
        (json!({"css": [{"select": "h2", "exists": false}]}), html, true),
        (json!({"css": [{"select": "h1", "equals_query": true}]}), html, true),
        (
            json!({"css": [{"select": "a[rel=me]", "attribute": "HREF", "matches": "^https://x\\."}]}),
            html,
            true,
        ),
        (json!({"css": [{"select": "a", "matches": "^y$"}]}), html, false),
        (json!({"sha256": ["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"]}), "", true),
        (json!({"status": [200], "words": ["nope"]}), html, false),
    ] {
        assert_eq!(fires(&rule, respond(200, &headers, body)), want, "{rule}");
    }
}

#[test]
fn extractors_read_everything_that_the_language_names() {
    let body = json!({
        "name": " Bob\u{0}\u{202e} B. ", "bio": "<p>a &amp; b</p>", "made": 1_700_000_000, "tags": ["a", null, "", "b"],
        "events": [{"k": "reg", "at": "2020-01-02 03:04:05"}, {"k": "exp", "at": "x"}],
        "mx": ["10 MX.example.", "20 b.example."], "deep": {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}},
        "long": "x".repeat(5000), "empty": "", "nothing": null, "spf": "v=spf1 include:a.example include:b.example -all",
    });
    let site = module(&json!({
        "control": false,
        "result": {"type": "profile", "value": "json:/name", "metadata": {
            "bio": {"from": ["json:/bio"], "transform": ["html_text"]},
            "made": {"from": ["json:/none", "json:/made"], "transform": ["unix_time"]},
            "tags": "json:/tags/*", "first_tag": "json:/tags/0",
            "registered": {"from": ["json:/events/*/at"], "where": [{"at": "/k", "equals": "reg"}], "transform": ["date_time"]},
            "expires": {"from": ["json:/at"], "each": "/events/*", "where": [{"at": "/k", "equals": "exp"}]},
            "mx": {"from": ["json:/mx/*"], "transform": ["last_word", "strip_dot", "lower"], "limit": 1},
            "kinds": {"from": ["json:/mx/*"], "labels": [["^10 ", "first"]]},
            "includes": {"from": ["json:/spf"], "regex": "include:(\\S+)", "all": true, "format": "{value}?{query}"},
            "count": "count:/tags/*", "served": "header:Server", "sid": "cookie:sid", "url": "final_url:",
            "link": "template:https://x.example/{query|lower}", "kind": "const:test",
            "deep": "json:/deep", "long": "json:/long", "empty": "json:/empty", "nothing": "json:/nothing",
        }},
        "results": [
            {"type": "domain", "each": "json:/mx/*", "value": {"from": ["value:"], "transform": ["last_word", "strip_dot"]},
             "keep": "^[a-z.]+$", "metadata": {"index": "key:", "kind": "const:mx"}},
            {"type": "technology", "each": "json:/events/*", "where": [{"at": "/k", "any_of": ["reg", "exp"]}], "value": "json:/k", "limit": 1},
            {"type": "url", "each": "regex:(include):(\\S+)", "value": "group:2", "metadata": {"how": "group:1"}},
        ],
    }));
    let headers = [("server", "nginx"), ("set-cookie", "sid=7; Secure")];
    let answer = respond(200, &headers, body.to_string());
    let bench = Bench::new(move |_| Ok(answer.clone()));
    let report = bench.check(&site, &username("Bob"));
    assert_eq!(report.outcome, Outcome::Hit);
    let main = &report.findings[0];
    assert_eq!(main.value.as_deref(), Some("Bob B."));
    let mut metadata = Value::Object(main.metadata.clone());
    assert_eq!(metadata["long"].as_str().unwrap().len(), 2000);
    metadata["long"] = Value::Null;
    assert_eq!(
        metadata,
        json!({
            "bio": "a & b", "made": "2023-11-14T22:13:20Z", "tags": ["a", "b"], "first_tag": "a",
            "registered": "2020-01-02T03:04:05Z", "expires": "x", "mx": ["mx.example"],
            "kinds": ["first", "20 b.example."], "includes": ["a.example?Bob", "b.example?Bob"], "count": 3,
            "served": "nginx", "sid": "7", "url": "https://site.example/u/x", "link": "https://x.example/bob",
            "kind": "test", "long": null,
        })
    );
    let rest: Vec<(&str, &str, Value)> = report.findings[1..]
        .iter()
        .map(|it| (it.result_type.as_str(), it.value.as_deref().unwrap(), Value::Object(it.metadata.clone())))
        .collect();
    assert_eq!(
        rest,
        [
            ("domain", "b.example", json!({"index": 1, "kind": "mx"})),
            ("technology", "reg", json!({})),
            ("url", "a.example", json!({"how": "include"})),
            ("url", "b.example", json!({"how": "include"})),
        ]
    );
}

#[test]
fn pages_are_read_by_title_meta_json_ld_and_elements() {
    let html = r#"<html><head><title> Bob &mdash; Site </title><meta property="og:title" content="Bob"><meta name=description content="">
        <script type="application/ld+json">{"@graph": [{"@type": "Person", "name": "Bob B."}]}</script></head>
        <ul id=l><li><a href="/a" title="A">one</a><li><a href="/b">two</a></ul><h1>B<b>o</b>b</h1>"#;
    let site = module(&json!({
        "control": false,
        "result": {"type": "profile", "metadata": {
            "title": "title:", "og": "meta:og:title", "nothing": "meta:description", "person": "jsonld:/name",
            "heading": "css:h1", "first": "css:li a", "links": {"from": ["css:li a@href"], "all": true}, "re": "regex:<h1>(.)",
        }},
        "results": [
            {"type": "url", "each": "css:#l a@href", "metadata": {"title": "attr:href"}},
            {"type": "username", "each": "css:#l a", "metadata": {"href": "attr:href"}},
        ],
    }));
    let bench = Bench::new(move |_| Ok(respond(200, &[("content-type", "text/html")], html)));
    let report = bench.check(&site, &username("bob"));
    assert_eq!(
        Value::Object(report.findings[0].metadata.clone()),
        json!({"title": "Bob — Site", "og": "Bob", "person": "Bob B.", "heading": "Bob", "first": "one",
            "links": ["/a", "/b"], "re": "B"})
    );
    let rest: Vec<(&str, &Value)> = report.findings[1..]
        .iter()
        .map(|it| (it.value.as_deref().unwrap(), it.metadata.values().next().unwrap()))
        .collect();
    assert_eq!(
        rest,
        [("/a", &json!("/a")), ("/b", &json!("/b")), ("one", &json!("/a")), ("two", &json!("/b"))]
    );
}

#[test]
fn confidence_follows_the_evidence() {
    let mut last = 0.0;
    for hit in [
        json!({"status": [200]}),
        json!({"words": ["profile"]}),
        json!({"json": [{"at": "/id", "exists": true}]}),
        json!({"words": ["profile"], "no_word": ["nobody"]}),
        json!({"words": ["{query}"]}),
        json!({"json": [{"at": "/login", "equals_query": true}]}),
    ] {
        let bench = Bench::new(|request| {
            let body = r#"{"id": 1, "login": "bob", "x": "profile bob"}"#;
            Ok(if request.trace.control { respond(404, &[], "") } else { respond(200, &[], body) })
        });
        let report = bench.check(&module(&json!({"hit": [hit]})), &username("bob"));
        let confidence = report.findings[0].confidence;
        assert!(confidence > last && confidence < 1.0, "{hit}: {confidence}");
        last = confidence;
    }
}

#[test]
fn only_as_much_of_a_body_is_asked_for_as_the_rules_need() {
    for (fields, want) in [
        (json!({}), 64 * 1024),
        (json!({"hit": [{"words": ["x"]}]}), MAX_BODY_BYTES),
        (json!({"miss": [{"json": [{"at": "", "exists": true}]}]}), MAX_BODY_BYTES),
        (
            json!({"result": {"type": "profile", "metadata": {"t": "title:", "d": "meta:description"}}}),
            256 * 1024,
        ),
        (json!({"result": {"type": "profile", "metadata": {"t": "title:", "d": "css:h1"}}}), MAX_BODY_BYTES),
        (json!({"results": [{"type": "url", "each": "lines:"}]}), MAX_BODY_BYTES),
        (json!({"results": [{"type": "url", "each": "header:link"}]}), 64 * 1024),
        (json!({"probes": [{"url": "https://site.example/{query}", "method": "HEAD"}]}), 0),
    ] {
        let bench = Bench::new(|_| Ok(respond(404, &[], "")));
        bench.check(&module(&fields), &username("bob"));
        assert_eq!(bench.prober.asked.lock()[0].body_limit, want, "{fields}");
    }
}

#[test]
fn hostile_pages_cost_little_and_end_as_an_outcome() {
    let site = module(&json!({
        "control": false,
        "hit": [{"status": [200]}],
        "miss": [
            {"css": ["div div > span a.x", "h1"], "regex": "(a|b)*never$"}, {"regex": "(a|b)*never$"},
            {"json": [{"at": "/*/*/*", "equals_query": true}]}, {"any_word": ["x{query}x"], "ignore_case": true},
        ],
        "result": {"type": "profile", "metadata": {"all": {"from": ["css:div"], "all": true, "limit": 1000}, "ld": "jsonld:/*/*"}},
        "results": [{"type": "url", "each": "regex:."}, {"type": "url", "each": "json_lines:"}],
    }));
    let mb = |piece: &str| piece.repeat(MAX_BODY_BYTES / piece.len()).into_bytes();
    let json_of = |open: &str, close: &str| format!("{open}{close}").into_bytes();
    let bodies: BTreeMap<&str, Vec<u8>> = BTreeMap::from([
        ("nested divs", mb("<div>")),
        ("closed divs", [mb("<div>"), mb("</div>")].concat()),
        ("less-than", mb("<")),
        ("open tags", mb("<a b=c ")),
        ("invalid utf-8", vec![0xff; MAX_BODY_BYTES]),
        ("nuls", vec![0; MAX_BODY_BYTES]),
        ("deep json", json_of(&"[".repeat(500_000), &"]".repeat(500_000))),
        ("deep objects", json_of(&"{\"a\":".repeat(170_000), "")),
        ("wide json", format!("[{}0]", "{},".repeat(300_000)).into_bytes()),
        ("a hit full of matches", [b"<h1>bob</h1>aabbc<div>".as_slice(), &mb("<div>\0<a>ab\n")].concat()),
        ("json-ld", mb("<script type=application/ld+json>[[1]]</script>")),
        ("regex bait", [b"bob".as_slice(), &mb("ab")].concat()),
    ]);
    for (name, body) in bodies {
        let started = Instant::now();
        let bench = Bench::new(move |_| Ok(respond(200, &[], body.clone())));
        let report = bench.check(&site, &username("bob"));
        assert!(report.findings.len() <= 201, "{name}");
        let text = serde_json::to_string(&report.findings.iter().map(|it| &it.metadata).collect::<Vec<_>>())
            .unwrap();
        assert!(!text.contains("\\u0000") && text.len() < 4_000_000, "{name}: {}", text.len());
        // Quadratic work on a megabyte takes hours.
        assert!(started.elapsed() < Duration::from_secs(30), "{name}: {:?}", started.elapsed());
    }
}

#[test]
fn hosts_for_the_limit_by_host() {
    let hosts = |url: &str| module(&json!({"probes": [{"url": url}]})).hosts(&username("bob"));
    assert_eq!(hosts("https://API.site.example:8443/{query}"), ["api.site.example"]);
    assert_eq!(hosts("https://{query}.site.example/"), ["site.example"]);
    let both = module(&json!({"probes": [
        {"url": "https://a.example/{query}"}, {"url": "https://b.example/{query}", "fallback": true},
        {"url": "https://a.example/2/{query}", "fallback": true},
    ]}));
    assert_eq!(both.hosts(&username("bob")), ["a.example", "b.example"]);
}
