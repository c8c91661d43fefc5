//! Hostile pages, and the limits of what is read of them.

use super::*;

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
        ("deep json", ["[".repeat(500_000), "]".repeat(500_000)].concat().into_bytes(), hit(2)),
        ("deep objects", "{\"a\":".repeat(170_000).into_bytes(), hit(5)),
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
    for piece in
        ["<script>", "<!--", "&", "<svg><title>", "<![CDATA[", "<a/b=", "<p><li><td><b>", "={\"a\":1}"]
    {
        let body = mb(piece);
        let bench = Bench::new(move |_| Ok(respond(200, &[], body.clone())));
        assert_eq!(bench.check(&site, &username("bob")).outcome, Outcome::Hit, "{piece}");
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
        let ends = |body: String| judge(&site, &username("bob"), &respond(200, &[], body)).outcome;
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

fn ends(module: &Module, response: &Response) -> (Outcome, Option<&'static str>) {
    let verdict = judge(module, &username("bob"), response);
    (verdict.outcome, verdict.reason.map(Reason::as_str))
}

#[test]
fn json_with_too_many_values_is_an_error() {
    let site = module(&json!({
        "hit": [{"json": [{"at": "/name", "equals_query": true}]}],
        "miss": [{"json": [{"at": "/name", "exists": false}]}],
    }));
    let answer = |filler: &str, count: usize| {
        respond(
            200,
            &[("content-type", "application/json")],
            format!("{{\"l\":[{}0]}}", filler.repeat(count)),
        )
    };
    let too_large = (Outcome::Error, Some("json_too_large"));
    for (filler, few, many) in
        [("0,", 190_000, 210_000), ("{\"a\":1},", 39_000, 41_000), ("[],", 95_000, 105_000)]
    {
        assert_eq!(ends(&site, &answer(filler, few)), (Outcome::Miss, None), "{few} of {filler}");
        assert_eq!(ends(&site, &answer(filler, many)), too_large, "{many} of {filler}");
    }
    let deep = |levels| format!("{{\"name\":\"bob\",\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    let unrecognized = (Outcome::Error, Some("unrecognized"));
    for (levels, want) in [(100, (Outcome::Hit, None)), (150_000, unrecognized), (400_000, too_large)] {
        assert_eq!(ends(&site, &respond(200, &[], deep(levels))), want, "{levels} levels");
    }
    // The content of strings is not counted.
    let prose = format!("\"{}\",", "a,{[".repeat(100_000));
    assert_eq!(ends(&site, &answer(&prose, 1)), (Outcome::Miss, None));
    // Rules that read no JSON are not affected.
    let words = module(&json!({"hit": [{"words": ["\"l\""]}]}));
    assert_eq!(ends(&words, &answer("0,", 300_000)), (Outcome::Hit, None));
    // A page with many values is not affected either.
    let page = format!("<html>{}", "a,".repeat(300_000));
    assert_eq!(ends(&site, &respond(200, &[], page)), (Outcome::Error, Some("unrecognized")));
}

#[test]
fn a_failed_connection_is_tried_again_while_there_is_time() {
    let tries = AtomicUsize::new(0);
    let bench = Bench::new(move |request| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => Err(Reason::Connect.because("reset")),
        _ => only_bob(request),
    });
    assert_eq!(bench.check(&module(&json!({})), &username("bob")).outcome, Outcome::Hit);
    let late = bench.checker.check(&module(&json!({})), &username("bob"), Instant::now());
    assert_eq!((late.outcome, late.evidence.requests), (Outcome::Timeout, 0), "nothing is sent");
    let of_an_email = bench.check(&module(&json!({"type": "email"})), &username("bob"));
    assert_eq!(of_an_email.reason.map(Reason::as_str), Some("wrong_type"));
}
