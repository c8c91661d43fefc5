//! Rules that others never let come to a verdict. What no answer fulfils shows on the simulated web: see
//! `tests/sandbox/dead.rs`.

use super::*;

#[test]
fn rules_that_another_rule_always_overrides_are_reported() {
    let (ok, gone) = (json!({"status": [200]}), json!({"status": [200], "words": ["gone"]}));
    assert_faults(&[
        (
            json!({"hit": [gone], "miss": [ok]}),
            "f.json: site: hit[0]: `miss[0]` holds wherever it does: it would always be a conflict",
        ),
        (
            json!({"hit": [ok], "miss": [{"status": [404]}, gone]}),
            "f.json: site: miss[1]: `hit[0]` holds wherever it does: it would always be a conflict",
        ),
        (
            json!({"barrier": [{"status": ["2xx", 403]}]}),
            "f.json: site: hit[0]: `barrier[0]` holds wherever it does, and barriers come first",
        ),
        (
            json!({"barrier": [{"words": ["gone"]}], "miss": [gone], "hit": [{"words": ["{query}"]}]}),
            "f.json: site: miss[0]: `barrier[0]` holds wherever it does, and barriers come first",
        ),
    ]);
    // In an interrupted chain, only the miss rule applies.
    let chain = json!([{"url": URL, "save": {"a": "title:"}}, {"url": "https://site.example/{saved.a}"}]);
    assert_eq!(faults(&json!({"probes": chain, "hit": [ok], "miss": [gone]})), [""; 0]);
    // A barrier rule of another probe does not apply to this one.
    let own = json!({"barrier": [{"probe": 0, "status": [200]}], "probes": chain, "hit": [{"probe": 1, "status": [200]}]});
    assert_eq!(faults(&own), [""; 0]);
}

#[test]
fn a_module_with_one_outcome_for_every_query_is_reported() {
    const WANT: &str = "f.json: site: no probe and no rule of `hit` or `miss` is about the query: write it into a probe, \
        as `{query}`, or let a rule look for it, by `{query}`, `equals_query` or `shows_query`";
    let list = |url: &str| json!([{"url": url}]);
    let fixed = list("https://site.example/list");
    assert_faults(&[
        (json!({"probes": fixed}), WANT),
        (json!({"probes": list("https://site.example/%7Bquery%7D")}), WANT),
        (
            json!({"probes": [{"url": "https://site.example/", "method": "POST", "text": "{{query}}", "headers": {"Content-Type": "text/plain"}}]}),
            WANT,
        ),
        (json!({"probes": fixed, "barrier": [{"words": ["{query} is busy"]}]}), WANT),
        (
            json!({"probes": fixed, "result": {"type": "profile", "value": {"from": ["title:"], "format": "{value}"}}}),
            WANT,
        ),
        (
            json!({"probes": [{"url": "https://site.example/", "save": {"query": "title:"}},
                              {"url": "https://site.example/{saved.query}", "headers": {"X-A": "{config.query?}"}}]}),
            WANT,
        ),
    ]);
    let is_at = |rule: Value| json!({"probes": fixed, "hit": [rule]});
    for about in [
        is_at(json!({"words": ["\"{query|lower}\""]})),
        is_at(json!({"regex": "\\b{query}\\b"})),
        is_at(json!({"shows_query": true})),
        is_at(json!({"json": [{"at": "/*/login", "equals_query": true}]})),
        is_at(json!({"json": [{"at": "/*/login", "equals_template": "@{query}"}]})),
        json!({"probes": fixed, "miss": [{"no_word": ["{query}"]}]}),
        json!({"probes": [{"url": "https://site.example/", "method": "POST", "json": {"a": [{"b": "{query}"}]}}]}),
        json!({"probes": [{"url": "https://site.example/", "headers": {"X-User": "{query|md5}"}}]}),
        json!({"type": "email", "probes": list("https://site.example/{local}")}),
        json!({"type": "email", "probes": list("https://{domain}/")}),
    ] {
        assert_eq!(faults(&about), [""; 0], "{about}");
    }
}

#[test]
fn unused_redirects_are_reported() {
    let followed = json!([{"url": URL, "follow": true}]);
    let login = |pattern: &str| json!({"miss": [{"final_url": pattern}]});
    let stays = |pattern: &str| {
        let mut changes = login(pattern);
        changes["known"] = json!(["bob"]);
        changes
    };
    assert_faults(&[
        (
            json!({"probes": followed, "miss": [{"status": [301, 302]}]}),
            "f.json: site: miss[0].status: the probe follows redirects, so that none is an answer; leave `follow` out, or ask for a `final_url`",
        ),
        (
            stays("/login"),
            "f.json: site: miss[0].final_url: the probe follows no redirects, so that its address stays such as `https://site.example/bob`, in which this is not found; say `\"follow\": true`, or ask for the header `Location`",
        ),
    ]);
    let mut with_follow = login("/login");
    with_follow["probes"] = followed;
    assert_eq!(faults(&with_follow), [""; 0]);
    for pattern in ["/{query}$", "^https://site\\.example/"] {
        assert_eq!(faults(&json!({"hit": [{"status": [200], "final_url": pattern}]})), [""; 0], "{pattern}");
    }
}

#[test]
fn a_regex_that_matches_nothing_is_reported() {
    assert_faults(&[
        (
            json!({"hit": [{"regex": "x[a&&b]"}]}),
            "f.json: site: hit[0].regex: the regex `x[a&&b]` matches nothing: a class in it is empty",
        ),
        (
            json!({"accepts": "[a&&b]", "known": []}),
            "f.json: site: accepts: the regex `[a&&b]` matches nothing: a class in it is empty",
        ),
    ]);
}

#[test]
fn exceeded_limits_are_reported() {
    let rules: Vec<Value> = (0..51).map(|n| json!({"words": [format!("no {n}")]})).collect();
    let names: Vec<String> = (0..51).map(|n| format!("name{n}")).collect();
    assert_faults(&[
        (json!({"miss": rules}), "f.json: site: miss: 51 are too many; at most 50"),
        (json!({"barrier": rules}), "f.json: site: barrier: 51 are too many; at most 50"),
        (json!({"known": names}), "f.json: site: known: 51 are too many; at most 50"),
    ]);
}
