//! Truncated bodies: the missing part proves nothing.

use super::*;

fn cut(status: u16, body: &str) -> Response {
    Response { truncated: true, ..respond(status, &[("content-type", "text/html")], body) }
}

fn ends(module: &Module, response: Response) -> (Outcome, Option<&'static str>) {
    let verdict = judge(module, &username("bob"), &[Some(response)]);
    (verdict.outcome, verdict.reason.map(Reason::as_str))
}

const ERROR: (Outcome, Option<&str>) = (Outcome::Error, Some("truncated"));

#[test]
fn an_absent_text_in_a_truncated_body_is_not_a_hit() {
    let site = module(&json!({
        "hit": [{"status": [200], "no_word": ["no such member"]}], "miss": [{"words": ["no such member"]}],
    }));
    let page = format!("<html>{}no such member", "x".repeat(MAX_BODY_BYTES));
    assert_eq!(ends(&site, respond(200, &[], page.as_str())), (Outcome::Miss, None));
    assert_eq!(ends(&site, cut(200, &page[..MAX_BODY_BYTES])), ERROR);
    assert_eq!(ends(&site, cut(200, "<p>no such member</p>")), (Outcome::Miss, None));
    let bench = Bench::new(|_| Ok(cut(200, "<html>")));
    let report = bench.check(&site, &username("bob"));
    assert_eq!((report.outcome, report.reason.map(Reason::as_str)), ERROR);
    assert_eq!((report.findings.len(), report.evidence.requests), (0, 1), "no control check");
}

#[test]
fn every_condition_on_a_truncated_body_works() {
    let text = "<h1>bob</h1><p id=a title=t>hello bob</p> <div><b>end bob";
    for (rule, body, whole, cut_off) in [
        (json!({"words": ["hello", "{query}"]}), text, true, true),
        (json!({"any_word": ["nobody", "hello"]}), text, true, true),
        (json!({"no_word": ["nobody"]}), text, true, false),
        (json!({"words": ["hello"], "no_word": ["nobody"]}), text, true, false),
        (json!({"body_is": "hello"}), "hello", true, false),
        (json!({"body_is": ""}), "", true, false),
        (json!({"regex": "hello {query}"}), text, true, true),
        // The last word may be incomplete where the page was truncated.
        (json!({"regex": "end {query}$"}), text, true, false),
        (json!({"regex": "\\b(?:{query})\\b"}), text, true, true),
        (json!({"css": ["p[title=t]"]}), text, true, true),
        (json!({"css": [{"select": "p", "attribute": "title", "matches": "^t$"}]}), text, true, true),
        (json!({"css": [{"select": "h1", "equals_query": true}]}), text, true, true),
        (json!({"css": [{"select": "b", "matches": "^end bob$"}]}), text, true, false),
        (json!({"css": [{"select": "b", "matches": "^end"}]}), text, true, true),
        (json!({"css": [{"select": "b", "equals_query": false}]}), text, true, false),
        (json!({"css": [{"select": "i", "exists": false}]}), text, true, false),
        (json!({"css": [{"select": "b", "matches": "nobody", "exists": false}]}), text, true, false),
        (json!({"css": [{"select": "b", "exists": false}]}), text, false, false),
        (json!({"json": [{"at": "/a", "equals": 1}]}), "{\"a\": 1}  ", true, false),
        (json!({"json": [{"at": "/b", "exists": false}]}), "{\"a\": 1}  ", true, false),
        (json!({"json": [{"at": "/a", "not_equals": 2}]}), "{\"a\": 1}  ", true, false),
        (json!({"json": [{"at": "/a", "not_contains": "2"}]}), "{\"a\": \"1\"}  ", true, false),
        (json!({"json": [{"at": "/a", "equals_query": false}]}), "{\"a\": 1}  ", true, false),
    ] {
        let site = module(&json!({"hit": [rule], "miss": [{"status": [599]}]}));
        let fires = |it| ends(&site, it).0 == Outcome::Hit;
        assert_eq!(fires(respond(200, &[], body)), whole, "{rule}");
        assert_eq!(fires(cut(200, body)), cut_off, "{rule}");
        if !cut_off {
            assert_eq!(ends(&site, cut(200, body)), ERROR, "{rule}");
        }
    }
}

#[test]
fn rules_without_body_conditions_ignore_truncation() {
    let site = module(&json!({"hit": [{"status": [200], "no_header": ["x-no"]}]}));
    assert_eq!(ends(&site, cut(200, "<html>")), (Outcome::Hit, None));
    assert_eq!(ends(&site, cut(404, "<html>")), (Outcome::Miss, None));
    assert_eq!(ends(&site, cut(201, "<html>")), (Outcome::Error, Some("unrecognized")));
}

#[test]
fn a_barrier_or_a_status_takes_precedence_over_truncation() {
    let site = module(&json!({"hit": [{"words": ["profile"]}], "miss": [{"words": ["nobody"]}]}));
    for (status, body, want) in [
        (403, "<div class=g-recaptcha>", (Outcome::Blocked, Some("captcha"))),
        (429, "", (Outcome::RateLimited, Some("rate_limit"))),
        (403, "<p>", (Outcome::Blocked, Some("forbidden"))),
        (502, "<p>", (Outcome::Error, Some("server_error"))),
        (200, "<p>", ERROR),
        (200, "profile of nobody", (Outcome::Error, Some("conflict"))),
    ] {
        assert_eq!(ends(&site, cut(status, body)), want, "{status} {body}");
    }
}

#[test]
fn only_answers_that_body_rules_read_can_be_truncated() {
    let site = module(&json!({
        "probes": [{"url": "https://site.example/{query}"}, {"url": "https://site.example/2/{query}"}],
        "hit": [{"probe": 1, "words": ["profile"]}], "miss": [{"probe": 0, "status": [404]}],
    }));
    let verdict = |first, second| {
        judge(&site, &username("bob"), &[Some(first), Some(second)]).reason.map(Reason::as_str)
    };
    assert_eq!(verdict(cut(200, ""), respond(200, &[], "page")), Some("unrecognized"));
    assert_eq!(verdict(respond(200, &[], "page"), cut(200, "")), Some("truncated"));
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
        assert_eq!(ends(&site, answer(filler, few)), (Outcome::Miss, None), "{few} of {filler}");
        assert_eq!(ends(&site, answer(filler, many)), too_large, "{many} of {filler}");
    }
    // The content of strings is not counted.
    let prose = format!("\"{}\",", "a,{[".repeat(100_000));
    assert_eq!(ends(&site, answer(&prose, 1)), (Outcome::Miss, None));
    // Rules that read no JSON are not affected.
    let words = module(&json!({"hit": [{"words": ["\"l\""]}]}));
    assert_eq!(ends(&words, answer("0,", 300_000)), (Outcome::Hit, None));
    // A page with many values is not affected either.
    let page = format!("<html>{}", "a,".repeat(300_000));
    assert_eq!(ends(&site, respond(200, &[], page)), (Outcome::Error, Some("unrecognized")));
}
