//! Confidence, body limits, hostile pages and hosts.

use super::*;

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
fn the_body_limit_follows_from_the_rules() {
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
fn hostile_pages_are_handled_in_bounded_time() {
    let site = module(&json!({
        "control": false,
        "hit": [{"status": [200]}],
        "miss": [
            {"css": ["div div span a.x", "h1"], "regex": "(a|b)*never$"}, {"regex": "(a|b)*nowhere$"},
            {"json": [{"at": "/*/*/*", "equals_query": true}]}, {"any_word": ["x{query}x"], "ignore_case": true},
        ],
        "result": {"type": "profile", "metadata": {"all": {"from": ["css:div"], "all": true, "limit": 1000}, "ld": "jsonld:/*/*"}},
        "results": [{"type": "technology", "each": "regex:."}, {"type": "technology", "each": "json_lines:"}],
    }));
    let mb = |piece: &str| piece.repeat(MAX_BODY_BYTES / piece.len()).into_bytes();
    let json_of = |open: &str, close: &str| format!("{open}{close}").into_bytes();
    let hit = |findings: usize| (Outcome::Hit, None, findings);
    let conflict = (Outcome::Error, Some("conflict"), 0);
    let last = r#"{"a": {"b": "Bob"}}]"#;
    let pages: Vec<(&str, Vec<u8>, _)> = vec![
        ("nested divs", mb("<div>"), hit(6)),
        ("closed divs", [mb("<div>"), mb("</div>")].concat(), hit(6)),
        ("less-than", mb("<"), hit(2)),
        ("open tags", mb("<a b=c "), hit(6)),
        ("invalid utf-8", vec![0xff; MAX_BODY_BYTES], hit(2)),
        ("nuls", vec![0; MAX_BODY_BYTES], hit(1)),
        ("deep json", json_of(&"[".repeat(500_000), &"]".repeat(500_000)), hit(2)),
        ("deep objects", json_of(&"{\"a\":".repeat(170_000), ""), hit(5)),
        ("wide json", format!("[{}0]", "{},".repeat(300_000)).into_bytes(), hit(5)),
        (
            "a hit full of matches",
            [b"<h1>bob</h1>aabbc<div>".as_slice(), &mb("<div>\0<a>ab\n")].concat(),
            hit(13),
        ),
        ("json-ld", mb("<script type=application/ld+json>[[1]]</script>"), hit(23)),
        ("regex bait", [b"bob".as_slice(), &mb("ab")].concat(), hit(4)),
        ("a word at the end", [mb("<div>"), b"xBOBx".to_vec()].concat(), conflict),
        ("json at the end", format!("[{}{last}", "{},".repeat(9_000)).into_bytes(), conflict),
        // A pointer selects 10,000 values at the most.
        ("json behind the end", format!("[{}{last}", "{},".repeat(300_000)).into_bytes(), hit(5)),
        (
            "an element at the end",
            [mb("<i></i>"), b"<div><div><span><a class=x></a></span><h1></h1>bnever".to_vec()].concat(),
            conflict,
        ),
    ];
    for (name, body, want) in pages {
        let bench = Bench::new(move |_| Ok(respond(200, &[], body.clone())));
        let report = bench.check(&site, &username("bob"));
        let ended = (report.outcome, report.reason.map(Reason::as_str), report.findings.len());
        assert_eq!(ended, want, "{name}");
        let text = serde_json::to_string(&report.findings.iter().map(|it| &it.metadata).collect::<Vec<_>>())
            .unwrap();
        assert!(!text.contains("\\u0000") && text.len() < 4_000_000, "{name}: {}", text.len());
    }
}

#[test]
fn an_unreachable_pointer_does_not_prove_absence() {
    let many = |count: usize| format!("[{}\"bob\"]", "1,".repeat(count));
    for rule in [
        json!({"at": "/*", "not_equals": "bob"}),
        json!({"at": "/*", "equals_query": false}),
        json!({"at": "/*", "not_contains": "b"}),
        json!({"at": "/*/x", "exists": false}),
    ] {
        let site = module(&json!({"hit": [{"json": [rule]}], "miss": [{"status": [599]}]}));
        let ends = |body: String| judge(&site, &username("bob"), &[Some(respond(200, &[], body))]).outcome;
        let absent = if rule["exists"] == false { Outcome::Hit } else { Outcome::Error };
        assert_eq!(ends(many(5)), absent, "{rule}");
        assert_eq!(ends(many(10_001)), Outcome::Error, "{rule}");
    }
}

/// Patterns that no fast automaton searches, and a text that is the worst for them.
#[test]
fn regex_searches_end_at_the_deadline() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if state >> 63 == 1 { b'a' } else { b'b' }
    };
    let text: Vec<u8> = (0..MAX_BODY_BYTES).map(|_| next()).collect();
    let bench = Bench::new(move |_| Ok(respond(200, &[], text.clone())));
    let costly = |end: &str| json!({"status": [200], "regex": format!("[ab]*a[ab]{{900}}{end}")});
    let site = module(&json!({
        "control": false,
        "hit": (0..10).map(|n| costly(&format!("h{n}"))).collect::<Vec<_>>(),
        "miss": (0..10).map(|n| costly(&format!("m{n}"))).collect::<Vec<_>>(),
    }));
    let report = bench.checker.check(&site, &username("bob"), Instant::now() + Duration::from_secs(1));
    assert_eq!(
        (report.outcome, report.reason.map(Reason::as_str)),
        (Outcome::Timeout, Some("timeout_rules"))
    );

    // The findings so far are kept, and the report says that they are incomplete.
    let mut fields = json!({"a": "regex:[ab]"});
    for n in 0..20 {
        fields[format!("costly{n}")] = format!("regex:([ab]*a[ab]{{900}}x{n})").into();
    }
    let site = module(&json!({"control": false, "result": {"type": "profile", "metadata": fields}}));
    let report = bench.checker.check(&site, &username("bob"), Instant::now() + Duration::from_secs(5));
    assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (Outcome::Hit, Some("timeout_rules")));
    assert_eq!(report.findings.len(), 1);
}
