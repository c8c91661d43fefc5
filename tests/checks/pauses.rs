//! Hosts that ask for a pause, and hosts that are paused.

use super::*;

/// A module with a second source.
fn two_sources() -> Arc<Module> {
    module(&json!({"probes": [
        {"url": "https://a.example/u/{query}"}, {"url": "https://b.example/u/{query}", "fallback": true},
    ]}))
}

/// An answer from the host that was asked.
fn from_host(request: &Request, status: u16) -> Response {
    let headers: &[(&str, &str)] = if status == 429 { &[("retry-after", "300")] } else { &[] };
    Response { final_url: request.url.clone(), ..respond(status, headers, "page") }
}

fn on_a(request: &Request) -> bool {
    request.url.host_str() == Some("a.example")
}

fn hosts(bench: &Bench) -> Vec<String> {
    let asked = bench.prober.asked.lock();
    asked.iter().map(|request| request.url.host_str().unwrap_or_default().to_owned()).collect()
}

struct Paused(&'static [&'static str]);

impl HostAccess for Paused {
    fn access(&self, host: &str) -> Access {
        if self.0.contains(&host) { Access::Denied(Denial::Pause) } else { Access::Granted }
    }
}

#[test]
fn pauses_are_reported_with_every_outcome() {
    let moved = |request: &Request, status| {
        Ok(Response {
            final_url: "https://login.example/wait".parse().unwrap(),
            ..from_host(request, status)
        })
    };
    for (name, of_control, of_a, of_b, outcome, named) in [
        // The control check asks the source of the hit only.
        ("the control check is refused", 429, 200, 200, Outcome::Hit, &["a.example"][..]),
        ("the second source concludes", 404, 429, 404, Outcome::Miss, &["a.example"]),
        ("the second source has no conclusion", 404, 429, 500, Outcome::RateLimited, &["a.example"]),
        ("the second source does not answer", 404, 429, 0, Outcome::RateLimited, &["a.example"]),
        ("both ask for a pause", 429, 429, 429, Outcome::RateLimited, &["a.example", "b.example"]),
        ("the answer is of another host", 404, 429, 404, Outcome::Miss, &["a.example", "login.example"]),
    ] {
        let bench = Bench::new(move |request| match if on_a(request) { of_a } else { of_b } {
            _ if request.trace.control => Ok(from_host(request, of_control)),
            0 => Err(ProbeError::Dns("no such name".into())),
            status if named.contains(&"login.example") => moved(request, status),
            status => Ok(from_host(request, status)),
        });
        let report = bench.check(&two_sources(), &username("bob"));
        let named: Vec<Pause> = named.iter().map(|host| pause(host, 300)).collect();
        assert_eq!((report.outcome, report.pauses), (outcome, named), "{name}");
    }
}

#[test]
fn hosts_with_the_queried_name_are_paused_together() {
    let site = module(&json!({"probes": [{"url": "https://{query}.site.example/"}]}));
    let report = Bench::new(|request| Ok(from_host(request, 429))).check(&site, &username("bob"));
    assert_eq!(
        (report.pauses, site.hosts(&username("bob")).concat()),
        (vec![pause("site.example", 300)], vec!["site.example".to_owned()])
    );
}

#[test]
fn a_barrier_is_reported_rather_than_a_failed_fallback() {
    for (status, outcome, reason) in [
        (429, Outcome::RateLimited, "rate_limit"),
        (403, Outcome::Blocked, "forbidden"),
        (500, Outcome::Error, "dns"),
    ] {
        let bench = Bench::new(move |request| match on_a(request) {
            true => Ok(from_host(request, status)),
            false => Err(ProbeError::Dns("no such name".into())),
        });
        let report = bench.check(&two_sources(), &username("bob"));
        assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (outcome, Some(reason)), "{status}");
        assert_eq!((report.evidence.http_status, hosts(&bench).len()), (Some(status), 2));
    }
    // The second source fails after its first answer, which is not the barrier.
    let long = module(&json!({"probes": [
        {"url": "https://a.example/u/{query}"},
        {"url": "https://b.example/{query}", "fallback": true}, {"url": "https://c.example/{query}"},
    ]}));
    let bench = Bench::new(|request| match request.url.host_str() {
        Some("a.example") => Ok(from_host(request, 429)),
        Some("b.example") => Ok(from_host(request, 200)),
        _ => Err(ProbeError::Timeout(Phase::Body)),
    });
    let report = bench.check(&long, &username("bob"));
    let Evidence { http_status, final_host, requests, .. } = report.evidence;
    assert_eq!((report.outcome, http_status, requests), (Outcome::RateLimited, Some(429), 3));
    assert_eq!(final_host.as_deref(), Some("a.example"));
}

