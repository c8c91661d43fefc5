//! Rules that never come to a verdict, whatever a site answers.

use super::*;

#[test]
fn rules_that_another_rule_never_lets_come_to_a_verdict() {
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
        (
            json!({"miss": [{"status": [429]}]}),
            "f.json: site: miss[0].status: 429 is always a limit (`rate_limited`): no rule gets to see it",
        ),
        (
            json!({"miss": [{"status": [101]}]}),
            "f.json: site: miss[0].status: no final answer has a status of 100 to 199: what follows it is the answer",
        ),
        (
            json!({"hit": [{"status": ["1xx", 103], "words": ["{query}"]}]}),
            "f.json: site: hit[0].status: no final answer has a status of 100 to 199: what follows it is the answer",
        ),
    ]);
    // In a chain that breaks off early the miss stands alone.
    let chain = json!([{"url": URL, "save": {"a": "title:"}}, {"url": "https://site.example/{saved.a}"}]);
    assert_eq!(faults(&json!({"probes": chain, "hit": [ok], "miss": [gone]})), [""; 0]);
    // A wall before another probe's answer is none before this one's.
    let own = json!({"barrier": [{"probe": 0, "status": [200]}], "probes": chain, "hit": [{"probe": 1, "status": [200]}]});
    assert_eq!(faults(&own), [""; 0]);
}

