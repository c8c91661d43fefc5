//! The rule language: every kind of condition and extractor gets an answer; rules that cannot be told
//! apart are reported.

use std::sync::Arc;

use serde_json::{Value, json};
use sightline::modules::module::Module;
use sightline::modules::outcome::Outcome;
use sightline::modules::query::{Query, SearchType};
use sightline::sandbox::{Sandbox, SandboxOptions};

use super::lab::{Lab, module};
use crate::support::modules::with;

/// Tests that the module hits `everybody7` and misses `nobody7`. Returns the metadata of the hit's results.
pub(super) fn play(id: &str, more: &Value) -> Vec<(Option<String>, serde_json::Map<String, Value>)> {
    let lab = Lab::new(vec![module(id, more)], SandboxOptions::perfect());
    assert_eq!(lab.sandbox.problems(), [], "{id}");
    let ask = |name: &str| lab.check(&lab.modules[0], &Query::parse(SearchType::Username, name).unwrap());
    let (hit, miss) = (ask("everybody7"), ask("nobody7"));
    assert_eq!((hit.outcome, miss.outcome), (Outcome::Hit, Outcome::Miss), "{id}: {hit:?} {miss:?}");
    hit.findings.into_iter().map(|finding| (finding.value, finding.metadata)).collect()
}

#[test]
fn every_condition_on_head_and_text_is_fulfilled() {
    for (id, hit, miss) in [
        ("class", json!({"status": ["2xx"]}), json!({"status": ["4xx"]})),
        (
            "redirect",
            json!({"status": [200]}),
            json!({"status": [302], "header": {"location": "^/(?:home|start)$"}}),
        ),
        (
            "header",
            json!({"status": [200], "header": {"x-user": "^[0-9]+$"}}),
            json!({"status": [200], "no_header": ["x-user"]}),
        ),
        (
            "words",
            json!({"words": ["<b>Posts by {query}</b>", "joined"]}),
            json!({"words": ["No such page"]}),
        ),
        (
            "any_word",
            json!({"any_word": ["one", "two"], "no_word": ["gone"]}),
            json!({"words": ["GONE"], "ignore_case": true, "no_word": ["uno"]}),
        ),
        ("ignore_case", json!({"words": ["USER {query}"], "ignore_case": true}), json!({"status": [404]})),
        ("body_is", json!({"body_is": "true"}), json!({"body_is": "false"})),
        (
            "empty_body",
            json!({"status": [200], "words": ["profile"]}),
            json!({"status": [200], "body_is": ""}),
        ),
        ("regex", json!({"regex": "^user=(?:{query})(?:,\\d{2,4})+$"}), json!({"regex": "^user=none$"})),
        ("look", json!({"regex": "\\bkarma\\b:\\s+\\d+"}), json!({"status": [404]})),
        (
            "json_words",
            json!({"words": ["\"user\":{{\"id\":"], "json": [{"at": "/ok", "equals": true}]}),
            json!({"words": ["\"errors\":["]}),
        ),
        ("lines", json!({"words": ["</html>", "<title>{query}</title>"]}), json!({"status": [404]})),
    ] {
        play(id, &json!({"hit": [hit], "miss": [miss]}));
    }
}

