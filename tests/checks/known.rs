//! Bare misses and their control checks, which ask for a known account.

use super::*;

/// The site of [`module`] with the known account `bob`.
fn site() -> Arc<Module> {
    module(&json!({"known": ["bob"]}))
}

fn said(report: &Report) -> (Outcome, Option<&'static str>, u32) {
    (report.outcome, report.reason.map(Reason::as_str), report.evidence.requests)
}

fn is_bob(request: &Request) -> bool {
    &*request.trace.query == "bob"
}

#[test]
fn a_bare_miss_holds_while_the_known_account_is_a_hit() {
    let bench = Bench::new(only_bob);
    assert_eq!(said(&bench.check(&site(), &username("alice"))), (Outcome::Miss, None, 2));
    {
        let asked = bench.prober.asked.lock();
        let names: Vec<_> =
            asked.iter().map(|request| (&*request.trace.query, request.trace.control)).collect();
        assert_eq!(names, [("alice", false), ("bob", false)]);
    }
    assert_eq!(
        said(&bench.check(&site(), &username("carol"))),
        (Outcome::Miss, None, 1),
        "the verdict is known"
    );
    assert_eq!(said(&bench.check(&site(), &username("bob"))), (Outcome::Hit, None, 2), "the other direction");
}

#[test]
fn a_site_that_misses_every_name_is_unreliable() {
    let bench = Bench::new(|_| Ok(respond(404, &[], "page")));
    let missed = |requests| (Outcome::Unreliable, Some("known_missed"), requests);
    let report = bench.check(&site(), &username("alice"));
    assert_eq!(said(&report), missed(2));
    assert_eq!(report.evidence.matcher.as_deref(), Some("miss[0]: status 404"));
    assert_eq!(said(&bench.check(&site(), &username("carol"))), missed(1));
    assert_eq!(said(&bench.check(&site(), &username("bob"))), missed(1), "it needs no other proof");
}

#[test]
fn the_known_account_is_not_asked_for_twice() {
    let bench = Bench::new(|_| Ok(respond(404, &[], "page")));
    assert_eq!(said(&bench.check(&site(), &username("bob"))), (Outcome::Unreliable, Some("known_missed"), 1));
}

#[test]
fn a_miss_is_bare_unless_the_body_names_it() {
    let found = r#"{"users": ["x"], "error": "", "total": 1}"#;
    let missing = r#"{"users": [], "error": "no such user", "total": 0, "x": null}"#;
    let page = "<html><body><p class=none>No such user</p></body></html>";
    let empty = json!([{"status": [200], "body_is": ""}]);
    for (miss, body, is_bare) in [
        (json!([{"status": [404]}]), missing, true),
        (json!([{"status": [404], "header": {"x-kind": "."}}]), missing, true),
        (json!([{"status": [404], "final_url": "site"}]), missing, true),
        (json!([{"status": [404], "no_word": ["profile"]}]), missing, true),
        (json!([{"status": [404], "css": [{"select": ".profile", "exists": false}]}]), page, true),
        (json!([{"status": [404], "json": [{"at": "/name", "exists": false}]}]), missing, true),
        (
            json!([{"status": [404], "json": [{"at": "/users", "type": "array", "max_length": 0}]}]),
            missing,
            true,
        ),
        (json!([{"status": [404], "json": [{"at": "/users", "equals": []}]}]), missing, true),
        (json!([{"status": [404], "json": [{"at": "/total", "equals": 0}]}]), missing, true),
        (json!([{"status": [404], "json": [{"at": "/total", "below": 1.0}]}]), missing, true),
        (json!([{"status": [404], "json": [{"at": "/x", "null": true}]}]), missing, true),
        (json!([{"status": [404], "body_is": "[]"}]), "[]", true),
        (json!([{"status": [404], "body_is": "null"}]), "null", true),
        (empty, "", true),
        (json!([{"status": [404], "words": ["no such user"]}]), missing, false),
        (json!([{"status": [404], "any_word": ["no such user", "gone"]}]), missing, false),
        (json!([{"status": [404], "regex": "no such (user|name)"}]), missing, false),
        (json!([{"status": [404], "text": ["No such user"]}]), page, false),
        (json!([{"status": [404], "css": [".none"]}]), page, false),
        (json!([{"status": [404], "json": [{"at": "/error", "exists": true}]}]), missing, false),
        (json!([{"status": [404], "json": [{"at": "/error", "equals": "no such user"}]}]), missing, false),
        (json!([{"status": [404], "json": [{"at": "/error", "matches": "such"}]}]), missing, false),
        (json!([{"status": [404], "json": [{"at": "/users", "max_length": 3}]}]), missing, false),
        (json!([{"status": [404], "body_is": "gone"}]), "gone", false),
        (json!([{"status": [404]}, {"status": [404], "words": ["no such user"]}]), missing, false),
        (json!([{"status": [404], "words": ["other"]}, {"status": [404]}]), missing, true),
    ] {
        let status = if miss[0]["status"] == json!([200]) { 200 } else { 404 };
        let bench = Bench::new(move |request| {
            let headers = [("x-kind", "page")];
            Ok(if is_bob(request) { respond(200, &headers, found) } else { respond(status, &headers, body) })
        });
        let site =
            module(&json!({"known": ["bob"], "hit": [{"status": [200], "words": ["x"]}], "miss": miss}));
        let report = bench.check(&site, &username("alice"));
        let requests = if is_bare { 2 } else { 1 };
        assert_eq!(said(&report), (Outcome::Miss, None, requests), "{miss}");
    }
}

