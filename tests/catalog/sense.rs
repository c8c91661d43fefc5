//! Entries that make no sense. Rules that no answer fulfils show on the simulated web: see `tests/sandbox/dead.rs`.

use super::*;

#[test]
fn a_module_with_one_outcome_for_every_query_is_reported() {
    const WANT: &str = "f.json: site: no probe and no rule of `hit` or `miss` is about the query: write it into a probe, \
        as `{query}`, or let a rule look for it, by `{query}`, `equals_query` or `shows_query`";
    let list = |url: &str| json!([{"url": url}]);
    let fixed = list("https://site.example/list");
    let format = json!({"type": "profile", "value": {"from": ["title:"], "format": "{value}"}});
    for silent in [
        json!({"probes": fixed}),
        json!({"probes": list("https://site.example/%7Bquery%7D")}),
        json!({"probes": [{"url": "https://site.example/", "method": "POST", "form": {"a": "{{query}}"}}]}),
        json!({"probes": fixed, "barrier": [{"words": ["{query} is busy"]}]}),
        json!({"probes": fixed, "result": format}),
        json!({"probes": [{"url": "https://site.example/", "save": {"query": "title:"}},
                          {"url": "https://site.example/{saved.query}", "headers": {"X-A": "{config.query?}"}}]}),
    ] {
        assert_eq!(faults(&silent), [WANT], "{silent}");
    }
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
fn exceeded_limits_are_reported() {
    let rules: Vec<Value> = (0..51).map(|n| json!({"words": [format!("no {n}")]})).collect();
    let names: Vec<String> = (0..51).map(|n| format!("name{n}")).collect();
    for (changes, want) in [
        (json!({"miss": rules}), "f.json: site: miss: 51 are too many; at most 50"),
        (json!({"barrier": rules}), "f.json: site: barrier: 51 are too many; at most 50"),
        (json!({"known": names}), "f.json: site: known: 51 are too many; at most 50"),
    ] {
        assert_eq!(faults(&changes), [want], "{changes}");
    }
}
