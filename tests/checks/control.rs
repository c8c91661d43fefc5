//! Hits, misses and the control checks of hits.

use sightline::modules::control_check::{ControlVerdict, Direction};
use sightline::modules::outcome::OpenCircuit;
use sightline::modules::terms::ModuleTrial;

use super::*;

#[test]
fn a_hit_is_confirmed_by_a_control_check() {
    let bench = Bench::new(only_bob);
    let site = module(&json!({"profile": "https://site.example/@{query}"}));
    let report = bench.check(&site, &username("bob"));
    assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (Outcome::Hit, None));
    assert_eq!(report.evidence.http_status, Some(200));
    assert_eq!(report.evidence.final_host.as_deref(), Some("site.example"));
    assert_eq!(report.evidence.matcher.as_deref(), Some("hit[0]: status 200"));
    assert_eq!(report.evidence.requests, 2);
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
    assert_eq!(
        (again.outcome, again.evidence.requests),
        (Outcome::Hit, 2),
        "each hit has its own control check"
    );
}

#[test]
fn a_site_that_hits_every_name_is_unreliable() {
    let bench = Bench::new(|_| Ok(respond(200, &[], "page")));
    let site = module(&json!({}));
    // The verdict about the site is kept for the second name.
    for (name, requests) in [("bob", 2), ("alice", 1)] {
        let report = bench.check(&site, &username(name));
        assert_eq!(
            (report.outcome, report.reason.map(Reason::as_str)),
            (Outcome::Unreliable, Some("control_hit"))
        );
        assert_eq!((report.findings.len(), report.evidence.requests), (0, requests), "{name}");
    }
}