#[test]
fn every_condition_on_json_is_fulfilled() {
    for (id, rules) in [
        ("exists", json!([{"at": "/a/b~1c", "exists": true}, {"at": "/d", "exists": false}])),
        ("null", json!([{"at": "/a", "null": true}])),
        ("null_root", json!([{"at": "", "null": true}])),
        ("equals", json!([{"at": "/a", "equals": {"b": [1, 2]}}, {"at": "/c", "any_of": ["x", "y"]}])),
        ("not_equals", json!([{"at": "/status", "exists": true, "not_equals": "gone"}])),
        ("template", json!([{"at": "/handle", "equals_template": "{query|lower}.example.org"}])),
        (
            "types",
            json!([
                {"at": "/s", "type": "string", "min_length": 30}, {"at": "/n", "type": "number"},
                {"at": "/b", "type": "boolean"}, {"at": "/o", "type": "object", "min_length": 2},
                {"at": "/a", "type": "array", "max_length": 0}, {"at": "/z", "type": "null"}
            ]),
        ),
        (
            "bounds",
            json!([{"at": "/n", "above": 0.5, "below": 0.75}, {"at": "/m", "above": 100}, {"at": "/k", "below": -3}]),
        ),
        (
            "contains",
            json!([{"at": "/bio", "contains": "of {query}"}, {"at": "/tags", "type": "array", "contains": "public"}]),
        ),
        ("matches", json!([{"at": "/did", "matches": "^did:(?:plc|web):[a-z]{8}$"}])),
        (
            "root_array",
            json!([{"at": "", "type": "array", "min_length": 3}, {"at": "/0/login", "equals_query": true}]),
        ),
        (
            "every",
            json!([{"at": "/users/*/name", "equals_query": true}, {"at": "/users/*/name", "equals": "another"}]),
        ),
        ("members", json!([{"at": "/users", "type": "object"}, {"at": "/users/*/id", "above": 7}])),
        ("numeric_key", json!([{"at": "/data", "type": "object"}, {"at": "/data/42/ok", "equals": true}])),
        ("deep", json!([{"at": "/a/0/1/b", "exists": true}])),
    ] {
        play(id, &json!({"hit": [{"status": [200], "json": rules}], "miss": [{"status": [404]}]}));
        play(
            &format!("{id}_miss"),
            &json!({"hit": [{"status": [201]}], "miss": [{"status": [200], "json": rules}]}),
        );
    }
}

#[test]
fn every_condition_on_elements_is_fulfilled() {
    for (id, rules) in [
        ("found", json!(["main#profile div.card.big a[rel~=me][href^='https://example.org/']"])),
        ("text", json!([{"select": "h1.name", "matches": "^{query} \\(\\d+\\)$"}])),
        (
            "query",
            json!([{"select": "span.nick", "equals_query": true}, {"select": ".error", "exists": false}]),
        ),
        (
            "attribute",
            json!([{"select": "meta[property=\"og:title\"]", "attribute": "content", "matches": "^Profile of {query}"}]),
        ),
        ("head", json!(["html head title, h1"])),
        ("raw", json!([{"select": "script#state", "matches": "\"user\":\"{query}\""}])),
    ] {
        play(id, &json!({"hit": [{"status": [200], "css": rules}], "miss": [{"status": [404]}]}));
    }
}

#[test]
fn a_final_address_is_reached_by_a_redirect_of_the_prober() {
    let more = json!({
        "probes": [{"url": "https://final.example.org/user/{query}", "follow": true}],
        "hit": [{"status": [200], "final_url": "/profiles/\\d+/{query}$"}],
        "miss": [{"status": [200], "final_url": "^https://final\\.example\\.org/(?:search|404)"}],
        "result": {"type": "profile", "value": "final_url:"}
    });
    let results = play("final", &more);
    assert!(results[0].0.as_ref().unwrap().contains("/profiles/"), "{results:?}");
}

#[test]
fn answers_to_head_need_no_body() {
    play(
        "head_only",
        &json!({
            "probes": [{"url": "https://h.example.org/{query}", "method": "HEAD"}],
            "hit": [{"status": [200], "header": {"x-frame-options": ""}}],
            "miss": [{"status": [404]}]
        }),
    );
}

#[test]
fn optional_parts_are_left_out_of_requests() {
    play(
        "left_out",
        &json!({
            "probes": [{
                "url": "https://m.example.org/find", "method": "POST",
                "form": {"name": "{query}", "key": "{config.none?}"}, "headers": {"X-Key": "{config.none?}"},
            }],
            "hit": [{"status": [200], "json": [{"at": "/found", "equals": true}]}],
            "miss": [{"status": [200], "json": [{"at": "/found", "equals": false}]}]
        }),
    );
}

