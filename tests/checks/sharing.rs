//! What concurrent checks share: control checks, feeds, and memory.

use super::*;

/// The site of [`module`] with the known account `bob`.
fn site() -> Arc<Module> {
    module(&json!({"known": ["bob"]}))
}

fn is_bob(request: &Request) -> bool {
    &*request.trace.query == "bob"
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
    assert_eq!(
        (report.outcome, report.reason, bench.asked().len()),
        (Outcome::Miss, Some(Reason::KnownUnclear), 1)
    );
    let again = bench.check(&site(), &username("alice"));
    assert_eq!(again.outcome, Outcome::Unreliable, "that is not cached");
}

/// A module that looks up its query in a list.
fn listed() -> Arc<Module> {
    module(&json!({
        "type": "domain", "control": false, "results": [{"type": "breach", "each": "json:/*"}],
        "probes": [{"url": "https://site.example/list.json", "feed": {"keep_s": 3600}}],
        "hit": [{"status": [200], "json": [{"at": "/*/name", "equals_query": true}]}],
    }))
}

fn list() -> Response {
    respond(200, &[("content-type", "application/json")], r#"[{"name": "example.org"}]"#)
}

fn domain(name: &str) -> Query {
    Query::parse(SearchType::Domain, name).unwrap()
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
    let site = listed();
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
    let site = listed();
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

/// Chains and control checks of many concurrent checks, with memory for one answer.
#[test]
fn checks_wait_for_scarce_memory() {
    let bench = Bench::new(|request| {
        let query = request.trace.query.to_string();
        Ok(match request.trace.control {
            true => respond(404, &[], "{}"),
            false => respond(200, &[], json!({"name": query, "id": 7, "list": ["a", "b"]}).to_string()),
        })
    });
    let bench = Bench { checker: bench.checker.with_answer_memory(1), ..bench };
    let site = module(&json!({
        "probes": [
            {"url": "https://site.example/{query}", "save": {"id": "json:/id"}},
            {"url": "https://site.example/{query}/{saved.id}"},
        ],
        "hit": [{"status": [200], "json": [{"at": "/name", "equals_query": true}]}],
        "results": [{"type": "username", "each": "json:/list/*"}],
    }));
    std::thread::scope(|scope| {
        for index in 0..16 {
            let (bench, site) = (&bench, &site);
            scope.spawn(move || {
                let report = bench.check(site, &username(&format!("bob{index}")));
                assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (Outcome::Hit, None));
                assert_eq!(report.findings.len(), 2, "{:?}", report.findings);
            });
        }
    });
}
