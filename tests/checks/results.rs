//! What extractors read.

use super::*;

#[test]
fn extractors_read_everything_that_the_language_names() {
    let body = json!({
        "name": " Bob\u{0}\u{202e} B. ", "bio": "<p>a &amp; b</p>", "made": 1_700_000_000, "tags": ["a", null, "", "b"],
        "events": [{"k": "reg", "at": "2020-01-02 03:04:05"}, {"k": "exp", "at": "x"}],
        "mx": ["10 MX.example.", "20 b.example."], "deep": {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}},
        "long": "x".repeat(5000), "empty": "", "nothing": null, "spf": "v=spf1 include:a.example include:b.example -all",
    });
    let site = module(&json!({
        "control": false,
        "result": {"type": "profile", "value": "json:/name", "metadata": {
            "bio": {"from": ["json:/bio"], "transform": ["html_text"]},
            "made": {"from": ["json:/none", "json:/made"], "transform": ["unix_time"]},
            "tags": "json:/tags/*", "first_tag": "json:/tags/0",
            "registered": {"from": ["json:/events/*/at"], "where": [{"at": "/k", "equals": "reg"}], "transform": ["date_time"]},
            "expires": {"from": ["json:/at"], "each": "/events/*", "where": [{"at": "/k", "equals": "exp"}]},
            "mx": {"from": ["json:/mx/*"], "transform": ["last_word", "strip_dot", "lower"], "limit": 1},
            "kinds": {"from": ["json:/mx/*"], "labels": [["^10 ", "first"]]},
            "includes": {"from": ["json:/spf"], "regex": "include:(\\S+)", "all": true, "format": "{value}?{query}"},
            "count": "count:/tags/*", "served": "header:Server", "sid": "cookie:sid", "url": "final_url:",
            "link": "template:https://x.example/{query|lower}", "kind": "const:test",
            "deep": "json:/deep", "long": "json:/long", "empty": "json:/empty", "nothing": "json:/nothing",
        }},
        "results": [
            {"type": "domain", "each": "json:/mx/*", "value": {"from": ["value:"], "transform": ["last_word", "strip_dot"]},
             "keep": "^[a-z.]+$", "metadata": {"index": "key:", "kind": "const:mx"}},
            {"type": "technology", "each": "json:/events/*", "where": [{"at": "/k", "any_of": ["reg", "exp"]}], "value": "json:/k", "limit": 1},
            {"type": "url", "each": "regex:(include):(\\S+)", "value": "group:2", "metadata": {"how": "group:1"}},
        ],
    }));
    let headers = [("server", "nginx"), ("set-cookie", "sid=7; Secure")];
    let answer = respond(200, &headers, body.to_string());
    let bench = Bench::new(move |_| Ok(answer.clone()));
    let report = bench.check(&site, &username("Bob"));
    assert_eq!(report.outcome, Outcome::Hit);
    let main = &report.findings[0];
    assert_eq!(main.value.as_deref(), Some("Bob B."));
    let mut metadata = Value::Object(main.metadata.clone());
    assert_eq!(metadata["long"].as_str().unwrap().len(), 2000);
    metadata["long"] = Value::Null;
    assert_eq!(
        metadata,
        json!({
            "bio": "a & b", "made": "2023-11-14T22:13:20Z", "tags": ["a", "b"], "first_tag": "a",
            "registered": "2020-01-02T03:04:05Z", "expires": "x", "mx": ["mx.example"],
            "kinds": ["first", "20 b.example."], "includes": ["a.example?Bob", "b.example?Bob"], "count": 3,
            "served": "nginx", "sid": "7", "url": "https://site.example/u/x", "link": "https://x.example/bob",
            "kind": "test", "long": null,
        })
    );
    let rest: Vec<(&str, &str, Value)> = report.findings[1..]
        .iter()
        .map(|it| (it.result_type.as_str(), it.value.as_deref().unwrap(), Value::Object(it.metadata.clone())))
        .collect();
    assert_eq!(
        rest,
        [
            ("domain", "b.example", json!({"index": 1, "kind": "mx"})),
            ("technology", "reg", json!({})),
            ("url", "a.example", json!({"how": "include"})),
            ("url", "b.example", json!({"how": "include"})),
        ]
    );
}

#[test]
fn pages_are_read_by_title_meta_json_ld_and_elements() {
    let html = r#"<html><head><title> Bob &mdash; Site </title><meta property="og:title" content="Bob"><meta name=description content="">
        <script type="application/ld+json">{"@graph": [{"@type": "Person", "name": "Bob B."}]}</script></head>
        <ul id=l><li><a href="/a" title="A">one</a><li><a href="/b">two</a></ul><h1>B<b>o</b>b</h1>"#;
    let site = module(&json!({
        "control": false,
        "result": {"type": "profile", "metadata": {
            "title": "title:", "og": "meta:og:title", "nothing": "meta:description", "person": "jsonld:/name",
            "heading": "css:h1", "first": "css:li a", "links": {"from": ["css:li a@href"], "all": true}, "re": "regex:<h1>(.)",
        }},
        "results": [
            {"type": "url", "each": "css:#l a@href", "metadata": {"title": "attr:href"}},
            {"type": "username", "each": "css:#l a", "metadata": {"href": "attr:href"}},
        ],
    }));
    let bench = Bench::new(move |_| Ok(respond(200, &[("content-type", "text/html")], html)));
    let report = bench.check(&site, &username("bob"));
    assert_eq!(
        Value::Object(report.findings[0].metadata.clone()),
        json!({"title": "Bob — Site", "og": "Bob", "person": "Bob B.", "heading": "Bob", "first": "one",
            "links": ["/a", "/b"], "re": "B"})
    );
    let rest: Vec<(&str, &Value)> = report.findings[1..]
        .iter()
        .map(|it| (it.value.as_deref().unwrap(), it.metadata.values().next().unwrap()))
        .collect();
    assert_eq!(
        rest,
        [("/a", &json!("/a")), ("/b", &json!("/b")), ("one", &json!("/a")), ("two", &json!("/b"))]
    );
}
