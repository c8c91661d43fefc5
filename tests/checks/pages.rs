//! Further pages of a hit.

use super::*;

/// A module with results on several pages.
fn paged(pages: &Value) -> Arc<Module> {
    module(&json!({
        "control": false,
        "probes": [{"url": "https://site.example/u/{query}", "headers": {"X-A": "b"}, "pages": pages}],
        "result": {"type": "account", "metadata": {"name": "json:/name"}},
        "results": [{"type": "url", "each": "json:/links/*"}],
    }))
}

fn links(report: &Report) -> Vec<&str> {
    let links = report.findings.iter().filter(|finding| finding.result_type.as_str() == "url");
    links.filter_map(|finding| finding.value.as_deref()).collect()
}

/// A page with two links and the address of the next page.
fn page(request: &Request, number: usize, next: Option<&str>) -> Response {
    let links = [format!("https://l.example/{number}a"), format!("https://l.example/{number}b")];
    let body = json!({"name": format!("page {number}"), "links": links, "next": next});
    Response { final_url: request.url.clone(), ..respond(200, &[], body.to_string()) }
}

fn number_of(request: &Request) -> usize {
    let page = request.url.query_pairs().find(|(name, _)| name == "p");
    page.map_or(1, |(_, value)| value.parse().unwrap())
}

#[test]
fn only_results_read_further_pages() {
    for (pages, next) in [
        (json!({"next": "json:/next", "url": "https://site.example/u/{query}?p={page}"}), ["2", "3"]),
        (json!({"next": "json:/next"}), ["/u/bob?p=2", "https://site.example/u/bob?p=3"]),
        (json!({"next": "json:/next"}), ["?p=2", "http://site.example/u/bob?p=3#top"]),
    ] {
        let bench = Bench::new(move |request| {
            let number = number_of(request);
            Ok(page(request, number, next.get(number - 1).copied()))
        });
        let report = bench.check(&paged(&pages), &username("bob"));
        assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (Outcome::Hit, None), "{pages}");
        assert_eq!(
            links(&report),
            ["1a", "1b", "2a", "2b", "3a", "3b"].map(|name| format!("https://l.example/{name}"))
        );
        assert_eq!(report.findings[0].metadata["name"], "page 1");
        assert_eq!(
            bench.asked(),
            ["", "?p=2", "?p=3"].map(|query| format!("https://site.example/u/bob{query}"))
        );
        assert_eq!(report.evidence.requests, 3);
        let asked = bench.prober.asked.lock();
        assert!(asked.iter().all(|request| request.headers.contains(&("X-A".into(), "b".into()))));
        assert!(asked.iter().all(|request| request.trace.probe == 0));
    }
}

#[test]
fn the_number_of_pages_is_limited_by_the_entry() {
    for (most, want) in [(json!(null), 5), (json!(2), 2), (json!(20), 20)] {
        let bench = Bench::new(|request| {
            let number = number_of(request);
            Ok(page(request, number, Some(&format!("?p={}", number + 1))))
        });
        let mut pages = json!({"next": "json:/next", "most": most});
        pages.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let report = bench.check(&paged(&pages), &username("bob"));
        assert_eq!((bench.asked().len(), links(&report).len(), report.reason), (want, 2 * want, None));
    }
}

#[test]
fn only_a_confirmed_hit_requests_further_pages() {
    let bench = Bench::new(|request| {
        let known = request.url.path().ends_with("/bob");
        Ok(Response { status: if known { 200 } else { 404 }, ..page(request, 1, Some("?p=2")) })
    });
    let pages = json!({"next": "json:/next"});
    assert_eq!(bench.check(&paged(&pages), &username("alice")).outcome, Outcome::Miss);
    let mut guarded = paged(&pages).entry().clone();
    guarded.control = Some(true);
    let bench_yes = Bench::new(|request| Ok(page(request, 1, Some("?p=2"))));
    let guarded = Module::compile(guarded).unwrap();
    assert_eq!(bench_yes.check(&guarded, &username("bob")).outcome, Outcome::Unreliable);
    assert_eq!((bench.asked().len(), bench_yes.asked().len()), (1, 2));
}

