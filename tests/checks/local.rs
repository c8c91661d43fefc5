//! Faults of this machine are not attributed to a site.

use sightline::modules::probe::LocalFault;

use super::*;

fn lacking(fault: LocalFault) -> ProbeError {
    ProbeError::Local(fault, "a test".into())
}

#[test]
fn a_local_fault_skips_the_check_with_a_reason() {
    for (fault, reason) in [
        (LocalFault::Resources, "local_resources"),
        (LocalFault::Network, "no_network"),
        (LocalFault::Resolver, "no_resolver"),
    ] {
        let bench = Bench::new(move |_| Err(lacking(fault)));
        let report = bench.check(&module(&json!({})), &username("bob"));
        assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (Outcome::Skipped, Some(reason)));
        assert_eq!(bench.asked().len(), 1, "no second try on the same want");
    }
}

#[test]
fn a_fallback_replaces_a_source_with_a_local_fault() {
    let two = module(&json!({
        "probes": [{"url": "https://one.example/{query}"}, {"url": "https://two.example/{query}", "fallback": true}],
    }));
    let ask = |first: fn() -> Result<Response, ProbeError>, second: fn() -> Result<Response, ProbeError>| {
        let bench = Bench::new(move |request| match request.url.host_str() {
            Some("one.example") => first(),
            _ => second(),
        });
        let report = bench.check(&two, &username("bob"));
        (report.outcome, report.reason.map(Reason::as_str))
    };
    let ours = || Err(lacking(LocalFault::Resources));
    assert_eq!(ask(ours, || Ok(respond(404, &[], ""))), (Outcome::Miss, None));
    // The source that might have given a conclusion was not queried.
    assert_eq!(ask(|| Ok(respond(500, &[], "")), ours), (Outcome::Skipped, Some("local_resources")));
    assert_eq!(ask(ours, ours), (Outcome::Skipped, Some("local_resources")));
}

#[test]
fn a_control_check_with_a_local_fault_is_repeated() {
    let is_away = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let away = Arc::clone(&is_away);
    let bench = Bench::new(move |request| match request.trace.control {
        true if away.load(Ordering::SeqCst) => Err(lacking(LocalFault::Network)),
        true => Ok(respond(404, &[], "")),
        false => Ok(respond(200, &[], "page")),
    });
    let site = module(&json!({}));
    let confidence = || bench.check(&site, &username("bob")).findings[0].confidence;
    let shaky = confidence();
    is_away.store(false, Ordering::SeqCst);
    assert!(confidence() > shaky);
}

#[test]
fn a_feed_with_a_local_fault_is_fetched_again() {
    let bench = {
        let count = AtomicUsize::new(0);
        Bench::new(move |_| match count.fetch_add(1, Ordering::SeqCst) {
            0 => Err(lacking(LocalFault::Resolver)),
            _ => Ok(respond(200, &[], "alice\nbob\n")),
        })
    };
    let list = module(&json!({
        "control": false,
        "probes": [{"url": "https://site.example/list", "feed": {"keep_s": 3600}}],
        "hit": [{"status": [200], "regex": "(?m)^{query}$"}],
        "miss": [{"status": [200], "regex": "\\A[a-z]+", "no_word": ["{query}"]}],
    }));
    assert_eq!(bench.check(&list, &username("bob")).reason.map(Reason::as_str), Some("no_resolver"));
    assert_eq!(bench.check(&list, &username("bob")).outcome, Outcome::Hit);
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