#[test]
fn modules_without_a_fitting_known_account_have_no_such_control_check() {
    for (fields, query) in [
        (json!({}), username("alice")),
        (
            json!({
                "known": ["bob"], "needs": ["config.key"],
                "probes": [{"url": "https://site.example/u/{query}", "headers": {"X-Key": "{config.key}"}}],
            }),
            username("alice"),
        ),
        (
            json!({
                "type": "domain", "known": ["example.net"], "results": [{"type": "url", "each": "lines:"}],
                "probes": [{"url": "https://{domain}/x"}],
            }),
            Query::parse(SearchType::Domain, "example.org").unwrap(),
        ),
    ] {
        let bench = Bench::with_keys(&[("key", "k")], |_| Ok(respond(404, &[], "page")));
        assert_eq!(said(&bench.check(&module(&fields), &query)), (Outcome::Miss, None, 1), "{fields}");
    }
}

#[test]
fn misses_of_domains_and_addresses_are_confirmed_too() {
    let domains = module(&json!({
        "type": "domain", "known": ["example.net"], "results": [{"type": "url", "each": "lines:"}],
        "probes": [{"url": "https://site.example/?q={domain}"}],
    }));
    let addresses = module(&json!({
        "type": "email", "control": false, "known": ["bob@example.net"],
        "probes": [{"url": "https://site.example/?q={query}"}],
    }));
    for (site, search_type, queries) in [
        (domains, SearchType::Domain, ["example.org", "example.com"]),
        (addresses, SearchType::Email, ["alice@example.org", "alice@example.com"]),
    ] {
        for (status, outcome) in [(200, Outcome::Miss), (404, Outcome::Unreliable)] {
            let bench = Bench::new(move |request| {
                let is_known = request.trace.query.ends_with("example.net");
                Ok(respond(if is_known { status } else { 404 }, &[], "a"))
            });
            for (query, requests) in queries.into_iter().zip([2, 1]) {
                let report = bench.check(&site, &Query::parse(search_type, query).unwrap());
                assert_eq!((report.outcome, report.evidence.requests), (outcome, requests), "{query}");
            }
        }
    }
}