#[test]
fn a_failed_page_removes_no_results() {
    type Broken = fn(&Request) -> Result<Response, ProbeError>;
    let cases: [(Broken, usize, Option<u64>); 7] = [
        (|_| Err(ProbeError::Timeout(Phase::Body)), 2, None),
        (|_| Err(ProbeError::Connect("reset".into())), 3, None),
        (|_| Ok(respond(500, &[], "")), 2, None),
        (|_| Ok(respond(500, &[("retry-after", "9")], "")), 2, Some(9)),
        (|_| Ok(respond(404, &[], "{\"links\": [\"https://l.example/x\"]}")), 2, None),
        (|_| Ok(respond(429, &[("retry-after", "7")], "")), 2, Some(7)),
        (|_| Ok(respond(200, &[("cf-mitigated", "challenge")], "")), 2, None),
    ];
    for (index, (broken, requests, retry_after)) in cases.into_iter().enumerate() {
        let bench = Bench::new(move |request| match number_of(request) {
            1 => Ok(page(request, 1, Some("?p=2"))),
            _ => broken(request),
        });
        let report = bench.check(&paged(&json!({"next": "json:/next"})), &username("bob"));
        assert_eq!(
            (report.outcome, report.reason.map(Reason::as_str)),
            (Outcome::Hit, Some("pages_incomplete")),
            "case {index}"
        );
        assert_eq!(links(&report).len(), 2, "case {index}");
        assert_eq!(
            (report.evidence.requests as usize, report.pauses.first().map(|pause| pause.secs)),
            (requests, retry_after)
        );
    }
}

#[test]
fn pages_on_other_hosts_or_with_a_weaker_scheme_are_not_requested() {
    for next in [
        "https://other.example/u/bob?p=2",
        "//other.example/u/bob?p=2",
        "https://site.example:8443/u/bob?p=2",
        "https://u:p@site.example/u/bob?p=2",
        "http://127.0.0.1/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://[",
    ] {
        let bench = Bench::new(move |request| Ok(page(request, 1, Some(next))));
        let report = bench.check(&paged(&json!({"next": "json:/next"})), &username("bob"));
        assert_eq!(
            (report.outcome, report.reason.map(Reason::as_str)),
            (Outcome::Hit, Some("pages_incomplete")),
            "{next}"
        );
        assert_eq!((bench.asked().len(), links(&report).len()), (1, 2), "{next}");
    }
    // Keys must not follow a redirect to another host.
    let bench = Bench::new(|request| {
        let moved = "https://elsewhere.example/u/bob".parse().unwrap();
        Ok(Response { final_url: moved, ..page(request, 1, Some("?p=2")) })
    });
    let report = bench.check(&paged(&json!({"next": "json:/next"})), &username("bob"));
    assert_eq!((report.reason.map(Reason::as_str), bench.asked().len()), (Some("pages_incomplete"), 1));
}

#[test]
fn a_loop_of_pages_ends() {
    for (nexts, want) in
        [(&["?p=2", "?p=2"][..], 2), (&["?p=2", "?p=3", "?p=2"][..], 3), (&["/u/bob"][..], 1)]
    {
        let bench = Bench::new(move |request| {
            let number = number_of(request);
            Ok(page(request, number, nexts.get(number - 1).copied()))
        });
        let report = bench.check(&paged(&json!({"next": "json:/next", "most": 20})), &username("bob"));
        assert_eq!((bench.asked().len(), links(&report).len(), report.reason), (want, 2 * want, None));
    }
}

#[test]
fn pages_share_a_byte_limit_and_a_truncated_one_is_the_last() {
    let full = |request: &Request| {
        let number = number_of(request);
        let mut response = page(request, number, Some(&format!("?p={}", number + 1)));
        response.body.extend(" ".repeat(request.body_limit - response.body.len()).bytes());
        Ok(response)
    };
    let bench = Bench::new(full);
    let report = bench.check(&paged(&json!({"next": "json:/next", "most": 20})), &username("bob"));
    assert_eq!((bench.asked().len(), report.reason.map(Reason::as_str)), (5, Some("pages_incomplete")));
    assert_eq!(report.evidence.bytes_read, 5 * MAX_BODY_BYTES);
    let bench = Bench::new(move |request| {
        let truncated = number_of(request) == 2;
        Ok(Response { truncated, ..full(request)? })
    });
    let report = bench.check(&paged(&json!({"next": "json:/next", "most": 20})), &username("bob"));
    assert_eq!((bench.asked().len(), report.reason.map(Reason::as_str)), (2, Some("pages_incomplete")));
}

