//! Barriers, fallbacks, saved values, retries and preconditions.

use super::*;

#[test]
fn a_barrier_takes_precedence_over_hit_and_miss() {
    let site = module(&json!({
        "hit": [{"status": ["2xx", "4xx", "5xx"]}], "miss": [], "barrier": [{"words": ["members only"]}],
    }));
    for (status, headers, body, outcome, reason, wait) in [
        (429, vec![("retry-after", "30")], "", Outcome::RateLimited, "rate_limit", Some(30)),
        (503, vec![("retry-after", "9")], "", Outcome::RateLimited, "rate_limit", Some(9)),
        (999, vec![("retry-after", "600")], "", Outcome::Blocked, "login_wall", Some(600)),
        (403, vec![], "<div class=g-recaptcha>", Outcome::Blocked, "captcha", None),
        (200, vec![("cf-mitigated", "challenge")], "", Outcome::Blocked, "cloudflare_challenge", None),
        (
            200,
            vec![("cf-mitigated", "challenge"), ("retry-after", "600")],
            "",
            Outcome::Blocked,
            "cloudflare_challenge",
            Some(600),
        ),
        (429, vec![("retry-after", "0")], "", Outcome::RateLimited, "rate_limit", None),
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
        assert_eq!(
            (report.outcome, report.reason.map(Reason::as_str)),
            (outcome, Some(reason)),
            "{status} {body}"
        );
        let wait: Vec<Pause> = wait.into_iter().map(|secs| pause("site.example", secs)).collect();
        assert_eq!(report.pauses, wait);
        assert!(report.evidence.matcher.unwrap().starts_with("barrier"));
    }
}

#[test]
fn a_refusal_or_server_error_causes_a_pause_without_a_barrier() {
    let site = module(&json!({"hit": [{"status": [200]}], "miss": [{"status": [404, 410]}]}));
    for (status, wait, outcome, paused) in [
        (403, "600", Outcome::Blocked, Some(600)),
        (500, "600", Outcome::Error, Some(600)),
        (502, "600", Outcome::Error, Some(600)),
        (504, "999999999", Outcome::Error, Some(86_400)),
        (500, "0", Outcome::Error, None),
        (500, "soon", Outcome::Error, None),
        (404, "600", Outcome::Miss, None),
        (413, "600", Outcome::Error, None),
        (200, "600", Outcome::Hit, None),
    ] {
        let bench = Bench::new(move |request| {
            let status = if request.trace.control { 404 } else { status };
            Ok(respond(status, &[("retry-after", wait)], "page"))
        });
        let report = bench.check(&site, &username("bob"));
        let paused: Vec<Pause> = paused.into_iter().map(|secs| pause("site.example", secs)).collect();
        assert_eq!((report.outcome, report.pauses), (outcome, paused), "{status} {wait}");
    }
}

#[test]
fn a_paused_host_gets_no_further_probe_of_the_check() {
    for (wait, asked, outcome, reason) in
        [("60", 1, Outcome::RateLimited, "retry_after"), ("0", 2, Outcome::Error, "server_error")]
    {
        let site = module(&json!({
            "probes": [{"url": "https://site.example/a"}, {"url": "https://site.example/{query}"}],
        }));
        let bench = Bench::new(move |_| Ok(respond(500, &[("retry-after", wait)], "")));
        let report = bench.check(&site, &username("bob"));
        assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (outcome, Some(reason)), "{wait}");
        assert_eq!(bench.asked().len(), asked);
    }
}

#[test]
fn an_answer_that_matches_no_rule_or_both_is_an_error() {
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
        assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (outcome, reason), "{status} {body}");
    }
}

#[test]
fn a_fallback_is_used_only_without_a_conclusion() {
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
                Some("site.example") => first.clone().map(|status| respond(status, &[], "page")),
                _ => Ok(respond(200, &[], "page")),
            }
        });
        let report = bench.check(&site, &username("bob"));
        let asked = bench.prober.asked.lock().iter().filter(|request| !request.trace.control).count();
        assert_eq!((asked, report.outcome), (want, outcome));
    }
}