#[test]
fn an_unclear_control_check_neither_proves_nor_disproves_a_miss() {
    type Answering = fn() -> Result<Response, ProbeError>;
    let cases: [(Answering, u32); 5] = [
        (|| Ok(respond(403, &[], "no")), 2),
        (|| Ok(respond(429, &[("retry-after", "60")], "slow down")), 2),
        (|| Ok(respond(500, &[], "sorry")), 2),
        (|| Err(ProbeError::Timeout(Phase::FirstByte)), 2),
        // A connection error is tried again.
        (|| Err(ProbeError::Connect("reset".to_owned())), 3),
    ];
    for (answer, requests) in cases {
        let bench =
            Bench::new(move |request| if is_bob(request) { answer() } else { Ok(respond(404, &[], "")) });
        let report = bench.check(&site(), &username("alice"));
        assert_eq!(said(&report), (Outcome::Miss, Some("known_unclear"), requests));
        let is_limited = answer().is_ok_and(|response| response.status == 429);
        assert_eq!(report.pauses, if is_limited { vec![pause("site.example", 60)] } else { vec![] });
    }
}

#[test]
fn a_site_that_blocks_the_control_check_is_left_alone_for_a_minute() {
    let bench = Bench::new(|request| Ok(respond(if is_bob(request) { 403 } else { 404 }, &[], "page")));
    for requests in [2, 1] {
        let report = bench.check(&site(), &username("alice"));
        assert_eq!(said(&report), (Outcome::Miss, Some("known_unclear"), requests));
    }
}

#[test]
fn checks_share_one_control_check_and_wait_for_it_until_their_deadline() {
    // The known account is answered when every check has its miss and one of them has ended.
    let state = Arc::new((Mutex::new((0, false)), parking_lot::Condvar::new()));
    let controls = Arc::new(AtomicUsize::new(0));
    let (shared, counted) = (state.clone(), controls.clone());
    let bench = Bench::new(move |request| {
        let mut at = shared.0.lock();
        if is_bob(request) {
            counted.fetch_add(1, Ordering::SeqCst);
            shared.1.wait_while(&mut at, |(misses, has_ended)| *misses < 8 || !*has_ended);
            return Ok(respond(200, &[], "page"));
        }
        at.0 += 1;
        shared.1.notify_all();
        Ok(respond(404, &[], "page"))
    });
    let site = site();
    std::thread::scope(|scope| {
        let check = |index: usize| bench.check(&site, &username(&format!("alice{index}")));
        let checks: Vec<_> = (0..7).map(|index| scope.spawn(move || check(index))).collect();
        while controls.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        let hurried = bench.checker.check(&site, &username("carol"), Instant::now() + Duration::from_secs(5));
        assert_eq!(
            (hurried.outcome, hurried.reason),
            (Outcome::Miss, Some(Reason::KnownUnclear)),
            "{hurried:?}"
        );
        state.0.lock().1 = true;
        state.1.notify_all();
        for check in checks {
            let report = check.join().unwrap();
            assert_eq!((report.outcome, report.reason), (Outcome::Miss, None));
        }
    });
    assert_eq!(controls.load(Ordering::SeqCst), 1);
}

/// Hosts that may be asked, for a module without further checks.
struct UsedUp;

impl HostAccess for UsedUp {
    fn access(&self, _: &str) -> Access {
        Access::Granted
    }

    fn reserve(&self, _: Instant, _: Instant) -> Option<Instant> {
        None
    }
}

#[test]
fn a_control_check_keeps_to_pauses_and_to_the_rate_of_its_module() {
    let bench = Bench::new(|_| Ok(respond(404, &[], "page")));
    let terms = || Terms::from(Instant::now() + Duration::from_secs(60));
    let report = bench.checker.check(&site(), &username("alice"), Terms { hosts: &UsedUp, ..terms() });
    assert_eq!(said(&report), (Outcome::Miss, Some("known_unclear"), 1));
    assert_eq!(said(&bench.check(&site(), &username("alice"))).0, Outcome::Unreliable, "that is not cached");
}
