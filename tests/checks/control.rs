//! Control checks: their names, their time, and the confidence that follows.

use super::*;

#[test]
fn an_unclear_control_check_lowers_the_confidence() {
    let confidence = |fields: Value, control_status: u16| {
        let bench = Bench::new(move |request| {
            Ok(respond(if request.trace.control { control_status } else { 200 }, &[], "page"))
        });
        let report = bench.check(&module(&fields), &username("bob"));
        assert_eq!(report.outcome, Outcome::Hit);
        report.evidence.confidence
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

fn is_controlled_at_its_domain(entry: &Value) {
    let query = Query::parse(SearchType::Email, "bob@example.org").unwrap();
    let made = sightline::modules::control::made_up(&module(entry), &query, 1).unwrap();
    assert_eq!(made.domain(), Some("example.org"), "{entry}");
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
        is_controlled_at_its_domain(&json!({"type": "email", "probes": probes}));
    }
    let probes = json!([{"url": "https://site.example/?q={domain}"}]);
    is_controlled_at_its_domain(&json!({"type": "email", "probes": probes, "hit": [{"shows_query": true}]}));
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
            assert!(hurried.evidence.confidence < 0.5, "{hurried:?}");
        }
        assert_eq!(bare.check(&site, &username("alice")).outcome, Outcome::Unreliable);
    });
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
        let confidence = report.evidence.confidence;
        assert!(confidence > last && confidence < 1.0, "{hit}: {confidence}");
        last = confidence;
    }
}

#[test]
fn only_the_own_probes_of_a_check_end_early_and_count_for_its_latency() {
    let asked_at = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked_at);
    let bench = Bench::new(move |request| {
        noted.lock().push(Instant::now());
        if request.trace.control {
            // This simulates a slow answer. Nothing waits for it.
            std::thread::sleep(Duration::from_millis(20));
        }
        only_bob(request)
    });
    let (site, bob, began) = (module(&json!({})), username("bob"), Instant::now());
    let report = bench.check(&site, &bob);
    assert_eq!(report.outcome, Outcome::Hit);
    assert!(began + report.evidence.answered_in <= asked_at.lock()[1], "the control check counts");
    let answer_by = Instant::now();
    let early = Terms { answer_by, ..Terms::from(answer_by + Duration::from_secs(60)) };
    for (terms, reason) in [(early, "learnt_deadline"), (Terms::from(answer_by), "timeout_connect")] {
        let report = bench.checker.check(&site, &bob, terms);
        assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (Outcome::Timeout, Some(reason)));
    }
}

#[test]
fn an_early_control_check_spares_that_of_a_hit_unless_it_failed() {
    let all = |_: &Request| Ok(respond(200, &[], "page"));
    let (site, bob) = (module(&json!({})), username("bob"));
    for (bench, fails) in [(Bench::new(only_bob), false), (Bench::new(all), true)] {
        let (checker, terms) = (&bench.checker, Terms::from(Instant::now() + Duration::from_secs(60)));
        let (evidence, pauses) = checker.control_early(&site, &bob, terms);
        assert_eq!((evidence.requests, pauses.len()), (1, 0));
        let requests = |since| checker.control_early(&site, &bob, Terms { since, ..terms }).0.requests;
        assert_eq!(requests(terms.since), u32::from(fails));
        assert_eq!(requests(Instant::now()), 1, "a later check needs its own");
        let report = checker.check(&site, &bob, terms);
        let want = if fails { (Outcome::Unreliable, 2) } else { (Outcome::Hit, 1) };
        assert_eq!((report.outcome, report.evidence.requests), want);
        assert_eq!(requests(Instant::now()), u32::from(!fails), "a failure is known for a minute");
    }
}