/// The API tells the truth, but answers no question about the name that is searched.
#[test]
fn a_conclusion_of_a_fallback_is_controlled_at_the_fallback() {
    let site = module(&json!({
        "probes": [{"url": "https://api.example/{query}"}, {"url": "https://page.example/{query}", "fallback": true}],
        "known": ["octocat"],
    }));
    for (status_of_page, reason) in [(200, "control_hit"), (404, "known_missed")] {
        let bench = Bench::new(move |request| {
            let is_searched = request.url.path() == "/bob";
            Ok(match request.url.host_str() {
                Some("page.example") => respond(status_of_page, &[], "page"),
                _ if is_searched => respond(429, &[], ""),
                _ if request.url.path() == "/octocat" => respond(200, &[], "page"),
                _ => respond(404, &[], ""),
            })
        });
        let report = bench.check(&site, &username("bob"));
        assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (Outcome::Unreliable, Some(reason)));
    }
}

/// The first probe gets a token, and the second sends it with the cookie.
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
fn values_and_cookies_are_passed_to_later_probes() {
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
fn a_missing_saved_value_ends_the_check() {
    for (status, body, outcome, reason) in [
        (200, "no token here", Outcome::Error, Some("not_saved")),
        (410, "gone", Outcome::Miss, None),
        (403, "<div class=h-captcha>", Outcome::Blocked, Some("captcha")),
        // A barrier page that contains text like the values.
        (403, "<div class=h-captcha><input name=csrf value=x> api=v7", Outcome::Blocked, Some("captcha")),
    ] {
        let bench = Bench::new(move |_| Ok(respond(status, &[], body)));
        let report = bench.check(&two_steps(), &username("bob"));
        assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (outcome, reason), "{body}");
        assert_eq!(bench.asked().len(), 1);
    }
}

#[test]
fn an_interrupted_chain_of_probes_is_never_a_hit() {
    let site = module(&json!({
        "probes": [
            {"url": "https://site.example/join", "save": {"token": "cookie:t"}},
            {"url": "https://site.example/check?t={saved.token}&q={query}"},
        ],
    }));
    let bench = Bench::new(|_| Ok(respond(200, &[], "page")));
    let report = bench.check(&site, &username("bob"));
    assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (Outcome::Error, Some("not_saved")));
    let verdict = judge(&site, &username("bob"), &[Some(respond(200, &[], "page")), None]);
    assert_eq!(verdict.outcome, Outcome::Error);
    let verdict =
        judge(&site, &username("bob"), &[Some(respond(200, &[], "page")), Some(respond(200, &[], "page"))]);
    assert_eq!(verdict.outcome, Outcome::Hit);
}

#[test]
fn only_connection_errors_are_retried_and_only_once() {
    for (error, requests, outcome, reason) in [
        (ProbeError::Connect("refused".into()), 2, Outcome::Error, "connect"),
        (ProbeError::Dns("unknown".into()), 1, Outcome::Error, "dns"),
        (ProbeError::Tls("bad certificate".into()), 1, Outcome::Error, "tls"),
        (ProbeError::Timeout(Phase::FirstByte), 1, Outcome::Timeout, "timeout_first_byte"),
        (ProbeError::Timeout(Phase::Body), 1, Outcome::Timeout, "timeout_body"),
        (ProbeError::ForbiddenAddress, 1, Outcome::Error, "dns"),
        (ProbeError::Protocol("no status line".into()), 1, Outcome::Error, "protocol"),
        (ProbeError::Redirect("too many".into()), 1, Outcome::Error, "redirect"),
        (ProbeError::Body("cut off".into()), 1, Outcome::Error, "body"),
        (ProbeError::Unavailable("no browser".into()), 1, Outcome::Skipped, "unavailable"),
    ] {
        let bench = Bench::new(move |_| Err(error.clone()));
        let report = bench.check(&module(&json!({})), &username("bob"));
        assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (outcome, Some(reason)));
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
fn an_impossible_check_is_skipped_with_a_reason() {
    let any = |_: &Request| Ok(respond(200, &[], "page"));
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
        let skipped = report.reason.map(Reason::as_str).filter(|_| report.outcome == Outcome::Skipped);
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

#[test]
fn an_error_page_is_never_a_miss() {
    let catalog = builtin();
    let kick = catalog.get("kick").unwrap();
    let outcome = |title: &str, text: &str| {
        let body = format!("<html><head><title>{title}</title></head><body><p>{text}</p></body></html>");
        let final_url = "https://kick.com/bob".parse().unwrap();
        let page = Response { final_url, ..respond(200, &[("content-type", "text/html")], body) };
        judge(kick, &username("bob"), &[Some(page)]).outcome
    };
    let wrong = "Oops, Something went wrong";
    assert_eq!(outcome("Kick", wrong), Outcome::Blocked);
    assert_eq!(outcome("Not Found", wrong), Outcome::Miss, "the title says what went wrong");
    assert_eq!(outcome("Not Found", "Nothing here"), Outcome::Miss);
}