#[test]
fn a_chain_of_probes_uses_saved_values() {
    let more = json!({
        "probes": [
            {"url": "https://c.example.org/start", "save": {"csrf": "cookie:csrf", "build": "regex:buildId\":\"(\\w+)\"", "next": "header:x-next"}},
            {"url": "https://c.example.org/{saved.build}/find", "method": "POST", "headers": {"X-Csrf": "{saved.csrf}", "X-Next": "{saved.next}"},
             "form": {"q": "{query}"}, "save": {"uid": "json:/users/0/id"}},
            {"url": "https://c.example.org/users/{saved.uid}"}
        ],
        "hit": [{"probe": 2, "status": [200], "json": [{"at": "/login", "equals_query": true}, {"at": "/id", "equals_template": "{saved.uid}"}]}],
        "miss": [{"probe": 1, "status": [200], "json": [{"at": "/users", "type": "array", "max_length": 0}]}],
        "result": {"type": "profile", "metadata": {"followers": "json:/followers", "build": {"from": ["regex:buildId\":\"(\\w+)\""], "probe": 0}}}
    });
    let results = play("chain", &more);
    assert!(results[0].1["followers"].is_u64() && results[0].1["build"].is_string(), "{results:?}");
}

#[test]
fn a_fallback_is_simulated() {
    play(
        "fallback",
        &json!({
            "probes": [{"url": "https://f.example.org/{query}"}, {"url": "https://g.example.org/{query}", "fallback": true}],
            "hit": [{"probe": 1, "status": [200], "words": ["second source"]}],
            "miss": [{"probe": 1, "status": [404]}]
        }),
    );
}

#[test]
fn extractors_find_values_of_their_kind() {
    let more = json!({
        "hit": [{"status": [200], "css": ["main"]}],
        "miss": [{"status": [404]}],
        "result": {"type": "profile", "metadata": {
            "title": "title:", "bio": "meta:og:description", "avatar": "css:img.avatar@src", "name": "css:h1",
            "created_at": "jsonld:/dateCreated", "server": "header:x-served-by", "session": "cookie:sid",
            "followers": {"from": ["regex:(\\d+) followers"], "transform": ["number"]},
            "location": {"from": ["css:.missing-is-fine", "css:.place"]}
        }}
    });
    let metadata = play("page", &more).remove(0).1;
    for name in ["title", "bio", "avatar", "name", "created_at", "server", "session", "followers", "location"]
    {
        assert!(metadata.contains_key(name), "{name}: {metadata:?}");
    }
    assert!(metadata["avatar"].as_str().unwrap().starts_with("https://media.example.net/"));
    assert!(metadata["created_at"].as_str().unwrap().ends_with('Z'));
    assert!(metadata["followers"].is_number());
}

#[test]
fn lists_have_a_few_elements_that_pass_their_filters() {
    let list = |each: &str, more: Value| with(json!({"type": "url", "each": each}), &more);
    for (id, rule, list) in [
        (
            "json_list",
            json!({"json": [{"at": "/ok", "equals": true}]}),
            list(
                "json:/links/*",
                json!({
                    "where": [{"at": "/kind", "equals": "web"}, {"at": "/n", "above": 3}], "value": "json:/href", "keep": "^https://"
                }),
            ),
        ),
        ("css_list", json!({"css": ["ul"]}), list("css:li a[href^='https://']@href", json!({}))),
        (
            "css_parts",
            json!({"css": ["ul"]}),
            list("css:li.link", json!({"value": "css:a@href", "metadata": {"label": "css:b"}})),
        ),
        (
            "regex_list",
            json!({"words": ["links"]}),
            list(
                "regex:(?m)^link (\\w+) (https?://\\S+)$",
                json!({"value": "group:2", "metadata": {"kind": "group:1"}}),
            ),
        ),
        ("line_list", json!({"status": [200]}), list("lines:", json!({"keep": "^https://"}))),
        (
            "json_lines",
            json!({"status": [200]}),
            list("json_lines:", json!({"value": "json:/url", "metadata": {"at": "json:/timestamp"}})),
        ),
    ] {
        let results = play(id, &json!({"hit": [rule], "miss": [{"status": [404]}], "results": [list]}));
        assert!((2..=4).contains(&results.len()), "{id}: {results:?}");
    }
}