#[test]
fn pages_end_at_the_deadline_of_the_check() {
    let bench = Bench::new(|request| {
        let number = number_of(request);
        Ok(page(request, number, Some(&format!("?p={}", number + 1))))
    });
    // The engine checks the deadline before each request, and the script uses up the time.
    let deadline = Instant::now() + Duration::from_millis(300);
    let slow = Bench::new(move |request| {
        if number_of(request) == 2 {
            while Instant::now() < deadline {
                std::hint::spin_loop();
            }
        }
        let number = number_of(request);
        Ok(page(request, number, Some(&format!("?p={}", number + 1))))
    });
    let site = paged(&json!({"next": "json:/next", "most": 20}));
    assert_eq!(links(&bench.check(&site, &username("bob"))).len(), 40);
    let report = slow.checker.check(&site, &username("bob"), deadline);
    // On a very slow machine not even the first page was requested, and there is nothing to test.
    if report.outcome == Outcome::Hit && slow.asked().len() > 1 {
        assert_eq!((slow.asked().len(), links(&report).len()), (2, 4));
        assert_eq!(report.reason.map(Reason::as_str), Some("pages_incomplete"));
    }
}

#[test]
fn results_of_another_probe_request_no_pages() {
    let site = module(&json!({
        "control": false,
        "probes": [
            {"url": "https://site.example/u/{query}", "pages": {"next": "json:/next"}},
            {"url": "https://site.example/v/{query}", "fallback": true},
        ],
        "hit": [{"probe": 1, "status": [200]}], "miss": [{"probe": 1, "status": [404]}],
        "results": [{"type": "url", "each": "json:/links/*"}],
    }));
    let bench = Bench::new(|request| Ok(page(request, 1, Some("?p=2"))));
    let report = bench.check(&site, &username("bob"));
    assert_eq!((report.outcome, bench.asked().len(), report.reason), (Outcome::Hit, 2, None));
}

#[test]
fn an_error_page_is_missing_and_an_empty_last_page_is_not() {
    let json = module(&json!({
        "control": false,
        "probes": [{"url": "https://site.example/u/{query}", "pages": {"next": "json:/next"}}],
        "hit": [{"status": [200], "json": [{"at": "/links", "type": "array", "min_length": 1}]}],
        "miss": [{"status": [200], "json": [{"at": "/links", "type": "array", "max_length": 0}]}],
        "results": [{"type": "url", "each": "json:/links/*"}],
    }));
    let html = module(&json!({
        "control": false,
        "probes": [{"url": "https://site.example/u/{query}", "pages": {"next": "css:a.next@href"}}],
        "hit": [{"status": [200], "words": ["<h1>{query}"]}], "miss": [{"status": [404]}],
        "results": [{"type": "url", "each": "css:a.link@href"}],
    }));
    let first_json = r#"{"links": ["https://l.example/a"], "next": "?p=2"}"#;
    let first_html = "<h1>bob</h1><a class=link href='https://l.example/a'></a><a class=next href='?p=2'>";
    for (site, first, second, links_found, is_whole) in [
        (&json, first_json, r#"{"links": ["https://l.example/b"]}"#, 2, true),
        (&json, first_json, r#"{"links": []}"#, 1, true),
        (&json, first_json, "", 1, false),
        (&json, first_json, " \n", 1, false),
        (&json, first_json, "<html>oops</html>", 1, false),
        (&json, first_json, r#"{"error": "backend"}"#, 1, false),
        (&json, first_json, r#"{"error": "backend", "next": "?p=3"}"#, 1, false),
        (&html, first_html, "<a class=link href='https://l.example/b'></a>", 2, true),
        (&html, first_html, "<h1>bob</h1>No more links.", 1, true),
        (&html, first_html, "<h1>Sorry</h1>", 1, false),
        (&html, first_html, "", 1, false),
    ] {
        let bench = Bench::new(move |request| {
            let body = if number_of(request) == 1 { first } else { second };
            Ok(Response { final_url: request.url.clone(), ..respond(200, &[], body) })
        });
        let report = bench.check(site, &username("bob"));
        let want = (!is_whole).then_some("pages_incomplete");
        assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (Outcome::Hit, want), "{second}");
        assert_eq!((links(&report).len(), bench.asked().len()), (links_found, 2), "{second}");
    }
}

#[test]
fn the_address_of_a_page_may_contain_a_key() {
    let site = module(&json!({
        "control": false, "needs": ["config.k"],
        "probes": [{
            "url": "https://site.example/u/{query}?k={config.k}",
            "pages": {"next": "json:/next", "url": "https://site.example/u/{query}?k={config.k}&o={config.o?}&p={page}"},
        }],
        "results": [{"type": "url", "each": "json:/links/*"}],
    }));
    let bench = Bench::with_keys(&[("k", "a&b")], |request| {
        Ok(page(request, number_of(request), (number_of(request) == 1).then_some("2")))
    });
    let report = bench.check(&site, &username("bob"));
    assert_eq!((report.outcome, report.reason), (Outcome::Hit, None));
    assert_eq!(
        bench.asked(),
        ["?k=a%26b", "?k=a%26b&p=2"].map(|it| format!("https://site.example/u/bob{it}"))
    );
}
