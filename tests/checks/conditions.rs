//! The conditions of a matcher.

use super::*;

/// Returns the outcome of the rule for one answer.
fn fires(rule: &Value, response: Response) -> bool {
    let probes = json!([{"url": "https://site.example/u/{query}", "follow": true}]);
    let site = module(&json!({"probes": probes, "hit": [rule], "miss": [{"status": [599]}]}));
    judge(&site, &username("Bob.1"), &[Some(response)]).outcome == Outcome::Hit
}

#[test]
fn every_condition_of_a_matcher_works() {
    let json = r#"{"login": "bob.1", "n": 3, "none": null, "list": [1, {"k": "v"}], "text": "hello Bob.1"}"#;
    let html = r#"<html><body><h1 class="name big">@BOB.1</h1><a rel="me" href="https://x.example/">x</a>ÄPFEL</body>"#;
    let page = "<title> Bob.1\n on\tSite </title><style>secret</style><template><p>secret</p></template>\
        <div hidden>secret <b>too</b></div><p style='color:red; DISPLAY : none'>secret</p>\
        <p style=\"visibility:hidden\">secret</p><noscript>secret</noscript><script>secret()</script>\
        <h1>This&nbsp;account\n  doesn&#39;t <b>exist</b></h1><p hidden>a<p>shown</p>";
    let headers = [("x-a", "one"), ("x-a", "two"), ("location", "/u/Bob.1")];
    for (rule, body, want) in [
        (json!({"status": [201, 200]}), html, true),
        (json!({"status": ["2xx"]}), html, true),
        (json!({"status": ["4xx", 201]}), html, false),
        (json!({"final_url": "/u/\\w$"}), html, true),
        (json!({"final_url": "{query}"}), html, false),
        (json!({"header": {"X-A": "^two$"}}), "", true),
        (json!({"header": {"X-A": ""}}), "", true),
        (json!({"header": {"X-A": "three"}}), "", false),
        (json!({"header": {"Location": "^/u/[A-Z]o{0,2}b"}}), "", true),
        (json!({"no_header": ["X-B"]}), html, true),
        (json!({"no_header": ["X-A"]}), html, false),
        (json!({"words": ["<h1", "</h1>"]}), html, true),
        (json!({"words": ["<h1", "<h2"]}), html, false),
        (json!({"words": ["äpfel", "{query}"], "ignore_case": true}), html, true),
        (json!({"words": ["äpfel"]}), html, false),
        (json!({"any_word": ["<h2", "<h1"]}), html, true),
        (json!({"no_word": ["<h2"]}), html, true),
        (json!({"no_word": ["<h2", "<h1"]}), html, false),
        (json!({"body_is": "YES", "ignore_case": true}), " yes\n", true),
        (json!({"body_is": ""}), " \n", true),
        (json!({"body_is": ""}), "x", false),
        (json!({"regex": "^hello\\s{2}{query}$"}), "x\nhello  Bob.1\ny", true),
        (json!({"regex": "^hello {query}$"}), "hello Bobx1", false),
        (json!({"regex": "\\b{query}\\b"}), "x Bob.1 y", true),
        (json!({"regex": "\\b{query}\\b"}), "xBob.1 y", false),
        (json!({"json": [{"at": "/login", "equals_query": true}]}), json, true),
        (json!({"json": [{"at": "/text", "equals_query": false}]}), json, true),
        (json!({"json": [{"at": "/none", "exists": false}]}), json, true),
        (json!({"json": [{"at": "/none", "null": true}]}), json, true),
        (json!({"json": [{"at": "/gone", "null": true}]}), json, false),
        (json!({"json": [{"at": "/gone", "exists": false}]}), "no json", false),
        (json!({"json": [{"at": "/n", "equals": 3.0}]}), json, true),
        (json!({"json": [{"at": "/n", "any_of": [1, 3]}]}), json, true),
        (json!({"json": [{"at": "/n", "not_equals": 4}]}), json, true),
        (json!({"json": [{"at": "/n", "above": 2.5, "below": 3.5}]}), json, true),
        (json!({"json": [{"at": "/n", "above": 3}]}), json, false),
        (json!({"json": [{"at": "/list", "type": "array", "min_length": 2, "max_length": 2}]}), json, true),
        (json!({"json": [{"at": "/list/*/k", "equals": "v"}]}), json, true),
        (json!({"json": [{"at": "/list/*", "not_equals": 1}]}), json, false),
        (json!({"json": [{"at": "/text", "contains": "{query}"}]}), json, true),
        (json!({"json": [{"at": "/text", "not_contains": "{query}"}]}), json, false),
        (json!({"json": [{"at": "/text", "matches": "^hel{2}o {query}$"}]}), json, true),
        (json!({"json": [{"at": "/text", "not_matches": "^hel{2}o {query}$"}]}), json, false),
        (json!({"json": [{"at": "/list/*/k", "not_matches": "^w"}]}), json, true),
        (json!({"json": [{"at": "/text", "equals_template": "HELLO {query}"}]}), json, true),
        (json!({"json": [{"at": "", "type": "object"}]}), json, true),
        (json!({"css": ["body h1.name"]}), html, true),
        (json!({"css": ["h2"]}), html, false),
        (json!({"css": [{"select": "h2", "exists": false}]}), html, true),
        (json!({"css": [{"select": "h1", "equals_query": true}]}), html, true),
        (
            json!({"css": [{"select": "a[rel=me]", "attribute": "HREF", "matches": "^https://x\\."}]}),
            html,
            true,
        ),
        (json!({"css": [{"select": "a", "matches": "^y$"}]}), html, false),
        (json!({"shows_query": true}), "<title>Page of @BOB.1</title>", true),
        (json!({"shows_query": true}), "<link rel=canonical href='https://x.example/%40bob.1?a'>", true),
        (json!({"shows_query": true}), "<meta property=og:url content=https://x.example/u/bob.1/>", true),
        (json!({"shows_query": true}), "<meta property=profile:username content=Bob.1>", true),
        (json!({"shows_query": true}), "<title>Page of bob.12</title><h1>bob.1</h1>", false),
        (json!({"shows_query": true}), "<link rel=next href='/login?next=/u/bob.1'>", false),
        (json!({"status": [200], "words": ["nope"]}), html, false),
        (json!({"text": ["account doesn't exist", "shown"]}), page, true),
        (json!({"text": ["Account Doesn't"]}), page, false),
        (json!({"text": ["Account Doesn't"], "ignore_case": true}), page, true),
        (json!({"text": ["secret"]}), page, false),
        (json!({"text": ["too"]}), page, false),
        (json!({"text": ["on Site"]}), page, false),
        (json!({"words": ["secret"]}), page, true),
        (json!({"title": "on Site"}), page, true),
        (json!({"title": "{query} on"}), page, true),
        (json!({"title": "bob"}), page, false),
        (json!({"title_is": "Bob.1 on Site"}), page, true),
        (json!({"title_is": "{query} ON site", "ignore_case": true}), page, true),
        (json!({"title_is": "on Site"}), page, false),
    ] {
        assert_eq!(fires(&rule, respond(200, &headers, body)), want, "{rule}");
    }
}