#[test]
fn a_module_that_says_the_same_of_everyone() {
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
fn redirects_are_followed_or_seen() {
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
fn answers_without_a_body_and_bodies_that_are_told_whole() {
    let rule = |rule: Value| json!({"hit": [rule]});
    assert_faults(&[
        (
            rule(json!({"status": [204, 304], "json": [{"at": "/a", "exists": true}]})),
            "f.json: site: hit[0].status: such an answer has no body, and the other conditions want one",
        ),
        (
            rule(json!({"status": [204], "body_is": "x"})),
            "f.json: site: hit[0].status: such an answer has no body, and the other conditions want one",
        ),
        (
            rule(json!({"body_is": "", "regex": "a"})),
            "f.json: site: hit[0].body_is: an empty body fulfils none of the other conditions on the body",
        ),
        (
            rule(json!({"body_is": "taken", "words": ["free"]})),
            "f.json: site: hit[0].body_is: `free` of `words` does not stand in it",
        ),
        (
            rule(json!({"body_is": "taken", "any_word": ["free", "gone"]})),
            "f.json: site: hit[0].body_is: no text of `any_word` stands in it",
        ),
        (
            rule(json!({"body_is": "Taken", "no_word": ["take"], "ignore_case": true})),
            "f.json: site: hit[0].body_is: `take` of `no_word` stands in it",
        ),
    ]);
    let fits = json!({"body_is": "{query} is taken", "words": ["taken"], "any_word": ["x", "{query}"]});
    assert_eq!(faults(&rule(fits)), [""; 0]);
    assert_eq!(faults(&rule(json!({"status": [204], "no_word": ["a"]}))), [""; 0]);
}

#[test]
fn types_of_json_values_that_the_other_conditions_exclude() {
    for (kind, field, value) in [
        ("string", "equals", json!(1)),
        ("number", "any_of", json!(["a", true])),
        ("string", "above", json!(1)),
        ("array", "below", json!(1)),
        ("number", "matches", json!("a")),
        ("object", "contains", json!("a")),
        ("number", "min_length", json!(1)),
        ("boolean", "max_length", json!(1)),
        ("array", "equals_query", json!(true)),
    ] {
        let mut condition = json!({"at": "/a", "type": kind});
        condition[field] = value;
        let want = format!("f.json: site: hit[0].json[0].type: no value of type `{kind}` fulfils `{field}`");
        assert_eq!(faults(&json!({"hit": [{"json": [condition]}]})), [want]);
    }
    let fits = json!({"at": "/a", "type": "array", "min_length": 1, "contains": "a"});
    assert_eq!(faults(&json!({"hit": [{"json": [fits]}]})), [""; 0]);
}

#[test]
fn json_conditions_that_exclude_each_other() {
    let (types, listed) = (
        "no type of value fulfils all conditions",
        "no value of `equals` or `any_of` fulfils the other conditions",
    );
    for (conditions, place, want) in [
        (json!([{"at": "/a", "null": true, "type": "string"}]), "[0]", types),
        (json!([{"at": "/a", "equals": "x", "matches": "^[0-9]+$"}]), "[0]", listed),
        (json!([{"at": "/a", "any_of": ["x", "yy"], "min_length": 3}]), "[0]", listed),
        (
            json!([{"at": "/a", "equals": true, "not_equals": true}]),
            "[0].not_equals",
            "it is the value that `equals` wants",
        ),
        (
            json!([{"at": "/a", "equals_query": true, "max_length": 0}]),
            "[0]",
            "no query is as short as `max_length`",
        ),
        (
            json!([{"at": "/a", "type": "string", "contains": "xy", "not_contains": "x"}]),
            "[0]",
            "`x` of `not_contains` stands in `xy` of `contains`",
        ),
        (
            json!([{"at": "/a", "contains": "hello", "max_length": 2, "matches": "l"}]),
            "[0]",
            "`hello` of `contains` is longer than `max_length`",
        ),
        (
            json!([{"at": "/a", "exists": false}, {"at": "/a/b", "exists": true}]),
            "[0]",
            "`/a/b` is wanted inside of it, and nothing can be there",
        ),
        (
            json!([{"at": "", "type": "array"}, {"at": "/a", "equals_query": true}]),
            "[0]",
            "`/a` is wanted inside of it, and nothing can be there",
        ),
        (
            json!([{"at": "/a", "type": "string"}, {"at": "/a", "type": "number"}]),
            "[0]",
            "with [1]: no type of value fulfils all conditions",
        ),
        (
            json!([{"at": "/a", "min_length": 3}, {"at": "/b", "exists": true}, {"at": "/a", "max_length": 2}]),
            "[0]",
            "with [2]: `min_length` is more than `max_length`",
        ),
    ] {
        let want = format!("f.json: site: hit[0].json{place}: {want}");
        assert_eq!(faults(&json!({"hit": [{"json": conditions}]})), [want], "{conditions}");
    }
    for fine in [
        // An array has the one element without the other, and few of them.
        json!([{"at": "/a", "contains": "xy", "not_contains": "x", "max_length": 1}]),
        json!([{"at": "/a/*", "type": "string"}, {"at": "/a/*", "type": "number"}]),
        json!([{"at": "/a/*", "type": "string"}, {"at": "/a/*/b", "exists": true}]),
        json!([{"at": "", "type": "array"}, {"at": "/0/a", "exists": true}]),
        json!([{"at": "/a", "exists": false}, {"at": "/a/b", "exists": false}, {"at": "/ab", "exists": true}]),
        json!([{"at": "/a", "type": "object"}, {"at": "/a/b", "equals": 1}]),
        json!([{"at": "/a", "equals": "x", "contains": "{query}"}]),
        json!([{"at": "/a", "not_equals": 1}, {"at": "/a", "not_equals": 2}]),
    ] {
        assert_eq!(faults(&json!({"hit": [{"json": fine}]})), [""; 0], "{fine}");
    }
}

#[test]
fn texts_and_regexes_that_exclude_each_other() {
    let rule = |rule: Value| json!({"hit": [rule]});
    assert_faults(&[
        (
            rule(json!({"body_is": "yes", "regex": "^no$"})),
            "f.json: site: hit[0].body_is: the `regex` `^no$` is not found in it",
        ),
        (
            rule(json!({"body_is": "yes", "shows_query": true})),
            "f.json: site: hit[0].body_is: such a body shows no name, and `shows_query` wants one",
        ),
        (
            rule(json!({"shows_query": true, "no_word": ["{query}"]})),
            "f.json: site: hit[0].no_word: `shows_query` wants the page to show the `{query}`",
        ),
        (
            rule(json!({"regex": "x[a&&b]"})),
            "f.json: site: hit[0].regex: the regex `x[a&&b]` matches nothing: a class in it is empty",
        ),
        (
            json!({"accepts": "[a&&b]", "known": []}),
            "f.json: site: accepts: the regex `[a&&b]` matches nothing: a class in it is empty",
        ),
        (
            json!({"hit": [{"words": ["hello {query}"]}], "barrier": [{"words": ["hello"]}]}),
            "f.json: site: hit[0]: `barrier[0]` holds wherever it does, and barriers come first",
        ),
    ]);
    for fine in [
        json!({"body_is": "yes", "regex": "^yes$"}),
        json!({"body_is": "yes", "regex": "\\s"}),
        json!({"body_is": "YES", "regex": "yes", "ignore_case": true}),
        json!({"body_is": "{query}", "regex": "^no$"}),
    ] {
        assert_eq!(faults(&rule(fine.clone())), [""; 0], "{fine}");
    }
}

#[test]
fn too_many_of_anything() {
    let rules: Vec<Value> = (0..51).map(|n| json!({"words": [format!("no {n}")]})).collect();
    let names: Vec<String> = (0..51).map(|n| format!("name{n}")).collect();
    assert_faults(&[
        (json!({"miss": rules}), "f.json: site: miss: 51 are too many; at most 50"),
        (json!({"barrier": rules}), "f.json: site: barrier: 51 are too many; at most 50"),
        (json!({"known": names}), "f.json: site: known: 51 are too many; at most 50"),
    ]);
}