#[test]
fn json_in_scripts_and_nested_selectors_are_simulated() {
    let found = play(
        "script",
        &json!({
            "hit": [{"status": [200], "css": [{"select": "script#state", "matches": "\"name\":\"{query}\""}]}],
            "miss": [{"status": [200], "words": ["\"user\":null"]}],
            "result": {"type": "profile", "metadata": {
                "bio": "script:/props/user/bio", "hash": "body_hash:mmh3",
                "followers": {"from": ["script:/props/stats/*/n"], "where": [{"at": "/kind", "equals": "f"}]},
                "avatar_url": {"from": ["css:img@src"], "transform": ["absolute_url"]},
            }},
            "results": [{"type": "username", "each": "script:/props/friends/*", "value": "json:/name"}],
        }),
    );
    let main = &found[0].1;
    assert!(main["hash"].is_i64() && main["bio"].is_string() && main.contains_key("followers"), "{main:?}");
    assert!(main["avatar_url"].as_str().unwrap().starts_with("https://media.example.net/"), "{main:?}");
    assert_eq!(found.len(), 4);
    let found = play(
        "nested",
        &json!({
            "hit": [{"json": [{"at": "/handle", "equals_query": true}]}], "miss": [{"status": [404]}],
            "result": {"type": "profile", "metadata": {
                "registrar": {
                    "each": "/entities/*", "where": [{"at": "/roles", "contains": "registrar"}],
                    "inner": {"each": "/vcardArray/1/*", "where": [{"at": "/0", "equals": "fn"}], "inner": {"from": ["json:/3"]}}
                },
                "contact": {
                    "each": "/entities/*", "where": [{"at": "/roles", "contains": "abuse"}],
                    "inner": {"from": ["json:/vcardArray/1/*/3"], "where": [{"at": "/0", "equals": "email"}], "transform": ["lower"]}
                },
            }},
        }),
    );
    let main = &found[0].1;
    assert_eq!(
        (&main["registrar"], main["contact"].as_str()),
        (&json!("Example Works Ltd"), Some("sample vcard array"))
    );
}

pub(super) fn problems(module: Arc<Module>) -> Vec<String> {
    let sandbox = Sandbox::new([module], SandboxOptions::perfect());
    sandbox.problems().into_iter().map(|problem| problem.what).collect()
}

#[test]
fn indistinguishable_rules_are_reported() {
    let always = json!({"hit": [{"any_word": ["here", "gone"]}], "miss": [{"regex": "gone"}]});
    let told = problems(module("always", &always));
    assert!(told.len() == 1 && told[0].contains("makes it miss") && told[0].contains("conflict"), "{told:?}");
    let unsent = json!({"hit": [{"header": {"X-A": "^[^ -~]+$"}}], "miss": [{"status": [404]}]});
    let told = problems(module("unsent", &unsent));
    assert!(
        told.len() == 1 && told[0].contains("no answer can be made for any alternative of `hit`"),
        "{told:?}"
    );
    let walled = json!({"hit": [{"status": [200]}], "miss": [{"status": [403], "header": {"CF-Mitigated": "challenge"}}]});
    let told = problems(module("walled", &walled));
    assert!(told.len() == 1 && told[0].contains("blocked"), "{told:?}");
}

#[test]
fn answers_that_work_for_one_query_only_are_reported() {
    let rules = |word: &str| {
        json!({
            "accepts": "zedekiah|bobbybob", "known": ["zedekiah"],
            "hit": [{"words": [word], "no_word": ["{query}"]}], "miss": [{"status": [404]}],
        })
    };
    let told = problems(module("single", &rules("not bobbybob")));
    assert!(told.len() == 1 && told[0].contains("work for one query do not for another"), "{told:?}");
    assert_eq!(problems(module("both", &rules("somebody else"))), [] as [String; 0]);
}

#[test]
fn a_module_without_a_miss_rule_is_reported() {
    let told = problems(module("one_sided", &json!({"hit": [{"status": [200]}]})));
    assert!(told.len() == 1 && told[0].contains("no `miss` rule"), "{told:?}");
    let noted = json!({"hit": [{"status": [200]}], "note": "the site never says no"});
    assert_eq!(problems(module("noted", &noted)), [""; 0]);
}