#[test]
fn an_unclear_control_check_lowers_the_confidence() {
    let confidence = |fields: Value, control_status: u16| {
        let bench = Bench::new(move |request| {
            Ok(respond(if request.trace.control { control_status } else { 200 }, &[], "page"))
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
fn the_module_accepts_the_made_up_name() {
    for accepts in ["[a-z]{3,8}", "[0-9]{6,10}", "[A-Z][a-z]+-[0-9]{4}", "u_[a-f0-9]{12}"] {
        let known = sightline::modules::sample::sample(&format!("^(?:{accepts})$"), 1).unwrap();
        let bench =
            Bench::new(|request| Ok(respond(if request.trace.control { 404 } else { 200 }, &[], "page")));
        let report = bench.check(&module(&json!({"accepts": accepts})), &username(&known));
        assert_eq!(report.outcome, Outcome::Hit);
        let asked = bench.prober.asked.lock();
        assert!(asked[1].trace.control, "{accepts}");
        let made = &*asked[1].trace.query;
        assert!(regex_full(accepts, made) && made != known, "{accepts}: {made}");
    }
    let email = module(&json!({"type": "email", "probes": [{"url": "https://site.example/?q={query}"}]}));
    let bench = Bench::new(|request| Ok(respond(if request.trace.control { 404 } else { 200 }, &[], "page")));
    let query = Query::parse(SearchType::Email, "bob@example.org").unwrap();
    assert_eq!(bench.check(&email, &query).outcome, Outcome::Hit);
    assert!(bench.prober.asked.lock()[1].trace.query.ends_with("@example.org"));
    // For a module that queries only the domain, all addresses of the domain are equal.
    let host = module(&json!({"type": "email", "probes": [{"url": "https://site.example/?q={domain}"}]}));
    let bench = Bench::new(|request| {
        Ok(respond(if request.url.query() == Some("q=example.org") { 200 } else { 404 }, &[], "page"))
    });
    assert_eq!(bench.check(&host, &query).outcome, Outcome::Hit);
    let made = bench.prober.asked.lock()[1].trace.query.to_string();
    assert!(made.ends_with(".org") && !made.ends_with("@example.org"), "{made}");
}

fn regex_full(pattern: &str, text: &str) -> bool {
    regex::Regex::new(&format!("^(?:{pattern})$")).unwrap().is_match(text)
}

#[test]
fn checks_of_one_module_share_one_control_check() {
    let controls = Arc::new(AtomicUsize::new(0));
    let counted = controls.clone();
    // The control check is answered when every check has its hit.
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
        Ok(respond(200, &[], "page"))
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
    // A check that began after the control check needs another one.
    assert!((1..=2).contains(&controls.load(Ordering::SeqCst)));
}

#[test]
fn modules_that_query_the_domain_have_a_control_check_for_each_domain() {
    let page = module(&json!({
        "type": "domain", "probes": [{"url": "https://{domain}/x"}], "control": true,
        "results": [{"type": "url", "each": "lines:"}],
    }));
    let bench = Bench::new(|request| {
        let is_real = matches!(request.url.host_str(), Some("example.org" | "example.net"));
        Ok(respond(if is_real { 200 } else { 404 }, &[], "a"))
    });
    for domain in ["example.org", "example.net", "example.org"] {
        let query = Query::parse(SearchType::Domain, domain).unwrap();
        let report = bench.check(&page, &query);
        assert_eq!((report.outcome, report.evidence.requests), (Outcome::Hit, 2), "{domain}");
    }
}

/// An email module that queries one host for the address.
fn mail_site() -> Arc<Module> {
    module(&json!({
        "type": "email", "probes": [{"url": "https://site.example/?q={query}"}],
        "hit": [{"json": [{"at": "/exists", "equals": true}]}],
        "miss": [{"json": [{"at": "/exists", "equals": false}]}],
    }))
}

#[test]
fn a_catch_all_domain_does_not_affect_other_domains() {
    let site = mail_site();
    let said = |address: &str| {
        let is_there = address.ends_with("@catchall.example.org") || address == "bob@example.net";
        Ok(respond(200, &[], json!({ "exists": is_there }).to_string()))
    };
    let mail = |text: &str| Query::parse(SearchType::Email, text).unwrap();
    let asked = [
        ("someone@catchall.example.org", Outcome::Unreliable, 2),
        ("bob@example.net", Outcome::Hit, 2),
        ("other@catchall.example.org", Outcome::Unreliable, 1),
        ("bob@example.net", Outcome::Hit, 2),
    ];
    for order in [[0, 1, 2, 3], [1, 0, 2, 3]] {
        let bench = Bench::new(move |request| said(&request.trace.query));
        for (address, outcome, requests) in order.map(|index| asked[index]) {
            let report = bench.check(&site, &mail(address));
            assert_eq!((report.outcome, report.evidence.requests), (outcome, requests), "{address}");
        }
    }
}

#[test]
fn the_verdict_on_a_module_that_uses_only_the_domain_holds_for_all_domains() {
    let host = module(&json!({"type": "email", "probes": [{"url": "https://site.example/?q={domain}"}]}));
    let bench = Bench::new(|_| Ok(respond(200, &[], "page")));
    for (address, requests) in [("bob@example.org", 2), ("bob@example.net", 1)] {
        let query = Query::parse(SearchType::Email, address).unwrap();
        let report = bench.check(&host, &query);
        assert_eq!((report.outcome, report.evidence.requests), (Outcome::Unreliable, requests), "{address}");
    }
}

#[test]
fn a_module_that_saves_the_name_is_controlled_at_each_domain() {
    for save in [
        json!({"from": ["template:{local}"]}),
        json!({"from": ["title:"], "format": "{local}"}),
        json!({"from": ["json:/id"], "each": "/rows/*", "where": [{"at": "/name", "equals_template": "{local}"}]}),
        json!({"each": "/rows", "inner": {"from": ["json:/id"], "each": "/*", "where": [{"at": "/mail", "equals_query": false}]}}),
    ] {
        let probes = json!([
            {"url": "https://site.example/?q={domain}", "save": {"name": save}},
            {"url": "https://site.example/{saved.name}"},
        ]);
        let host = module(&json!({"type": "email", "probes": probes}));
        let query = Query::parse(SearchType::Email, "bob@example.org").unwrap();
        let made = sightline::modules::control::made_up(&host, &query, 1).unwrap();
        assert_eq!(made.domain(), Some("example.org"), "{save}");
    }
}

#[test]
fn a_control_check_has_its_own_time_and_a_timed_out_one_is_not_shared() {
    // The first answer takes the whole time of the check.
    let deadline = Instant::now() + Duration::from_secs(1);
    let slow_yes = move |_: &Request| {
        std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
        Ok(respond(200, &[], "page"))
    };
    let site = module(&json!({}));
    let (unhurried, bare) = (Bench::new(slow_yes), Bench::new(slow_yes));
    let terms = Terms { ceiling: deadline + Duration::from_secs(60), ..Terms::from(deadline) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let report = unhurried.checker.check(&site, &username("bob"), terms);
            // On a very slow machine nothing was requested, and there is nothing to test.
            if !unhurried.asked().is_empty() {
                assert_eq!((report.outcome, unhurried.asked().len()), (Outcome::Unreliable, 2), "{report:?}");
            }
        });
        let hurried = bare.checker.check(&site, &username("bob"), deadline);
        if !bare.asked().is_empty() {
            assert_eq!((hurried.outcome, bare.asked().len()), (Outcome::Hit, 1), "no time for a control");
            assert!(hurried.findings[0].confidence < 0.5, "{hurried:?}");
        }
        assert_eq!(bare.check(&site, &username("alice")).outcome, Outcome::Unreliable);
    });
}

/// Checks `bob` with a module in quarantine, which failed this direction.
fn check_in_trial(bench: &Bench, module: &Module, direction: Direction) -> Report {
    let at = |text: &str| text.parse().unwrap();
    let times =
        OpenCircuit { open_since: at("2026-05-06T14:05:06Z"), next_try_at: at("2026-05-06T14:15:06Z") };
    let deadline = Instant::now() + Duration::from_secs(60);
    let trial = Some(ModuleTrial { direction, times });
    let report = bench.checker.check(module, &username("bob"), Terms { trial, ..Terms::from(deadline) });
    let is_told = report.evidence.circuit == Some(times);
    assert_eq!(is_told, report.outcome == Outcome::Unreliable, "{report:?}");
    *report
}

fn ends(report: &Report) -> (Outcome, Option<&str>, Vec<ControlVerdict>) {
    let verdicts = report.evidence.controls.iter().map(|control| control.verdict).collect();
    (report.outcome, report.reason.map(Reason::as_str), verdicts)
}

#[test]
fn a_trial_asks_the_fallback_if_the_first_source_is_away() {
    let site = module(&json!({
        "probes": [{"url": "https://api.example/{query}"}, {"url": "https://page.example/{query}", "fallback": true}],
    }));
    let bench = Bench::new(|request| {
        let status = match (request.url.host_str(), request.url.path()) {
            (Some("api.example"), _) => 503,
            (_, "/bob") => 200,
            _ => 404,
        };
        Ok(respond(status, &[], "page"))
    });
    let report = check_in_trial(&bench, &site, Direction::MadeUp);
    let verdicts = vec![ControlVerdict::Unclear, ControlVerdict::Passed];
    assert_eq!(ends(&report), (Outcome::Hit, None, verdicts), "its hit is confirmed by the same check");
    assert_eq!(bench.asked().len(), 4, "{:?}", bench.asked());
}

#[test]
fn a_trial_asks_for_the_query_only_if_the_control_check_passes() {
    let known = json!({"known": ["alice"], "miss": [{"status": [404]}]});
    for (direction, fields, good, bad, reason) in [
        (Direction::MadeUp, json!({}), 404, 200, "control_hit"),
        (Direction::Known, known, 200, 404, "known_missed"),
    ] {
        let site = module(&fields);
        let bench_of = |status: u16| {
            Bench::new(move |request| {
                let is_query = request.url.path().ends_with("/bob");
                Ok(respond(if is_query { 200 } else { status }, &[], "page"))
            })
        };
        let bench = bench_of(bad);
        let report = check_in_trial(&bench, &site, direction);
        assert_eq!(ends(&report), (Outcome::Unreliable, Some(reason), vec![ControlVerdict::Failed]));
        assert!(!bench.asked().iter().any(|url| url.ends_with("/bob")), "{:?}", bench.asked());
        let answer = &report.evidence.controls[0].answer;
        assert_eq!((answer.http_status, answer.matcher.is_some()), (Some(bad), true));

        let bench = bench_of(500);
        let report = check_in_trial(&bench, &site, direction);
        assert_eq!(ends(&report), (Outcome::Unreliable, Some("quarantined"), vec![ControlVerdict::Unclear]));
        assert!(!bench.asked().iter().any(|url| url.ends_with("/bob")), "{:?}", bench.asked());
        assert!(report.was_refused());

        if direction == Direction::MadeUp {
            let bench = bench_of(good);
            let report = check_in_trial(&bench, &site, direction);
            assert_eq!(ends(&report), (Outcome::Hit, None, vec![ControlVerdict::Passed]));
            assert_eq!(bench.asked().len(), 2, "the verdict also confirms the hit");
            assert_eq!((report.evidence.requests, report.evidence.contacts.len()), (2, 2));
        }
    }
}

#[test]
fn a_trial_makes_its_control_check_again_and_a_changed_entry_may_need_none() {
    let bench = Bench::new(only_bob);
    let site = module(&json!({}));
    assert_eq!(bench.check(&site, &username("bob")).outcome, Outcome::Hit);
    assert_eq!(check_in_trial(&bench, &site, Direction::MadeUp).evidence.requests, 2, "no cached verdict");
    let report = check_in_trial(&bench, &module(&json!({"control": false})), Direction::MadeUp);
    assert_eq!(ends(&report), (Outcome::Hit, None, vec![ControlVerdict::Passed]));
    assert_eq!(report.evidence.requests, 1);
}

#[test]
fn a_control_check_at_the_queried_domain_says_nothing_about_the_module() {
    let bench = Bench::new(|_| Ok(respond(200, &[], "page")));
    let email = module(&json!({"type": "email", "probes": [{"url": "https://site.example/?q={query}"}]}));
    let report = bench.check(&email, &Query::parse(SearchType::Email, "bob@example.org").unwrap());
    assert_eq!(ends(&report), (Outcome::Unreliable, Some("control_hit"), vec![]));
    let report = bench.check(&module(&json!({})), &username("bob"));
    assert_eq!(ends(&report), (Outcome::Unreliable, Some("control_hit"), vec![ControlVerdict::Failed]));
}
