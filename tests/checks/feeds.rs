//! Feeds, which are fetched once for all checks.

use super::*;

/// A module that looks up its query in a list.
fn listed(id: &str, more: &Value) -> Arc<Module> {
    let fields = json!({
        "id": id, "type": "domain",
        "probes": [{"url": "https://site.example/list.json", "feed": {"keep_s": 3600}}],
        "hit": [{"status": [200], "json": [{"at": "/*/name", "equals_query": true}]}],
        "miss": [{"status": [200], "json": [{"at": "/0/name", "exists": true}], "no_word": ["\"{query}\""]}],
        "control": true,
        "results": [{"type": "breach", "each": "json:/*", "where": [{"at": "/name", "equals_query": true}], "value": "json:/title"}],
    });
    module(&with(fields, more))
}

fn list() -> Response {
    let list = json!([{"name": "example.org", "title": "One"}, {"name": "example.net", "title": "Two"}]);
    respond(200, &[("content-type", "application/json")], list.to_string())
}

fn domain(name: &str) -> Query {
    Query::parse(SearchType::Domain, name).unwrap()
}

#[test]
fn a_feed_is_fetched_once_for_all_checks() {
    let bench = Bench::new(|_| Ok(list()));
    let (one, two) = (listed("one", &json!({})), listed("two", &json!({})));
    let first = bench.check(&one, &domain("example.org"));
    assert_eq!((first.outcome, first.evidence.requests), (Outcome::Hit, 1), "{first:?}");
    assert_eq!(first.findings[0].value.as_deref(), Some("One"));
    assert!(first.evidence.bytes_read > 0);
    for (site, name, want) in [
        (&one, "example.net", Outcome::Hit),
        (&two, "example.org", Outcome::Hit),
        (&two, "example.com", Outcome::Miss),
    ] {
        let report = bench.check(site, &domain(name));
        let Evidence { requests, bytes_read, http_status, .. } = report.evidence;
        assert_eq!((report.outcome, requests, bytes_read), (want, 0, 0), "{name}");
        assert_eq!(http_status, Some(200));
    }
    assert_eq!(bench.asked(), ["https://site.example/list.json"]);
    assert_eq!(bench.prober.asked.lock()[0].body_limit, MAX_FEED_BYTES);
}

#[test]
fn different_headers_make_a_different_feed() {
    let keyed = listed(
        "keyed",
        &json!({"probes": [{
            "url": "https://site.example/list.json?a=1", "feed": {"keep_s": 60}, "headers": {"X-Key": "{config.k?}"},
        }]}),
    );
    for (keys, url, header) in [
        (&[][..], "https://site.example/list.json?a=1", None),
        (&[("k", "v")][..], "https://site.example/list.json?a=1", Some("v")),
    ] {
        let bench = Bench::with_keys(keys, |_| Ok(list()));
        assert_eq!(bench.check(&keyed, &domain("example.org")).outcome, Outcome::Hit);
        let asked = bench.prober.asked.lock();
        let found =
            asked[0].headers.iter().find(|(name, _)| name == "X-Key").map(|(_, value)| value.as_str());
        assert_eq!((asked[0].url.as_str(), found, asked.len()), (url, header, 1));
    }
    let bench = Bench::new(|_| Ok(list()));
    let other = listed(
        "other",
        &json!({"probes": [{
            "url": "https://site.example/list.json", "feed": {"keep_s": 60}, "headers": {"X-A": "b"},
        }]}),
    );
    bench.check(&listed("one", &json!({})), &domain("example.org"));
    bench.check(&other, &domain("example.org"));
    assert_eq!(bench.asked().len(), 2);
}

#[test]
fn concurrent_checks_share_one_fetch() {
    // The list is sent when all checks wait for it, as far as this can be observed.
    let started = Arc::new((Mutex::new(0), parking_lot::Condvar::new()));
    let seen = started.clone();
    let bench = Bench::new(move |_| {
        let mut count = seen.0.lock();
        seen.1.wait_while(&mut count, |count| *count < 8);
        Ok(list())
    });
    let site = listed("one", &json!({}));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                *started.0.lock() += 1;
                started.1.notify_all();
                assert_eq!(bench.check(&site, &domain("example.org")).outcome, Outcome::Hit);
            });
        }
    });
    assert_eq!(bench.asked().len(), 1);
}

#[test]
fn a_check_waits_for_a_shared_fetch_until_its_own_deadline() {
    let gate = Arc::new((Mutex::new((false, false)), parking_lot::Condvar::new()));
    let held = gate.clone();
    let bench = Bench::new(move |_| {
        let mut state = held.0.lock();
        state.0 = true;
        held.1.notify_all();
        held.1.wait_while(&mut state, |(_, is_open)| !*is_open);
        Ok(list())
    });
    let site = listed("one", &json!({}));
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(bench.check(&site, &domain("example.org")).outcome, Outcome::Hit));
        gate.1.wait_while(&mut gate.0.lock(), |(is_asked, _)| !*is_asked);
        let late =
            bench.checker.check(&site, &domain("example.org"), Instant::now() + Duration::from_secs(1));
        assert_eq!(
            (late.outcome, late.reason.map(Reason::as_str)),
            (Outcome::Timeout, Some("timeout_first_byte"))
        );
        assert_eq!(late.evidence.requests, 0);
        gate.0.lock().1 = true;
        gate.1.notify_all();
    });
    assert_eq!(bench.asked().len(), 1);
}

#[test]
fn what_is_no_list_is_not_asked_again_by_each_check() {
    type Answer = fn() -> Result<Response, ProbeError>;
    let answers: [(Answer, usize); 8] = [
        (|| Ok(respond(200, &[("content-type", "text/html")], "<title>Down</title><p>Back soon")), 1),
        (|| Err(ProbeError::Dns("no such name".into())), 1),
        (|| Ok(respond(500, &[], "")), 1),
        (|| Ok(respond(200, &[], " ")), 1),
        (|| Ok(Response { truncated: true, ..list() }), 1),
        // These may be different for the next check.
        (|| Ok(respond(200, &[("vary", "*")], list().body)), 2),
        (|| Err(ProbeError::Timeout(Phase::FirstByte)), 2),
        (|| Err(ProbeError::Local(LocalFault::Resources, "no memory".into())), 2),
    ];
    for (answer, asked) in answers {
        let bench = Bench::new(move |_| answer());
        let site = listed("one", &json!({"control": false}));
        let reports = ["example.org", "example.net"].map(|name| bench.check(&site, &domain(name)));
        assert_eq!(bench.asked().len(), asked, "{reports:?}");
        assert_eq!((reports[0].outcome, reports[0].reason), (reports[1].outcome, reports[1].reason));
    }
}

#[test]
fn a_feed_neither_gets_nor_sets_cookies_of_a_check() {
    let bench = Bench::new(|request| {
        if request.url.path() == "/list.json" {
            let mut list = list();
            list.headers.push(("set-cookie".into(), "feed=1".into()));
            return Ok(list);
        }
        Ok(respond(200, &[("set-cookie", "own=1")], "page"))
    });
    let site = listed(
        "one",
        &json!({"control": false, "hit": [{"status": [200]}], "miss": [], "note": "n", "probes": [
            {"url": "https://site.example/{query}"},
            {"url": "https://site.example/list.json", "feed": {"keep_s": 3600}},
            {"url": "https://site.example/{query}/more"},
        ]}),
    );
    assert_eq!(bench.check(&site, &domain("example.org")).outcome, Outcome::Hit);
    assert_eq!(*bench.prober.cookies.lock(), [None, None, Some("own=1".to_owned())]);
}