#[test]
fn a_fallback_replaces_a_paused_host() {
    let limited = (Outcome::RateLimited, Some("retry_after"));
    for (paused, a_status, asked, want) in [
        (Paused(&["a.example"]), 200, &["b.example", "b.example"][..], (Outcome::Hit, None)),
        (Paused(&["a.example"]), 404, &["b.example"], (Outcome::Miss, None)),
        (Paused(&["b.example"]), 500, &["a.example"], (Outcome::Error, Some("server_error"))),
        (Paused(&["b.example"]), 429, &["a.example"], (Outcome::RateLimited, Some("rate_limit"))),
        (Paused(&["b.example"]), 404, &["a.example"], (Outcome::Miss, None)),
        (Paused(&["a.example", "b.example"]), 200, &[], limited),
        (Paused(&["c.example"]), 404, &["a.example"], (Outcome::Miss, None)),
    ] {
        let bench = Bench::new(move |request| {
            Ok(from_host(request, if request.trace.control { 404 } else { a_status }))
        });
        let terms = Terms { hosts: &paused, ..Terms::from(Instant::now() + Duration::from_secs(60)) };
        let report = bench.checker.check(&two_sources(), &username("bob"), terms);
        assert_eq!((report.outcome, report.reason.map(Reason::as_str)), want, "{:?} {a_status}", paused.0);
        assert_eq!(hosts(&bench), asked, "{:?} {a_status}", paused.0);
    }
}

#[test]
fn a_paused_source_with_a_failed_fallback_is_rate_limited() {
    let bench = Bench::new(|_| Err(ProbeError::Dns("no such name".into())));
    let terms =
        Terms { hosts: &Paused(&["a.example"]), ..Terms::from(Instant::now() + Duration::from_secs(60)) };
    let report = bench.checker.check(&two_sources(), &username("bob"), terms);
    assert_eq!(
        (report.outcome, report.reason.map(Reason::as_str)),
        (Outcome::RateLimited, Some("retry_after"))
    );
    assert_eq!((hosts(&bench), report.evidence.http_status), (vec!["b.example".to_owned()], None));
}

#[test]
fn a_saved_host_can_be_paused_and_a_cached_feed_is_still_read() {
    let site = module(&json!({
        "type": "domain", "control": false,
        "probes": [
            {"url": "https://list.example/all", "feed": {"keep_s": 3600}, "save": {"base": "json:/base"}},
            {"url": "{saved.base}{query}"},
        ],
        "result": {"type": "domain"},
    }));
    let bench = Bench::new(|request| {
        let body = r#"{"base": "https://named.example/"}"#;
        Ok(Response { final_url: request.url.clone(), ..respond(200, &[], body) })
    });
    let check = |paused: &Paused| {
        let terms = Terms { hosts: paused, ..Terms::from(Instant::now() + Duration::from_secs(60)) };
        let query = Query::parse(SearchType::Domain, "example.org").unwrap();
        bench.checker.check(&site, &query, terms).outcome
    };
    assert_eq!(check(&Paused(&["list.example"])), Outcome::RateLimited);
    assert_eq!(check(&Paused(&["named.example"])), Outcome::RateLimited);
    assert_eq!(hosts(&bench), ["list.example"]);
    assert_eq!(check(&Paused(&["list.example"])), Outcome::Hit, "the list is at hand");
}
